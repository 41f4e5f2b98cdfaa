"""Live lines of a run: the progress over all programs, and the best cost of each running search."""

from __future__ import annotations

import time

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from burnish.cli.jobs.job import SearchSettings, Watcher
from burnish.cli.jobs.runs import Item, Screen, Silent
from burnish.console.numbers import cost_text
from burnish.console.progress import Bars, SearchProgress
from burnish.core.task import Task
from burnish.search import Progress as SearchState


class OneScreen(Screen):
    """The display for a single program: one live line."""

    def __init__(self) -> None:
        self._line: SearchProgress | None = None

    def begin(self, item: Item, task: Task) -> Watcher:
        """See Screen."""
        self._line = SearchProgress(item.name, task.label(task.reference), quiet=False).__enter__()
        return self._line

    def end(self, item: Item) -> None:
        """See Screen."""
        if self._line:
            self._line.__exit__(None, None, None)
            self._line = None

    def say(self, text: str) -> None:
        """See Screen."""
        if self._line:  # it would overwrite the text
            self._line.__exit__(None, None, None)
        super().say(text)


class OverallProgress(Bars, Screen):
    """The display for many programs, on a terminal only: a bar of files, and a line for each search."""

    def __init__(self, count: int, settings: SearchSettings) -> None:
        self._console = Console(stderr=True)
        self._settings = settings
        self._bars = Progress(
            BarColumn(20),
            TimeElapsedColumn(),
            TextColumn("{task.description}", markup=False),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._lines: dict[str, TaskID] = {}
        self._done, self._count = 0, count
        self._all = self._bars.add_task(f"0 of {count} files", total=count)

    def begin(self, item: Item, task: Task) -> Watcher:
        """See Screen."""
        if self._bars.disable:
            return Silent()
        line = self._bars.add_task(item.name, total=1.0)
        self._lines[item.name] = line
        return _Line(self._bars, line, item.name, task.label(task.reference), self._settings)

    def end(self, item: Item) -> None:
        """See Screen."""
        if (line := self._lines.pop(item.name, None)) is not None:
            self._bars.remove_task(line)
        self._done += 1
        self._bars.update(self._all, completed=self._done, description=f"{self._done} of {self._count} files")

    def say(self, text: str) -> None:
        """See Screen."""
        if self._bars.disable:
            super().say(text)
        else:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class _Line:
    """The live line of one search."""

    def __init__(
        self, bars: Progress, line: TaskID, name: str, reference: str, settings: SearchSettings
    ) -> None:
        self._bars, self._line, self._name, self._settings = bars, line, name, settings
        self._reference_name, self._reference = reference, 0.0
        self._shown = 0.0

    def reference(self, name: str, cost: float) -> None:
        self._reference_name, self._reference = name, cost

    def note(self, text: str) -> None:
        self._bars.update(self._line, description=f"{self._name}  {text}")

    def __call__(self, progress: SearchState) -> None:
        if time.monotonic() - self._shown < 0.1:
            return
        self._shown = time.monotonic()
        budget = self._settings.budget
        share = progress.seconds / budget.seconds if budget.seconds else 0.0
        share = max(share, progress.evaluations / budget.evaluations if budget.evaluations else 0.0)
        change = 100 * (progress.best.cost / self._reference - 1) if self._reference else 0.0
        text = f"{cost_text(progress.best.cost)} ({change:+.1f} % of {self._reference_name})"
        self._bars.update(self._line, completed=min(share, 1.0), description=f"{self._name}  {text}")
