"""Builds of packs on one machine or many; a build killed at any moment continues where it stopped.

A part is a group of files that one process compiles, such as the files of one folder, independent of others.
A finished part is a pack in FOLDER/building. When all parts of a package are finished, they become its pack.
So the result depends neither on the executor nor on interruptions.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from burnish.core.errors import CompilerCrash, CompilerTimeout, InputError
from burnish.files import write_atomically
from burnish.llvm.corpora.pack import SUFFIX, PackRow, items_of, packed, read_pack, write_pack
from burnish.workers.executor import Executor, Shard, each_core, name_of
from burnish.workers.worker import Limits, Worker

WORK = "building"
LOCK = ".lock"
LIMITS = Limits(deadline_seconds=300.0)  # for one file

Item = tuple[PackRow, bytes]  # a row with its bitcode or compressed frame; b"" if the row is not a program
Compile = Callable[[tuple[str, ...], Path], Iterator[list[Item]]]
"""Yields a non-empty list of rows for each path, in order; the build adds the package and the split.

The folder is for generated files like headers.
"""


@dataclass(frozen=True)
class FileGroup:
    """Files that one process compiles, one after the other."""

    key: str  # unique in its package
    paths: tuple[str, ...]
    compile: Compile = field(repr=False)  # importable, because workers receive it by pickle
    split: str = "train"
    weight: int = 0  # bytes of source: the heaviest parts come first


@dataclass(frozen=True)
class PackageJob:
    """A package to build."""

    name: str
    recipe: str  # digest of everything that the package's content depends on
    parts: tuple[FileGroup, ...]


@dataclass(frozen=True)
class PackProgress:
    """Progress of a build."""

    packages: int
    packages_done: int
    files: int
    files_done: int
    resumed: int  # the part of `files_done` that earlier builds finished
    statuses: Mapping[str, int]  # number of files by status


def recipe_of(*ingredients: object) -> str:
    """Return the digest of everything that a package is built from."""
    return hashlib.blake2b(repr((SUFFIX, *ingredients)).encode(), digest_size=16).hexdigest()


def build(
    folder: Path,
    jobs: Sequence[PackageJob],
    *,
    do: Executor | None = None,
    progress: Callable[[PackProgress], None] | None = None,
    again: bool = False,
) -> None:
    """Build the packs that are missing or that another recipe built; packs of other packages stay.

    `folder` is made if it does not exist. `do` compiles the parts, a shard each; by default, there is a
    process for each core that this process may use. `progress` is called after every part. `again` also
    rebuilds existing packs.

    Raises:
        InputError: the folder cannot be written, or another build is running in it.
    """
    with _locked(folder):
        if again:
            for job in jobs:
                (folder / f"{job.name}{SUFFIX}").unlink(missing_ok=True)
                shutil.rmtree(folder / WORK / job.name, ignore_errors=True)
        _Build(folder, jobs, progress).run(do or each_core())


class _Build:
    """State of one running build."""

    def __init__(
        self, folder: Path, jobs: Sequence[PackageJob], progress: Callable[[PackProgress], None] | None
    ) -> None:
        self._folder, self._jobs, self._report = folder, jobs, progress
        self._statuses: Counter[str] = Counter()
        self._done_packages = 0
        self._missing: dict[str, int] = {}  # package -> number of unfinished parts
        self._queue: list[tuple[PackageJob, FileGroup]] = []
        for job in jobs:
            if self._is_built(folder / f"{job.name}{SUFFIX}", job):
                self._done_packages += 1
                self._end_work(job)  # a build that was killed right then left it
                continue
            parts = [part for part in job.parts if not self._is_built(_pack_of(folder, job, part), job)]
            self._queue += [(job, part) for part in parts]
            self._missing[job.name] = len(parts)
            if not parts:
                self._finish(job)
        self._resumed = sum(self._statuses.values())
        self._queue.sort(key=lambda pair: (-pair[1].weight, pair[0].name, pair[1].key))

    def _is_built(self, path: Path, job: PackageJob) -> bool:
        """Return whether a job's recipe built a pack, and count its files if it did."""
        with contextlib.suppress(InputError):
            pack = read_pack(path)
            if pack.recipe == job.recipe:
                self._statuses.update(row.status for row in pack.rows)
                return True
        return False

    def run(self, do: Executor) -> None:
        """Compile the missing parts; write each package whose parts are finished."""
        self._tell()
        named = {name_of(job.name, job.recipe, part.key): (job, part) for job, part in self._queue}
        for job, _ in self._queue:
            (self._folder / WORK / job.name).mkdir(parents=True, exist_ok=True)
        shards = [
            Shard(name, compile_part, (part, job.name, job.recipe, self._folder / WORK / job.name, LIMITS))
            for name, (job, part) in named.items()
        ]
        for name, pack in do(shards):
            job, part = named[name]
            path = _pack_of(self._folder, job, part)
            write_atomically(path, base64.b64decode(pack))
            self._is_built(path, job)
            self._missing[job.name] -= 1
            if not self._missing[job.name]:
                self._finish(job)
            self._tell()

    def _finish(self, job: PackageJob) -> None:
        """Combine a package's parts into its pack."""
        packs = [read_pack(_pack_of(self._folder, job, part)) for part in job.parts]
        items = [item for pack in packs for item in items_of(pack)]
        write_pack(self._folder / f"{job.name}{SUFFIX}", job.name, job.recipe, items)
        self._end_work(job)
        self._done_packages += 1

    def _end_work(self, job: PackageJob) -> None:
        shutil.rmtree(self._folder / WORK / job.name, ignore_errors=True)

    def _tell(self) -> None:
        if self._report:
            files = sum(len(part.paths) for job in self._jobs for part in job.parts)
            done = self._done_packages, files, sum(self._statuses.values())
            self._report(PackProgress(len(self._jobs), *done, self._resumed, dict(+self._statuses)))


