"""Tables of a corpus."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from burnish.cc.build_summary import reason_kind
from burnish.console.table_forms import TableForm
from burnish.console.tables import TextTable, figures, names, texts
from burnish.llvm.corpora import SPLITS, Corpus
from burnish.llvm.corpora.datasets.import_files import dataset_folder, read_manifest
from burnish.llvm.corpora.datasets.table import datasets
from burnish.llvm.corpora.kernels import Kernel
from burnish.llvm.corpora.pack import PackRow
from burnish.llvm.corpora.workloads import Recipe

MOST_REASONS = 12
QUANTILES = (0.1, 0.5, 0.9, 1.0)


def print_summary(rows: Sequence[PackRow], *, detailed: bool = False, form: TableForm) -> None:
    """Print the outcomes of files by package and split; `detailed` adds sizes and skipped files' reasons."""
    form.show(packages_table(rows), *([_sizes_table(rows)] if detailed else []))
    failed = [
        row for row in rows if row.status in ("failed", "repeated") or (detailed and row.status == "skipped")
    ]
    reasons = Counter(f"{row.status}: {reason_kind(row.reason)}" for row in failed)
    for reason, count in reasons.most_common(MOST_REASONS):
        form.note(f"{count:5} {reason}")
    if len(reasons) > MOST_REASONS:
        form.note(f"      and {len(reasons) - MOST_REASONS} more: burnish corpus list --status failed")


def packages_table(rows: Sequence[PackRow]) -> TextTable:
    """Return a table of compiled files by package: their number and share, failed, skipped, and sizes."""
    headings = ("compiled", "share", "fail", "skip", "k instrs", "kB", "stored")
    table = TextTable((names("package"), *figures(*headings)))
    for split in _splits(rows):
        inside = [row for row in rows if row.split == split]
        for package in sorted({row.package for row in inside}):
            table.add(package, *_figures([row for row in inside if row.package == package]))
        table.end_section()
        table.add_total(f"all {split}", *_figures(inside))
        table.end_section()
    return table


def _figures(rows: Sequence[PackRow]) -> tuple[str, ...]:
    count = Counter(row.status for row in rows)
    compiled = count["compiled"] + count["repeated"]
    tried = compiled + count["failed"]
    frames = {(row.package, row.offset): row for row in rows if row.is_program}.values()
    return (
        str(compiled),
        f"{100 * compiled / tried:.1f}%" if tried else "",
        str(count["failed"] or ""),
        str(count["skipped"] or ""),
        f"{sum(row.instructions for row in rows if row.is_program) / 1e3:,.0f}",
        f"{sum(row.bitcode_bytes for row in rows if row.is_program) / 1e3:,.0f}",
        f"{sum(row.stored_bytes for row in frames) / 1e3:,.0f}",
    )


def _sizes_table(rows: Sequence[PackRow]) -> TextTable:
    headings = ("programs", *(f"{100 * q:.0f}%" for q in QUANTILES), "mean", "c", "c++", "llvm")
    table = TextTable((names("split"), *figures(*headings)), "IR instructions of a program:")
    for split in _splits(rows):
        programs = [row for row in rows if row.split == split and row.is_program]
        if not programs:
            continue
        sizes = np.array([row.instructions for row in programs])
        languages = Counter(row.language for row in programs)
        table.add(
            split,
            str(len(programs)),
            *(f"{np.quantile(sizes, q):,.0f}" for q in QUANTILES),
            f"{sizes.mean():,.0f}",
            *(str(languages[language]) for language in ("c", "c++", "llvm")),
        )
    return table


def programs_table(rows: Iterable[PackRow]) -> TextTable:
    """Return a table with one row for each program."""
    columns = (names("program"), names("split"), names("language"), *figures("instructions"))
    table = TextTable((*columns, texts("", label="reason")))
    for row in rows:
        table.add(row.name, row.split, row.language, f"{row.instructions:,}", row.reason)
    return table


def show_runnable(kind: str, programs: Iterable[Kernel | Recipe], form: TableForm | None) -> None:
    """Print runnable programs with descriptions and inputs; if `form` is None, print JSON."""
    rows = [
        {
            "name": f"{kind}:{item.name}",
            "description": item.description,
            "inputs": {run.name: list(run.arguments) for run in item.runs},
        }
        for item in programs
    ]
    if form is None:
        for row in rows:
            print(json.dumps(row))
        return
    table = TextTable((names("program"), texts("purpose"), texts("inputs")))
    for item in rows:
        table.add(str(item["name"]), str(item["description"]), " ".join(item["inputs"]))
    form.show(table)


def show_datasets(form: TableForm | None) -> None:
    """Print all datasets, and which are imported; if `form` is None, print JSON."""
    table = TextTable((names("dataset"), *figures("programs"), texts("kind"), texts("obtain", label="files")))
    for dataset in datasets().values():
        manifest = read_manifest(dataset_folder(dataset))
        kind = "evaluation" if dataset.evaluation else "training"
        table.add(dataset.id, str(manifest.programs) if manifest else "", kind, dataset.obtain)
        if form is None:
            row = {"dataset": dataset.id, "kind": kind, "licence": dataset.licence, "obtain": dataset.obtain}
            print(json.dumps(row | {"imported": bool(manifest)}))
    if form:
        form.show(table)


def show_splits(corpus: Corpus, form: TableForm) -> None:
    """Print the packages of every split, and the programs left out because another split has them."""
    table = TextTable((names("split", once=True), names("package"), *figures("programs")))
    for split in _splits(corpus.rows):
        inside = [row for row in corpus.rows if row.split == split and row.is_program]
        for name, count in Counter(row.package for row in inside).items():
            table.add(split, name, str(count), group=split)
        table.add_total(split, "all", str(len(inside)), group=split)
        table.end_section()
    form.show(table)
    repeated = [row for row in corpus.rows if row.status == "repeated"]
    for row in repeated:
        form.note(f"left out of {row.split}: {row.name}: {row.reason}")
    form.note(f"No program is in two splits; left out for this reason: {len(repeated)}.")


def totals_of(corpus: Corpus) -> dict[str, object]:
    """Return, for JSON, the number of files by status, and the sizes, of each split."""
    totals: dict[str, dict[str, int]] = {}
    for row in corpus.rows:
        total = totals.setdefault(row.split, {"instructions": 0, "bitcode_bytes": 0, "stored_bytes": 0})
        total[row.status] = total.get(row.status, 0) + 1
        if row.is_program:
            for key in ("instructions", "bitcode_bytes", "stored_bytes"):
                total[key] += getattr(row, key)
    return {"programs": len(corpus), "digest": corpus.digest, "splits": totals}


def _splits(rows: Sequence[PackRow]) -> list[str]:
    """Return the names of all splits in the rows, the usual ones first."""
    found = {row.split for row in rows}
    return [name for name in SPLITS if name in found] + sorted(found - set(SPLITS))
