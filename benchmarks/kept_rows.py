"""Rows of a benchmark, each kept as it comes, and the table of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

Table = Callable[[list[Any]], str]


def keep(rows: Iterable[Mapping[str, Any]], folder: Path, table: Table) -> None:
    """Write each row to rows.jsonl when it is there, then table.txt, and print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = []
    with (folder / "rows.jsonl").open("w") as file:
        for row in rows:
            kept.append(row)
            print(json.dumps(row), file=file, flush=True)
    (folder / "table.txt").write_text(f"{table(kept)}\n")
    print(table(kept))


def show(path: Path, table: Table) -> None:
    """Print the table of rows that were kept."""
    print(table([json.loads(line) for line in path.read_text().splitlines()]))
