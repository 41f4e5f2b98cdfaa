"""Progress display of a training."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from burnish.console.numbers import duration_text
from burnish.learning.training.track import as_json

if TYPE_CHECKING:
    from burnish.learning.training import loop

LOG_SECONDS = 30.0  # between two lines if there is no terminal
SCORE = "validation/ratio"


class TrainProgress:
    """Rate, return, validation and time left: a bar on a terminal, lines otherwise, or lines of JSON."""

    def __init__(self, name: str, *, quiet: bool, json: bool) -> None:
        self._console = Console(stderr=True)
        self._json = json
        self._quiet = quiet
        self._terminal = self._console.is_terminal and not (quiet or json)
        self._lines = not (quiet or json or self._terminal)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24))
        self._bar = Bars(*columns, TextColumn("{task.fields[now]}"), TimeElapsedColumn())
        self._task = self._bar.add_task(name, total=1.0, now="")
        self._text = Text(overflow="ellipsis", no_wrap=True)
        self._live = Live(Group(self._bar, self._text), console=self._console, transient=True)
        self._name = name
        self._last: dict[str, float] = {}  # metrics that are not in every row
        self._noted = self._logged = -LOG_SECONDS
        self.begun = False
        """True after the first iteration; from then on, an interruption would lose work."""

    def __enter__(self) -> Self:
        if self._terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def note(self, text: str) -> None:
        """Show the current activity."""
        self._bar.update(self._task, now=text)
        if self._lines and time.monotonic() - self._noted > LOG_SECONDS:
            self._noted = time.monotonic()
            self._console.print(f"{self._name}  {text}", highlight=False)

    def say(self, text: str) -> None:
        """Print a message that stays."""
        if not self._quiet:
            self._console.print(f"{self._name}  {text}", highlight=False)

    def __call__(self, progress: loop.IterationProgress) -> None:
        """Show an iteration."""
        self.begun = True
        if self._json:
            print(as_json(progress.row), flush=True)
            return
        self._last |= progress.row
        left = progress.seconds_left
        told = "" if left is None else f"{duration_text(left)} left"
        done = progress.row["seconds"] / (progress.row["seconds"] + left) if left is not None else 0.0
        self._bar.update(self._task, completed=done, now=told)
        text = describe(self._last, progress)
        self._text.plain = f"  {text}"
        now = time.monotonic()
        if self._lines and (SCORE in progress.row or now - self._logged > LOG_SECONDS):
            self._logged = now
            words = filter(None, [self._name, text, told])
            self._console.print("  ".join(words), highlight=False, soft_wrap=True)


def describe(metrics: dict[str, float], progress: loop.IterationProgress) -> str:
    """Return the most important of the available metrics as one line."""
    words = [f"iteration {int(metrics['iteration'])}"]
    if "steps" in metrics:
        words.append(f"{int(metrics['steps']):,} steps, {metrics['steps_per_second']:,.0f}/s")
    if "return" in metrics and not math.isnan(metrics["return"]):
        words.append(f"return {metrics['return']:+.3f}")
    if SCORE in metrics and progress.best:
        best = progress.best.metrics[SCORE]
        words.append(f"{progress.reference} / policy {metrics[SCORE]:.4f}, best {best:.4f}")
    return "  ".join(words)
