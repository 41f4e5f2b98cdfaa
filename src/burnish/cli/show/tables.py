"""What tables have in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from rich import box
from rich.table import Table

from burnish.core.limit import unlimited
from burnish.core.task import Task
from burnish.core.weighted import is_weighted


def narrow_table(*columns: str, texts: Collection[str] = (), min_width: int | None = None) -> Table:
    """Return a table without rows that is to fit on 80 columns.

    Args:
        columns: Their headings. The first one holds names, which fold; the others numbers.
        texts: Those of the others that hold texts.
        min_width: Of the first one.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for number, name in enumerate(columns):
        if number:
            table.add_column(name, justify="left" if name in texts else "right", no_wrap=True)
        else:
            table.add_column(name, overflow="fold", min_width=min_width)
    return table


def heading_of(task: Task, objective: str) -> str:
    """Return what an objective is called in a narrow table."""
    name = unlimited(objective)
    if is_weighted(name):
        return "weighted"
    found = task.objective(name)
    return found.heading or found.unit


def sentences(checks: Iterable[str]) -> list[str]:
    """Return what was checked, each once, as sentences."""
    return [f"{check[0].upper()}{check[1:]}." for check in sorted(set(checks))]
