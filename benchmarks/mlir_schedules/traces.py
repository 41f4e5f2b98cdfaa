"""The trace that schedules a program: from a file, written by hand, or searched."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.core.errors import BurnishError, InputError
from burnish.core.program import Program
from burnish.core.trace import split_entry
from burnish.evaluation.solvers import solver_of
from burnish.search import Budget
from burnish.search.problem import Problem
from burnish.tasks.mlir_schedules import TASK
from burnish.tasks.mlir_schedules.session import ScheduleSession, open_program

NONE, HAND = "naive", "hand"


@dataclass(frozen=True)
class Found:
    """A trace, its origin, and the seconds that finding it took."""

    trace: tuple[str, ...]
    origin: str
    seconds: float = 0.0


class KnownTraces:
    """The traces of least cost, by the digests and by the names of their programs."""

    def __init__(self, rows: Iterable[Mapping[str, Any]], origin: str) -> None:
        """Take rows of results with `program` and `trace`, and optionally `digest` and `cost`."""
        self.origin = origin
        self._best: dict[str, tuple[float, tuple[str, ...]]] = {}
        for row in rows:
            found = float(row.get("cost", 0.0)), tuple(row["trace"])
            for key in (row["program"], row.get("digest", "")):
                if key and (key not in self._best or found[0] <= self._best[key][0]):
                    self._best[key] = found

    def find(self, program: Program) -> Found | None:
        """Return a program's trace, None if it has none."""
        known = self._best.get(program.digest) or self._best.get(program.name)
        return Found(known[1], self.origin) if known else None


def read_traces(path: Path) -> KnownTraces:
    """Read a file that `burnish optimize --result FILE` wrote.

    Raises:
        InputError: there is no such file, or a line is not a result.
    """
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; burnish optimize --result {path} writes one")
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            row = json.loads(line)
            rows.append({"program": row["program"], **row, "trace": [str(one) for one in row["trace"]]})
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise InputError(f"{path}:{number}: not a result with program and trace: {error!r}") from None
    return KnownTraces(rows, path.name)


def searched(program: Program, method: str, seconds: float) -> Found:
    """Return the trace that a method of `burnish evaluate` finds within some seconds.

    Raises:
        UnknownName: there is no such method.
    """
    start = time.monotonic()
    found = solver_of(method, TASK)(Problem(TASK, program, "seconds"), Budget(seconds), 0, lambda _: None)
    return Found(tuple(found.trace), f"{method}, {seconds:g} s", time.monotonic() - start)


def scheduled(program: Program, trace: Sequence[str]) -> ScheduleSession:
    """Return the session of a program after a trace.

    Raises:
        InputError: an entry cannot be applied; the message says which.
    """
    session = open_program(program)
    for number, entry in enumerate(trace):
        site, text = split_entry(entry)
        try:
            session.apply(session.index(text), site)
        except BurnishError as error:
            raise InputError(f"{program.name}: entry {number} of the trace, {entry!r}: {error}") from None
    return session


def _at(site: str, *actions: str) -> tuple[str, ...]:
    return tuple(f"{site}: {action}" for action in actions)


_PANEL = ("tile(2, 256)", "tile(1, 16)")
_VECTORS = ("vectorize", "hoist", "unroll(4)")
BY_HAND: Mapping[str, Sequence[str]] = {
    "matmul:512x512x512": [
        *_at("matmul#1", "split(0, 6)", *_PANEL, "tile(0, 6)", "tile(2, 1)", "pack(1, 2)", *_VECTORS),
        *_at("matmul#1.tail", *_PANEL, "tile(2, 1)", *_VECTORS),
    ],
    "conv2d:56x56x64x64": _at(
        "conv_2d_nhwc_hwcf#1",
        *("tile(1, 1)", "tile(3, 16)", "tile(2, 4)", "tile(4, 1)", "tile(5, 1)", "tile(6, 1)"),
        *("decompose", "vectorize", "hoist", "unroll(8)"),
    ),
    "maxpool:112x112x64": _at(
        "pooling_nhwc_max#1",
        *("tile(1, 1)", "tile(2, 1)", "tile(4, 1)", "tile(5, 1)"),
        *("decompose", "vectorize", "hoist", "unroll(2)", "unroll(2)"),
    ),
}
"""Traces for vectors of 32 bytes."""


def by_hand() -> KnownTraces:
    """Return the hand-written schedules of a few programs."""
    return KnownTraces(({"program": name, "trace": trace} for name, trace in BY_HAND.items()), HAND)
