"""Rows of a benchmark, each stored as soon as it is measured, and their table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Table = Callable[[list[Any]], str]


def keep(rows: Iterable[Mapping[str, Any]], folder: Path, table: Table) -> list[Mapping[str, Any]]:
    """Write each row to rows.jsonl as soon as it exists, then write and print the table; return the rows."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = []
    with (folder / "rows.jsonl").open("w") as file:
        for row in rows:
            kept.append(row)
            print(json.dumps(row), file=file, flush=True)
    (folder / "table.txt").write_text(f"{table(kept)}\n")
    print(table(kept))
    return kept


def show(path: Path, table: Table) -> None:
    """Print the table of stored rows."""
    print(table([json.loads(line) for line in path.read_text().splitlines()]))
