"""Tables of what is in a corpus."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table

from burnish.cli.show.tables import narrow_table
from burnish.corpora.kernels import Kernel
from burnish.corpora.pack import PackRow
from burnish.corpora.store import SPLITS, Corpus
from burnish.corpora.workloads import Recipe

MOST_REASONS = 12
QUANTILES = (0.1, 0.5, 0.9, 1.0)


def print_summary(rows: Sequence[PackRow], *, detailed: bool = False) -> None:
    """Print what became of the files, by package and by split; detailed: sizes and reasons as well."""
    packages_table(rows)
    if detailed:
        _sizes_table(rows)
    failed = [
        row for row in rows if row.status in ("failed", "repeated") or (detailed and row.status == "skipped")
    ]
    reasons = Counter(f"{row.status}: {_kind(row.reason)}" for row in failed)
    console = Console(highlight=False)
    for reason, count in reasons.most_common(MOST_REASONS):
        console.print(f"{count:5} {reason}", markup=False, soft_wrap=True)
    if len(reasons) > MOST_REASONS:
        console.print(f"      and {len(reasons) - MOST_REASONS} more: burnish corpus list --status failed")


def packages_table(rows: Sequence[PackRow]) -> None:
    """Print how many files compiled, their share of those tried, what failed or was skipped, and sizes."""
    table = narrow_table("package", "compiled", "share", "fail", "skip", "k instrs", "kB", "stored")
    for split in _splits(rows):
        inside = [row for row in rows if row.split == split]
        for package in sorted({row.package for row in inside}):
            _add(table, package, [row for row in inside if row.package == package])
        table.add_section()
        _add(table, f"all {split}", inside)
        table.add_section()
    Console().print(table)


def _add(table: Table, name: str, rows: Sequence[PackRow]) -> None:
    count = Counter(row.status for row in rows)
    compiled = count["compiled"] + count["repeated"]
    tried = compiled + count["failed"]
    frames = {(row.package, row.offset): row for row in rows if row.is_program}.values()
    table.add_row(
        name,
        str(compiled),
        f"{100 * compiled / tried:.1f}%" if tried else "",
        str(count["failed"] or ""),
        str(count["skipped"] or ""),
        f"{sum(row.instructions for row in rows if row.is_program) / 1e3:,.0f}",
        f"{sum(row.bitcode_bytes for row in rows if row.is_program) / 1e3:,.0f}",
        f"{sum(row.stored_bytes for row in frames) / 1e3:,.0f}",
    )


def _sizes_table(rows: Sequence[PackRow]) -> None:
    table = narrow_table(
        "split", "programs", *(f"{100 * q:.0f}%" for q in QUANTILES), "mean", "c", "c++", "llvm"
    )
    for split in _splits(rows):
        programs = [row for row in rows if row.split == split and row.is_program]
        if not programs:
            continue
        sizes = np.array([row.instructions for row in programs])
        languages = Counter(row.language for row in programs)
        table.add_row(
            split,
            str(len(programs)),
            *(f"{np.quantile(sizes, q):,.0f}" for q in QUANTILES),
            f"{sizes.mean():,.0f}",
            *(str(languages[language]) for language in ("c", "c++", "llvm")),
        )
    Console().print("IR instructions of a program:", table)


def programs_table(rows: Iterable[PackRow]) -> None:
    """Print one row each."""
    table = narrow_table("program", "split", "language", "instructions", "", texts=("split", "language", ""))
    for row in rows:
        table.add_row(row.name, row.split, row.language, f"{row.instructions:,}", row.reason)
    Console().print(table)


def runnable_table(kind: str, programs: Iterable[Kernel | Recipe], *, as_json: bool) -> None:
    """Print the programs that can be run: their names, what they do, and the arguments of each input."""
    rows = [
        {
            "name": f"{kind}:{item.name}",
            "description": item.description,
            "inputs": {run.name: list(run.arguments) for run in item.runs},
        }
        for item in programs
    ]
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("program", no_wrap=True)
    table.add_column("what it does")
    table.add_column("inputs")
    for item in rows:
        table.add_row(str(item["name"]), str(item["description"]), " ".join(item["inputs"]))
    Console().print(table)


def splits_table(corpus: Corpus) -> None:
    """Print the groups of every split, and what is kept out of one because another has it."""
    console = Console(highlight=False)
    for split in _splits(corpus.rows):
        inside = [row for row in corpus.rows if row.split == split and row.is_program]
        packages = Counter(row.package for row in inside)
        names = ", ".join(f"{name} {count}" for name, count in packages.items())
        console.print(f"{split}: {len(inside)} programs: {names}", markup=False, soft_wrap=True)
    repeated = [row for row in corpus.rows if row.status == "repeated"]
    for row in repeated:
        console.print(f"left out of {row.split}: {row.name}: {row.reason}", markup=False, soft_wrap=True)
    console.print(f"No program is in two splits; left out for that: {len(repeated)}.")


def _splits(rows: Sequence[PackRow]) -> list[str]:
    """Return the splits there are, the usual ones first."""
    found = {row.split for row in rows}
    return [name for name in SPLITS if name in found] + sorted(found - set(SPLITS))


def _kind(reason: str) -> str:
    """Return a reason without the names in it, so that like ones can be counted."""
    return re.sub(r"'[^']*'", "'...'", reason.partition("\n")[0])


def corpus_figures(corpus: Corpus) -> dict[str, object]:
    """Return the sizes of a corpus by split, for --json."""
    totals: dict[str, dict[str, int]] = {}
    for row in corpus.rows:
        total = totals.setdefault(row.split, {"instructions": 0, "bitcode_bytes": 0, "stored_bytes": 0})
        total[row.status] = total.get(row.status, 0) + 1
        if row.is_program:
            for key in ("instructions", "bitcode_bytes", "stored_bytes"):
                total[key] += getattr(row, key)
    return {"programs": len(corpus), "digest": corpus.digest, "splits": totals}
