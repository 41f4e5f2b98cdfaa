"""The printed tables: each case with each peer, then the required ratios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kit.floors import floors_table as required
from kit.floors import verdict
from kit.rows import mean
from kit.shown import microseconds, ratio
from rich.table import Table

from loop_nests.floors import FLOORS, POLICY_SECONDS
from loop_nests.rows import CALLED, POLICY, REFINED, Row

GROUPS = ("matmul", "matmul-512", "matmul-1024", "nest", "own")


def cases_table(rows: Sequence[Row], peers: Sequence[str]) -> Table:
    """Return the microseconds of a call, and each peer's time divided by the refined schedule's."""
    table = Table(title="medians, microseconds; ratio: the peer's / ours, refined", title_justify="left")
    table.add_column("case")
    columns = ["split", "of peak", "policy", "refined", "called", *peers, *(f"/ {peer}" for peer in peers)]
    for name in columns:
        table.add_column(name, justify="left" if name == "split" else "right")
    for group in GROUPS:
        chosen = [row for row in rows if row.group == group]
        for row in chosen:
            times = [row.seconds(who) for who in (POLICY, REFINED, CALLED[REFINED], *peers)]
            ratios = [row.ratio(REFINED, peer) for peer in peers]
            cells = [row.split, f"{row.of_peak:.2f}", *map(microseconds, times), *map(ratio, ratios)]
            table.add_row(row.case, *cells)
        if len(chosen) > 1:
            means = (mean(row.ratio(REFINED, peer) for row in chosen) for peer in peers)
            blanks = [""] * (len(columns) - len(peers))
            table.add_row(f"[bold]{group}, geometric mean[/]", *blanks, *map(ratio, means), end_section=True)
    return table


def floors_table(rows: Sequence[Row]) -> Table:
    """Return each required ratio with its value in a loop of machine code and called from Python."""
    table = required(FLOORS, rows, {"called from Python": CALLED})
    spent = [row.schedules[POLICY]["seconds"] for row in rows if row.group == "matmul"]
    if spent:
        longest, limit = f"{max(spent):.3f} s", f"< {POLICY_SECONDS} s"
        holds = verdict(max(spent) < POLICY_SECONDS)
        table.add_row("the longest way to a first schedule", limit, longest, "", holds)
    return table


def overhead(rows: Iterable[Row], peers: Sequence[str]) -> str:
    """Return a sentence with the times of a call with next to no work; "" if they were not measured."""
    for row in rows:
        if row.group == "call":
            times = {**{peer: row.seconds(peer) for peer in peers}, POLICY: row.seconds(CALLED[POLICY])}
            each = ", ".join(f"{name} {microseconds(time)}" for name, time in times.items())
            return f"A call from Python that computes one product, microseconds: {each}"
    return ""
