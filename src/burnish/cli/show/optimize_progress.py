"""Live lines of a run: the progress over all programs, and the best cost of each running search."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from burnish.cli.jobs.runs import Item, Screen
from burnish.console.progress import Bars, SearchProgress
from burnish.core.task import Task
from burnish.evaluation import Audience
from burnish.search import Budget
from burnish.search import Progress as SearchState


class OneScreen(Screen):
    """The display for a single program: one live line."""

    def __init__(self) -> None:
        self._line: SearchProgress | None = None

    def begin(self, item: Item, task: Task) -> Audience:
        """See Screen."""
        self._line = line = SearchProgress(item.name, task.label(task.reference))
        return Audience(line.reference, line, line.note)

    def end(self, item: Item) -> None:
        """See Screen."""
        if self._line:
            self._line.__exit__()

    def say(self, text: str) -> None:
        """See Screen."""
        if self._line:  # it would overwrite the text
            self._line.__exit__()
        super().say(text)


class OverallProgress(Bars, Screen):
    """The display for many programs, on a terminal only: a bar of files, and a line for each search."""

    def __init__(self, count: int, budget: Budget) -> None:
        super().__init__(BarColumn(20), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
        self._budget = budget
        self._running: dict[str, TaskID] = {}
        self._done, self._count = 0, count
        self._all = self._bars.add_task(f"0 of {count} files", total=count)

    def begin(self, item: Item, task: Task) -> Audience:
        """See Screen."""
        if self._bars.disable:
            return Audience()
        self._running[item.name] = self._bars.add_task(item.name, total=1.0)
        line = _Line(
            item.name, task.label(task.reference), self._bars, self._running[item.name], self._budget
        )
        return Audience(line.reference, line, line.note)

    def end(self, item: Item) -> None:
        """See Screen."""
        if (line := self._running.pop(item.name, None)) is not None:
            self._bars.remove_task(line)
        self._done += 1
        self._bars.update(self._all, completed=self._done, description=f"{self._done} of {self._count} files")

    def say(self, text: str) -> None:
        """See Screen."""
        if self._bars.disable:
            super().say(text)
        else:
            self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class _Line(SearchProgress):
    """The live line of one search."""

    def __init__(self, name: str, reference: str, bars: Progress, line: TaskID, budget: Budget) -> None:
        super().__init__(name, reference, quiet=True)
        self._bars, self._line, self._budget = bars, line, budget

    def note(self, text: str) -> None:
        self._bars.update(self._line, description=f"{self._name}  {text}")

    def _show(self, progress: SearchState) -> None:
        seconds, evaluations = self._budget.seconds, self._budget.evaluations
        share = progress.seconds / seconds if seconds else 0.0
        share = max(share, progress.evaluations / evaluations if evaluations else 0.0)
        self._bars.update(self._line, completed=min(share, 1.0))
        self.note(self._gain(progress))
