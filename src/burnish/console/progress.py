"""The live line of a running search, and the base of other live displays."""

from __future__ import annotations

import time
from typing import Self

from rich.console import Console
from rich.progress import Progress as RichProgress
from rich.progress import ProgressColumn
from rich.status import Status

from burnish.console.numbers import cost_text
from burnish.search import Progress

QUIET_SECONDS = 1.0  # seconds before the line appears; shorter searches show nothing


class Bars:
    """Progress bars within a `with` statement, on a terminal only."""

    def __init__(self, *columns: ProgressColumn, quiet: bool = False, log_seconds: float = 30.0) -> None:
        self._log_seconds = log_seconds  # between two lines if there is no terminal
        self._start = self._logged = time.monotonic()
        self._console = Console(stderr=True)
        shown = self._console.is_terminal and not quiet
        self._bars = RichProgress(*columns, console=self._console, transient=True, disable=not shown)
        self._lines = not (shown or quiet)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def say(self, text: str) -> None:
        """Print a text above the bars."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def _log(self, text: str) -> None:
        """Print a line if there is no terminal, unless the last one is recent."""
        now = time.monotonic()
        if self._lines and now - self._logged > self._log_seconds:
            self._logged = now
            self.say(text)


class SearchProgress:
    """Shows a search's best cost, its evaluations and time, on a terminal, after QUIET_SECONDS."""

    def __init__(self, name: str, reference: str, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True)
        self._name = name
        self._reference_name = reference
        self._reference = 0.0
        self._quiet = quiet or not self._console.is_terminal
        self._start = self._shown = time.monotonic()
        self._status: Status | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._status:
            self._status.stop()

    def reference(self, name: str, cost: float) -> None:
        """Set the reference's name and cost."""
        self._reference_name, self._reference = name, cost

    def note(self, text: str) -> None:
        """Show the current activity."""
        now = time.monotonic()
        if self._quiet or now - self._start < QUIET_SECONDS:
            return
        line = f"{self._name}  {text}  {now - self._start:.0f} s"
        if self._status is None:
            self._status = self._console.status(line)
            self._status.start()
        self._status.update(line)

    def __call__(self, progress: Progress) -> None:
        """Show a search's progress, at most ten times a second."""
        if time.monotonic() - self._shown >= 0.1:
            self._shown = time.monotonic()
            self._show(progress)

    def _show(self, progress: Progress) -> None:
        crashes = f"  {progress.crashes} crashes" if progress.crashes else ""
        self.note(f"{self._gain(progress)}  {progress.evaluations} evaluations{crashes}")

    def _gain(self, progress: Progress) -> str:
        """Return the best cost, and its change from the reference's."""
        change = 100 * (progress.best.cost / self._reference - 1) if self._reference else 0.0
        return f"{cost_text(progress.best.cost)} ({change:+.1f} % of {self._reference_name})"
