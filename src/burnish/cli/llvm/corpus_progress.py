"""Progress display while packages are fetched and compiled."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from burnish.console.progress import Bars
from burnish.llvm.corpora import building
from burnish.llvm.corpora.manifest import Package

LOG_SECONDS = 30.0  # between two lines if there is no terminal


class FetchProgress(Bars):
    """A bar of downloaded bytes, on a terminal only."""

    def __init__(self, packages: Sequence[Package], *, quiet: bool = False) -> None:
        text = TextColumn("{task.description}")
        super().__init__(text, BarColumn(), DownloadColumn(), TimeElapsedColumn(), quiet=quiet)
        self._task = self._bars.add_task("fetching", total=sum(package.size_bytes for package in packages))
        self._done, self._package = 0, 0
        self._names = {package.name: number for number, package in enumerate(packages, 1)}

    def start(self, package: Package) -> None:
        """Show which package is fetched next."""
        self._done += self._package
        self._package = package.size_bytes
        which = f"fetching {package} ({self._names[package.name]} of {len(self._names)})"
        self._bars.update(self._task, description=which, completed=self._done)

    def __call__(self, done: int, total: int) -> None:
        """Show the downloaded bytes of the current package."""
        self._bars.update(self._task, completed=self._done + done)


class BuildProgress(Bars):
    """Packages, files, rate and time left: a bar on a terminal, occasional lines otherwise."""

    def __init__(self, *, quiet: bool = False) -> None:
        super().__init__(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("files  {task.fields[rate]:.0f}/s "),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            quiet=quiet,
        )
        self._task = self._bars.add_task("", total=None, rate=0.0)
        self._start = self._logged = time.monotonic()

    def __call__(self, progress: building.PackProgress) -> None:
        """Show the progress of a build."""
        now = time.monotonic()
        rate = (progress.files_done - progress.resumed) / max(now - self._start, 1e-9)
        failed = progress.statuses.get("failed", 0)
        text = f"{progress.packages_done}/{progress.packages} packages"
        text += f"  {failed} failed" if failed else ""
        if self._lines and now - self._logged > LOG_SECONDS:
            self._logged = now
            left = (progress.files - progress.files_done) / rate if rate else float("nan")
            files = f"{progress.files_done}/{progress.files} files"
            self._console.print(f"{text}  {files}  {rate:.0f}/s  {left:.0f} s left", highlight=False)
        self._bars.update(
            self._task, description=text, total=progress.files, completed=progress.files_done, rate=rate
        )
