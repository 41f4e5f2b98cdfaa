"""The import of a dataset: a corpus of a user's files, in the user's data folder, with a manifest."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import msgspec

from burnish.core.errors import BurnishError, InputError
from burnish.files import default_data, write_atomically
from burnish.llvm.corpora.building import PackProgress, build
from burnish.llvm.corpora.datasets.programs import Found, find_programs, import_job
from burnish.llvm.corpora.datasets.runs import (
    StoredRuns,
    Table,
    index_inputs,
    store_runs,
    trial,
    workload_of,
    write_runs,
)
from burnish.llvm.corpora.datasets.table import Dataset
from burnish.llvm.corpora.pack import SUFFIX, PackRow, items_of, read_pack, write_pack
from burnish.llvm.corpora.splits import repeat_reason
from burnish.llvm.corpora.store import Corpus, open_corpus
from burnish.llvm.toolchain import clang_version
from burnish.workers.executor import Executor

MANIFEST = "dataset.json"


@dataclass(frozen=True)
class Manifest:
    """The origin of an imported dataset, and what became of its files."""

    dataset: str  # with version
    description: str
    licence: str
    obtain: str
    evaluation: bool
    flags: tuple[str, ...]  # of clang
    clang: str  # version
    digest: str  # of the corpus
    programs: int
    statuses: dict[str, int]  # files by status
    runnable: int
    not_run: dict[str, str]  # programs with a command that cannot be run, each with the reason


def dataset_folder(dataset: Dataset) -> Path:
    """Return the folder of an imported dataset."""
    return default_data() / "datasets" / dataset.id


def import_dataset(
    dataset: Dataset,
    source: Path,
    folder: Path,
    *,
    flags: tuple[str, ...] = (),
    limit: int | None = None,
    do: Executor | None = None,
    progress: Callable[[PackProgress], None] | None = None,
    again: bool = False,
) -> Manifest:
    """Make a corpus of a dataset's files; for the last three arguments see `build`.

    Modules of earlier versions of LLVM are upgraded, and keep their target. Each program is verified. Files
    that cannot be used are in the corpus' table with the reason, as are repeated programs.

    Args:
        dataset: The dataset.
        source: The folder with the user's files.
        folder: The folder of the corpus.
        flags: More options of clang, for source files.
        limit: Only the first programs by path; None: all.

    Raises:
        InputError: the folder has no such files, or no program can be used.
        MissingTool: the files are in a format that needs another package.
    """
    found = find_programs(dataset, source)
    build(folder, [import_job(dataset, found, flags, limit)], do=do, progress=progress, again=again)
    _mark_repeats(folder / f"{dataset.id}{SUFFIX}")
    corpus = open_corpus(folder)
    if not len(corpus):
        why = next((f": {row.name}: {row.reason}" for row in corpus.rows if row.reason), "")
        raise InputError(f"{source}: no program of {dataset.id} can be used{why}")
    table, not_run = _runs(dataset, found, source, corpus)
    write_runs(folder, table)
    options = (*(flag for one in found for flag in one.layout.flags), *flags)
    manifest = Manifest(
        dataset.id,
        dataset.description,
        dataset.licence,
        dataset.obtain,
        dataset.evaluation,
        tuple(dict.fromkeys(options)),
        clang_version(),
        corpus.digest,
        len(corpus),
        dict(Counter(row.status for row in corpus.rows)),
        len(table),
        not_run,
    )
    write_atomically(folder / MANIFEST, (json.dumps(asdict(manifest), indent=1) + "\n").encode())
    return manifest


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of a corpus; None if the corpus is not an imported dataset."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Manifest)
    except msgspec.MsgspecError as error:
        raise InputError(f"{path}: cannot be read ({error}); import the dataset again") from None


def check_split(folder: Path, splits: Sequence[str]) -> None:
    """Check that a corpus may have programs in some splits.

    Raises:
        InputError: the corpus is an evaluation suite, and "train" is among the splits.
    """
    manifest = read_manifest(folder)
    if manifest and manifest.evaluation and "train" in splits:
        raise InputError(
            f"{folder}: {manifest.dataset} is an evaluation suite, which is never in train; "
            "expected shares of val and test only, such as val=1,test=1"
        )


def _mark_repeats(path: Path) -> None:
    """Leave out programs that are equal to an earlier one of the same pack, byte for byte."""
    pack = read_pack(path)
    first: dict[str, PackRow] = {}
    items = []
    for row, frame in items_of(pack):
        if row.is_program and first.setdefault(row.digest, row) is not row:
            reason = repeat_reason(first[row.digest].name)
            items.append((replace(row, status="repeated", reason=reason, offset=0, stored_bytes=0), b""))
        else:
            items.append((row, frame))
    if len(first) < sum(row.is_program for row in pack.rows):
        write_pack(path, pack.package, pack.recipe, items)


def _runs(
    dataset: Dataset, found: Sequence[Found], source: Path, corpus: Corpus
) -> tuple[Table, dict[str, str]]:
    """Store and try the runs of all programs; return them, and for the others with a command the reason."""
    inputs = index_inputs(dataset, source)
    files = {name: one.root / path for one in found for path, name in one.names.items()}

    def tried(row: PackRow) -> tuple[StoredRuns | None, str]:
        rule = dataset.rule(row.path)
        stored = store_runs(corpus.folder, inputs, rule, row.language)
        if not stored:
            return None, "no input file" if rule.commands else ""
        workload = workload_of(corpus.folder, row.path, stored, (stored.runs[0].name,))
        reference = files[row.path].with_suffix(rule.reference) if rule.reference else None
        if reference and not reference.is_file():
            reference = None
        try:
            return stored, trial(corpus.open(row).content, workload, reference)
        except BurnishError as error:
            return stored, str(error).splitlines()[-1]

    table: Table = {}
    not_run = {}
    rows = corpus.programs if dataset.runs else ()
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for row, (stored, reason) in zip(rows, pool.map(tried, rows), strict=True):
            if reason:
                not_run[row.path] = reason
            elif stored:
                table[row.path] = stored
    return table, not_run
