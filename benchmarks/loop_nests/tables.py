"""The printed tables: each case with each peer, then the required ratios."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.table import Table

from loop_nests.floors import FLOORS, POLICY_SECONDS
from loop_nests.rows import CALLED, POLICY, REFINED, Row, mean

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
            times = [row.seconds(who) for who in (POLICY, REFINED, REFINED + CALLED, *peers)]
            ratios = [row.ratio(REFINED, peer) for peer in peers]
            cells = [row.split, f"{row.of_peak:.2f}", *map(_microseconds, times), *map(_ratio, ratios)]
            table.add_row(row.case, *cells)
        if len(chosen) > 1:
            means = (mean(row.ratio(REFINED, peer) for row in chosen) for peer in peers)
            blanks = [""] * (len(columns) - len(peers))
            table.add_row(f"[bold]{group}, geometric mean[/]", *blanks, *map(_ratio, means), end_section=True)
    return table


def floors_table(rows: Sequence[Row]) -> Table:
    """Return each required ratio with its value in a loop of machine code and called from Python."""
    table = Table(title="what must hold", title_justify="left")
    for name in ("what", "at least", "measured", "called from Python", ""):
        table.add_column(name, justify="left" if name in ("what", "") else "right")
    for floor in FLOORS:
        value, called = (floor.value(rows, called=way) for way in (False, True))
        if math.isfinite(value):
            least = floor.floor(rows[0].machine["vector_bytes"])
            verdict = "holds" if value >= least else "does not hold"
            table.add_row(floor.text, f"{least:.2f}", f"{value:.3f}", f"{called:.3f}", verdict)
    spent = [row.schedules[POLICY]["seconds"] for row in rows if row.group == "matmul"]
    if spent:
        verdict = "holds" if max(spent) < POLICY_SECONDS else "does not hold"
        longest = f"{max(spent):.3f} s"
        table.add_row("the longest way to a first schedule", f"< {POLICY_SECONDS} s", longest, "", verdict)
    return table


def forms_table(rows: Iterable[Row], peers: Sequence[str]) -> Table:
    """Return the table of each peer's fastest form."""
    table = Table(title="the fastest form of each peer", title_justify="left")
    for name in ("case", *peers):
        table.add_column(name)
    for row in rows:
        table.add_row(row.case, *(row.form(peer) for peer in peers))
    return table


def overhead(rows: Iterable[Row], peers: Sequence[str]) -> str:
    """Return a sentence with the times of a call with next to no work; "" if they were not measured."""
    for row in rows:
        if row.group == "call":
            times = [(peer, row.seconds(peer)) for peer in (*peers, POLICY + CALLED)]
            each = ", ".join(f"{name.removesuffix(CALLED)} {_microseconds(time)}" for name, time in times)
            return f"A call from Python that computes one product, microseconds: {each}"
    return ""


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.3g}" if seconds < 1e-3 else f"{seconds * 1e6:,.0f}"


def _ratio(number: float) -> str:
    return f"{number:.2f}" if math.isfinite(number) else ""
