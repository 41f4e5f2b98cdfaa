"""A task without a compiler: counters that are to become zero.

Programs are lists of counters, `a=12 b=7`; the sites are the counters that are not yet zero. It
proves that the contract has no special cases for LLVM: sites vanish, actions become legal and
illegal, a state where nothing is legal ends the episode, and forks are replays. The known optimum of
every program is OPTIMUM.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from burnish.core.errors import ProgramError, UnknownName
from burnish.core.objective import GraphArrays, Objective, Observation
from burnish.core.program import Program
from burnish.core.session import Part, Session
from burnish.core.task import SearchHints, Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed

ACTIONS = ("halve", "subtract(1)", "subtract(3)", "add(1)")
LARGEST = 1000
COLUMNS = 4
OPTIMUM = 1.0

OBSERVATIONS = {
    "values": Observation("values", "The counters, the largest first", shape=(COLUMNS,), high=LARGEST),
    "shares": Observation("shares", "The same / 1000", shape=(COLUMNS,), dtype="float32", high=1),
    "text": Observation("text", "The program that is left", kind="text"),
    "bytes": Observation("bytes", "The same in ASCII", kind="bytes"),
    "digits": Observation("digits", "The letters of the program's text", kind="sequence", high=127),
    "shares-of-each": Observation(
        "shares-of-each",
        "For each counter, its share of 1000 and of the sum",
        kind="sequence",
        shape=(2,),
        dtype="float32",
        high=1,
    ),
    "order": Observation(
        "order",
        "A node for the program and each counter, an edge from it to the counter, the larger ones first",
        kind="graph",
        shape=(2,),
        high=LARGEST,
        columns=("is a counter", "value"),
    ),
}
OBJECTIVES = {
    "total": Objective("total", "units", "1 + the sum of the counters"),
    "largest": Objective("largest", "units", "1 + the largest counter", dense=False),
}


class CountingSession(Session):
    """The counters that are not zero."""

    def __init__(self, program: Program) -> None:
        super().__init__(ACTIONS, reopen=partial(open_counters, program))
        self.counters = _parse(program)

    def identities(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.counters.items()}

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        masks = [_legal(self.counters[name]) for name in self._named(site)]
        return np.array([any(each) for each in zip(*masks, strict=True)] or [False] * len(ACTIONS))

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        self.check_legal(action, site)
        for name in self._named(site):
            self.counters[name] = after(self.counters[name], action)
        self.counters = {name: value for name, value in self.counters.items() if value}
        self.record(action, site)
        return True

    def observe(self, space: str) -> Observed:
        if space not in OBSERVATIONS:
            raise UnknownName.among("observation", space, OBSERVATIONS)
        if space == "text":
            return self.digest()
        if space == "bytes":
            return self.digest().encode()
        if space == "digits":
            return np.frombuffer(self.digest().encode(), dtype=np.uint8).astype(np.int64)
        if space == "shares-of-each":
            ordered = np.array(sorted(self.counters.values()), dtype=np.float32)
            return np.stack([ordered / LARGEST, ordered / max(1, ordered.sum())], axis=1)
        if space == "order":
            return self._graph()
        values = np.zeros(COLUMNS, dtype=np.int64)
        values[: len(self.counters)] = sorted(self.counters.values(), reverse=True)
        return values if space == "values" else (values / LARGEST).astype(np.float32)

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        values = [self.counters[name] for name in self._named(site)]
        cost = sum(values) if objective == "total" else max(values, default=0)
        return float(cost + (site == WHOLE_PROGRAM))

    def part(self, site: str, objective: str) -> Part | None:
        if objective != "total" or site not in self.counters:
            return None
        return Part(open_counters, Program(site, "counters", f"{site}={self.counters[site]}".encode()), site)

    def digest(self) -> str:
        return " ".join(f"{name}={value}" for name, value in sorted(self.counters.items()))

    def sites(self) -> tuple[str, ...]:
        return tuple(sorted(self.counters, key=lambda name: (-self.counters[name], name)))

    def _graph(self) -> GraphArrays:
        values = [self.counters[name] for name in self.sites()]
        nodes = np.array([(0, sum(values) and 1), *((1, value) for value in values)], dtype=np.int64)
        edges = np.array([(0, 1 + i, 0, i) for i in range(len(values))], dtype=np.int64)
        return GraphArrays(nodes, edges.reshape(-1, 4))

    def _named(self, site: str) -> list[str]:
        return [name for name in self.counters if site in (WHOLE_PROGRAM, name)]


def open_counters(program: Program) -> CountingSession:
    """Open a program."""
    return CountingSession(program)


def open_halved(program: Program) -> CountingSession:
    """Open a program with every counter halved while it is even."""
    session = CountingSession(program)
    while session.legal()[0]:
        session.apply(0)
    return session


def after(value: int, action: int) -> int:
    """Return what an action makes of a counter; where it is illegal, the same."""
    return (value // 2, value - 1, value - 3, value + 1)[action] if _legal(value)[action] else value


def _legal(value: int) -> list[bool]:
    return [value % 2 == 0, value >= 1, value >= 3, value < LARGEST]


def _parse(program: Program) -> dict[str, int]:
    try:
        pairs = [part.split("=") for part in program.content.decode().split()]
        counters = {name: int(value) for name, value in pairs}
    except ValueError:
        raise ProgramError(f"{program.name}: expected counters such as 'a=12 b=7'") from None
    if len(counters) > COLUMNS or not all(0 <= value <= LARGEST for value in counters.values()):
        raise ProgramError(f"{program.name}: expected at most {COLUMNS} counters, each at most {LARGEST}")
    return {name: value for name, value in counters.items() if value}


TASK = Task(
    name="counting",
    version=4,
    language="counters",
    actions=ACTIONS,
    observations=OBSERVATIONS,
    objectives=OBJECTIVES,
    open=open_counters,
    baselines={"start": open_counters, "halved": open_halved},
    reference="halved",
    max_steps=20,
    hints=SearchHints((("halve",),)),
)


def counters(text: str) -> Program:
    """Return a program."""
    return Program(text, "counters", text.encode())
