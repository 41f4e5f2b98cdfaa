"""The printed tables: each case with each peer, means by op, then the required ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from kit.floors import floors_table as required
from kit.shown import microseconds, ratio
from rich.table import Table

from mlir_schedules.cases import CHANNELS_FIRST, GROUPS, LARGE_MATMUL, LISTED, MATMUL, NETWORK
from mlir_schedules.floors import FLOORS
from mlir_schedules.peers import TITLES
from mlir_schedules.rows import CALLED, LINKED, NAIVE, OURS, Row, mean_ratio

RATES = (
    MATMUL,
    LARGE_MATMUL,
    "product",
    "conv",
    CHANNELS_FIRST,
)  # groups shown in GFLOP/s, which say more than microseconds
GIGA = 1e9
SHOWN = (*GROUPS, *LISTED)  # groups, in the order of the tables


def cases_tables(rows: Sequence[Row], peers: Sequence[str]) -> Iterable[Table]:
    """Yield a table for each group: the time or rate of a call, and each peer's time divided by ours."""
    for group in SHOWN:
        chosen = [row for row in rows if row.group == group]
        if chosen:
            yield _group_table(group, chosen, peers)


def _group_table(group: str, rows: Sequence[Row], peers: Sequence[str]) -> Table:
    unit = "GFLOP/s" if group in RATES else "microseconds"
    table = Table(title=f"{group}: medians, {unit}; ratio: the other's time / ours", title_justify="left")
    times, against = (NAIVE, OURS, CALLED, LINKED, *peers), (*peers, NAIVE)
    table.add_column("case")
    table.add_column("schedule")
    for name in (*times, *(f"/ {peer}" for peer in against)):
        table.add_column(name, justify="right")
    for row in rows:
        shown = [_amount(row, row.seconds(who), unit) for who in times]
        ratios = [ratio(row.ratio(OURS, peer)) for peer in against]
        table.add_row(row.case, row.origin, *shown, *ratios)
    if len(rows) > 1:
        blanks = [""] * (len(times) + 1)
        means = [ratio(mean_ratio(rows, peer)) for peer in against]
        table.add_section()
        table.add_row("[bold]geometric mean[/]", *blanks, *means)
    return table


def means_table(rows: Sequence[Row], peers: Sequence[str]) -> Table:
    """Return the geometric means of the ratios: by op, by group (networks are one), and of all ops."""
    against = (*peers, NAIVE)
    table = Table(title="geometric means of the others' times / ours", title_justify="left")
    table.add_column("of")
    for name in ("cases", *(TITLES.get(peer, peer) for peer in against)):
        table.add_column(name, justify="right")
    for op in dict.fromkeys(row.op for row in rows):
        _add(table, op, [row for row in rows if row.op == op], against)
    table.add_section()
    for group in SHOWN:
        _add(table, f"[bold]{group}[/]", [row for row in rows if row.group == group], against)
    table.add_section()
    _add(table, "[bold]all ops[/]", [row for row in rows if row.group != NETWORK], against)
    return table


def _add(table: Table, title: str, rows: Sequence[Row], against: Sequence[str]) -> None:
    if rows:
        table.add_row(title, str(len(rows)), *(ratio(mean_ratio(rows, peer)) for peer in against))


def alone_table(rows: Sequence[Row], peers: Sequence[str]) -> Table:
    """Return the geometric means over each single form, for a user who takes one form for all programs."""
    groups = [group for group in SHOWN if any(row.group == group for row in rows)]
    table = Table(title="geometric means of one form's times / ours", title_justify="left")
    table.add_column("form")
    for name in groups:
        table.add_column(name, justify="right")
    forms = dict.fromkeys(name for row in rows for name in row.samples if name.partition("/")[0] in peers)
    for form in forms:
        of = {group: [row for row in rows if row.group == group and form in row.samples] for group in groups}
        table.add_row(form, *(ratio(mean_ratio(of[group], form)) for group in groups))
    return table


def failures_table(rows: Iterable[Row]) -> Table | None:
    """Return the peers and forms that gave a wrong result or none, with the reasons; None without any."""
    table = Table(title="left out", title_justify="left")
    for name in ("case", "who", "why"):
        table.add_column(name, overflow="fold")
    for row in rows:
        for who, why in row.failed.items():
            table.add_row(row.case, who, why)
    return table if table.row_count else None


def floors_table(rows: Sequence[Row]) -> Table:
    """Return each required ratio with its value in a loop of machine code, from Python, and linked."""
    return required(FLOORS, rows, {"called from Python": {OURS: CALLED}, "linked": {OURS: LINKED}})


def _amount(row: Row, seconds: float, unit: str) -> str:
    if unit == "GFLOP/s" and math.isfinite(seconds):
        return f"{row.flops / seconds / GIGA:.3g}"
    return microseconds(seconds)