def compile_part(part: FileGroup, package: str, recipe: str, scratch: Path, limits: Limits) -> str:
    """Compile a part in a worker process; return its pack in base64.

    A file that kills the worker, or takes longer than `limits` allow, has failed: its part is compiled again
    without it. Generated files are in `scratch`, which ends with the package, or if this machine lacks that
    folder, in the system's own for temporary files.
    """
    place = scratch if scratch.is_dir() else None
    killers: dict[str, str] = {}  # path of a file -> reason
    with tempfile.TemporaryDirectory(dir=place) as folder, closing(Worker(limits)) as worker:
        target = Path(folder) / f"part{SUFFIX}"
        while True:
            done = 0
            try:
                for _ in worker.stream(build_part, part, package, recipe, target, killers):
                    done += 1
                return base64.b64encode(target.read_bytes()).decode()
            except CompilerCrash as crash:
                paths = [path for path in part.paths if path not in killers]
                how = (
                    "took too long" if isinstance(crash, CompilerTimeout) else f"killed its process: {crash}"
                )
                killers[paths[min(done - len(killers), len(paths) - 1)]] = how


def build_part(
    part: FileGroup, package: str, recipe: str, target: Path, killers: Mapping[str, str]
) -> Iterator[str]:
    """Compile a part in a worker process and write its pack; yield the status of each file."""
    items: list[Item] = []
    for path, how in killers.items():
        items.append((PackRow(package, path, part.split, "", "failed", how), b""))
        yield "failed"
    scratch = target.with_suffix("")
    shutil.rmtree(scratch, ignore_errors=True)  # left by a killed worker
    for found in part.compile(tuple(path for path in part.paths if path not in killers), scratch):
        rows = [(replace(row, package=package, split=part.split), bitcode) for row, bitcode in found]
        kept = [_packed(*item) for item in rows]
        items += kept
        yield kept[0][0].status
    write_pack(target, package, recipe, items)


def _packed(row: PackRow, bitcode: bytes) -> Item:
    try:
        return packed(row, bitcode) if bitcode else (row, b"")
    except InputError as error:
        return replace(row, status="failed", reason=str(error)), b""


def _pack_of(folder: Path, job: PackageJob, part: FileGroup) -> Path:
    """Return the path of a finished part."""
    name = hashlib.blake2b(part.key.encode(), digest_size=10).hexdigest()
    return folder / WORK / job.name / f"{name}{SUFFIX}"


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other builds, and remove half-written files of killed builds."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("w")
    except OSError as error:
        raise InputError(f"{folder}: cannot write a corpus there: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder}: another build is running there; wait for it, or stop it") from None
        for half in folder.glob(f".*{SUFFIX}.*"):
            half.unlink(missing_ok=True)
        yield
        with contextlib.suppress(OSError):  # not empty, if it has parts of another package
            (folder / WORK).rmdir()
