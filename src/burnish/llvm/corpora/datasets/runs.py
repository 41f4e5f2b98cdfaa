"""Runs of a dataset's programs: their commands and input files, kept in the folder of the corpus.

runs.json        by program: the runs, the files that the program writes
inputs/DIGEST    an input file, compressed by zstd
"""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import json
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import zstandard

from burnish.core.errors import InputError
from burnish.core.program import Run, Workload
from burnish.files import write_atomically
from burnish.llvm.corpora.datasets.table import Dataset, RunRule
from burnish.llvm.corpora.kernels import choose_runs
from burnish.llvm.corpora.workloads import FOLDER as DRIVERS
from burnish.llvm.run.check import run_all
from burnish.llvm.run.executable import link
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.run.running import RunLimits
from burnish.llvm.toolchain import bitcode_to_object, cxx_library_options, find_tool

FILE = "runs.json"
INPUTS = "inputs"
NUMBERS = range(1, 21)  # of input files; cBench has 20
INPUT = re.compile(r"\{([^}]+)\}")
EXIT_LINE = re.compile(rb"exit \d+\n?$")  # the last line of a reference output of LLVM's test suite
TRIAL = RunLimits(timeout_seconds=30.0)  # of the run that decides whether a program can be run


@dataclass(frozen=True)
class StoredRun:
    """One run of a program, with the digests of its input files."""

    name: str
    arguments: tuple[str, ...]
    files: Mapping[str, str]  # by name in the program's folder


@dataclass(frozen=True)
class StoredRuns:
    """All runs of a program, and the names of the files that it writes."""

    runs: tuple[StoredRun, ...]
    outputs: tuple[str, ...] = ()
    language: str = "c"  # "c++": linked with the C++ library


Table = dict[str, StoredRuns]  # by the program's path in its package


def index_inputs(dataset: Dataset, folder: Path) -> dict[str, Path]:
    """Return the files below a folder that may be inputs, by the last two parts of their paths."""
    if not any(INPUT.search(command) for rule in dataset.runs.values() for command in rule.commands):
        return {}
    paths = sorted(folder.rglob("*"), key=lambda path: (-len(path.parts), path))  # the least deep one counts
    found = {"/".join(path.parts[-2:]): path for path in paths if path.is_file()}
    for name, other in dataset.inputs.items():
        for number in map(str, NUMBERS):
            for match in fnmatch.filter(found, other.replace("#", number))[:1]:
                found.setdefault(name.replace("#", number), found[match])
    return found


def store_runs(folder: Path, inputs: Mapping[str, Path], rule: RunRule, language: str) -> StoredRuns | None:
    """Copy the input files of a rule's commands to a corpus; return the runs, or None without any.

    `inputs` are the files of `index_inputs`. A number without its input files is left out.
    """
    runs: list[StoredRun] = []
    for command in rule.commands:
        patterns = INPUT.findall(command)
        for number in NUMBERS if patterns else (1,):
            names = [pattern.replace("#", str(number)) for pattern in patterns]
            if all(name in inputs for name in names):
                arguments = INPUT.sub(lambda found: found[1], command).replace("#", str(number))
                digests = {name: _store(folder, inputs[name]) for name in names}
                runs.append(StoredRun(str(len(runs) + 1), tuple(shlex.split(arguments)), digests))
    return StoredRuns(tuple(runs), rule.outputs, language) if runs else None


def write_runs(folder: Path, table: Table) -> None:
    """Write the runs of all programs of a corpus."""
    rows = {path: asdict(runs) for path, runs in sorted(table.items())}
    write_atomically(folder / FILE, (json.dumps(rows, indent=1) + "\n").encode())


def input_names(folder: Path, path: str) -> tuple[str, ...]:
    """Return the names of a program's inputs, in order; () if it cannot be run."""
    stored = _table(folder).get(path)
    return tuple(run.name for run in stored.runs) if stored else ()


def stored_workload(folder: Path, path: str, names: Sequence[str] | None = ("1",)) -> Workload | None:
    """Return the workload of a corpus' program with the named inputs (None: all); None if it cannot be run.

    Raises:
        UnknownName: the program has no such input.
        InputError: an input file is missing or damaged.
    """
    stored = _table(folder).get(path)
    return workload_of(folder, path, stored, names) if stored else None


def workload_of(folder: Path, path: str, stored: StoredRuns, names: Sequence[str] | None) -> Workload:
    """Return the workload of some of a program's runs; see `stored_workload`."""
    wanted = choose_runs(path, [Run(run.name, run.arguments) for run in stored.runs], names)
    chosen = {run.name for run in wanted}
    files = {name: digest for run in stored.runs if run.name in chosen for name, digest in run.files.items()}
    contents = tuple((name, _read(folder, digest)) for name, digest in sorted(files.items()))
    cxx = ("--driver-mode=g++", *cxx_library_options(())) if stored.language == "c++" else ()
    return Workload(wanted, (_driver(stored.outputs),), (*cxx, "-lm"), contents)


def trial(bitcode: bytes, workload: Workload, reference: Path | None = None) -> str:
    """Run a program twice at -O0; return why it cannot be compared, or "" if it can.

    `reference` is a file with the expected output.
    """
    with temporary_folder() as folder:
        executable = link(bitcode_to_object(bitcode, level="O0"), workload, folder / "program")
        first, second = (run_all(executable, workload, limits=TRIAL)[0] for _ in range(2))
    if first.killed or first.status:
        told = first.output.decode(errors="replace").strip().splitlines()
        return first.ending + (f": {told[-1][:200]}" if told else "")
    if first.output != second.output:
        return "prints something else each time"
    if reference and first.output.strip() != EXIT_LINE.sub(b"", reference.read_bytes()).strip():
        return f"does not print what is in {reference.name}"
    return ""


def _store(folder: Path, file: Path) -> str:
    content = file.read_bytes()
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    target = folder / INPUTS / digest
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        write_atomically(target, zstandard.compress(content))
    return digest


def _read(folder: Path, digest: str) -> bytes:
    path = folder / INPUTS / digest
    try:
        content = zstandard.decompress(path.read_bytes())
    except (OSError, zstandard.ZstdError) as error:
        raise InputError(
            f"{path}: an input file cannot be read ({error}); import the dataset again"
        ) from None
    return content


@functools.cache
def _driver(outputs: tuple[str, ...]) -> bytes:
    """Return the object that makes a program's errors and files part of its output."""
    names = "".join(f"{json.dumps(name)}," for name in outputs)
    command = [
        str(find_tool("clang")),
        "-O2",
        "-w",
        "-fPIC",
        f"-DOUTPUTS={names}",
        "-c",
        "outputs.c",
        "-o",
        "-",
    ]
    return subprocess.run(command, cwd=DRIVERS, capture_output=True, check=True).stdout


def _table(folder: Path) -> Table:
    """Return the runs of a corpus' programs; {} for a corpus without any."""
    try:
        status = (folder / FILE).stat()
    except OSError:
        return {}
    return _read_table(folder / FILE, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=16)
def _read_table(path: Path, time_ns: int, size: int) -> Table:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Table)
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: cannot be read ({error}); import the dataset again") from None
