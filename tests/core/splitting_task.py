"""A task that is as awkward as the contract allows: pieces that are to be split until they can be burnt.

Programs are lengths, `5 4`; each piece is a site. Nothing is legal on the whole program, `burn` nowhere at
first, and every split ends one site and begins two. There are no initial traces, no costs by site, no exact
objective. The known optimum of every program is OPTIMUM.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from burnish.core.errors import ProgramError, UnknownName
from burnish.core.objective import Objective, Observation
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import SearchHints, Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed

ACTIONS = ("grow", "trim", "split", "burn")
LONGEST = 9
COLUMNS = 8
OPTIMUM = 1.0

OBSERVATIONS = {
    "lengths": Observation("lengths", "The pieces, the longest first", shape=(COLUMNS,), high=LONGEST),
}
OBJECTIVES = {"area": Objective("area", "units", "1 + the sum of the squared lengths", noisy=True)}


class SplittingSession(Session):
    """The pieces that are left, by their names: those of what 1 was split into are 1.0 and 1.1."""

    def __init__(self, program: Program) -> None:
        super().__init__(ACTIONS, reopen=partial(open_pieces, program))
        self.pieces = _parse(program)

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        if site not in self.pieces:
            return np.zeros(len(ACTIONS), dtype=bool)
        length, room = self.pieces[site], len(self.pieces) < COLUMNS
        even = length % 2 == 0
        return np.array([length < LONGEST, not even and length > 1, even and room, length == 1])

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        self.check_legal(action, site)
        length = self.pieces.pop(site)
        match ACTIONS[action]:
            case "grow":
                self.pieces[site] = length + 1
            case "trim":
                self.pieces[site] = length - 1
            case "split":
                self.pieces |= {f"{site}.0": length // 2, f"{site}.1": length // 2}
        self.record(action, site)
        return True

    def observe(self, space: str) -> Observed:
        if space not in OBSERVATIONS:
            raise UnknownName.among("observation", space, OBSERVATIONS)
        values = np.zeros(COLUMNS, dtype=np.int64)
        values[: len(self.pieces)] = sorted(self.pieces.values(), reverse=True)
        return values

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        whole = site == WHOLE_PROGRAM
        return float(whole + sum(v * v for name, v in self.pieces.items() if whole or name == site))

    def digest(self) -> str:
        return " ".join(f"{name}={length}" for name, length in sorted(self.pieces.items()))

    def sites(self) -> tuple[str, ...]:
        return tuple(sorted(self.pieces))


def open_pieces(program: Program) -> SplittingSession:
    """Open a program."""
    return SplittingSession(program)


def _parse(program: Program) -> dict[str, int]:
    try:
        lengths = [int(part) for part in program.content.decode().split()]
    except ValueError:
        raise ProgramError(f"{program.name}: expected lengths such as '5 4'") from None
    if len(lengths) > COLUMNS or not all(1 <= length <= LONGEST for length in lengths):
        raise ProgramError(f"{program.name}: expected at most {COLUMNS} lengths from 1 to {LONGEST}")
    return {str(number): length for number, length in enumerate(lengths, 1)}


TASK = Task(
    name="splitting",
    version=0,
    language="pieces",
    actions=ACTIONS,
    observations=OBSERVATIONS,
    objectives=OBJECTIVES,
    open=open_pieces,
    baselines={"start": open_pieces},
    reference="start",
    max_steps=30,
    hints=SearchHints(max_trace=30),
)


def pieces(text: str) -> Program:
    """Return a program."""
    return Program(text, "pieces", text.encode())
