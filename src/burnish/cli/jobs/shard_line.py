"""The live line of a run on an engine."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, TextColumn

from burnish.cli.jobs.runs import Screen
from burnish.console.numbers import duration_text
from burnish.console.progress import Bars

if TYPE_CHECKING:
    from burnish.cluster.run import ShardProgress


class ShardLine(Bars, Screen):
    """All programs in one line, on a terminal; otherwise a line now and then."""

    def __init__(self, total: int, *, quiet: bool) -> None:
        """Begin with the number of programs that may be shards."""
        text = TextColumn("{task.description}", markup=False)
        super().__init__(BarColumn(10), text, quiet=quiet)
        self._total = total
        self._bar = self._bars.add_task("", total=total)

    def __call__(self, now: ShardProgress) -> None:
        """Show the state of the run."""
        ended = now.done + now.failed
        text = f"{now.done} of {self._total} done"
        counts = {"failed": now.failed, "resumed": now.resumed, "lost": now.lost}
        text += "".join(f", {count} {word}" for word, count in counts.items() if count)
        if here := now.done - now.resumed:
            seconds = (time.monotonic() - self._start) / here
            text += f", {60 / seconds:.3g} a minute, {duration_text((self._total - ended) * seconds)} left"
        self._bars.update(self._bar, completed=ended, description=text)
        self._log(text)
