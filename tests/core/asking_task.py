"""A task whose compiler asks: an inliner, and a heuristic that is not the best.

Programs are functions, `main 4: f g; f 2: h; g 6: h; h 5:`: a size, and calls in their order. The compiler
takes `main`, asks about one call after the other, then takes the functions that calls are left of: what is
inlined everywhere is neither compiled nor asked about. Calls in a body that was inlined are asked about next,
and only there, where arguments are known, `fold` is legal. There is no exact objective, no initial trace, no
limit of steps, no cost by site. `optimum` knows the least cost by trying everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from burnish.core.errors import ProgramError, UnknownName
from burnish.core.objective import Objective, Observation
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import SearchHints, Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed

ACTIONS = ("leave", "inline", "fold")
LEAVE, INLINE, FOLD = range(3)
CALL = 3  # units of a call that is left
FOLDED = 3  # units that folding saves
THRESHOLD = 3  # the largest callee that the heuristic inlines
LARGEST = 10_000

OBSERVATIONS = {
    "question": Observation(
        "question",
        "Of the call that is asked about; zeros where there is none",
        shape=(5,),
        high=LARGEST,
        columns=("size of the caller", "size of the callee", "depth", "calls of it", "open questions"),
    ),
    "text": Observation("text", "The site that is asked about", kind="text"),
}
OBJECTIVES = {
    "size": Objective("size", "units", "All that is compiled", dense=False, by_site=False, noisy=True)
}


@dataclass(frozen=True)
class Function:
    """A function of a program."""

    size: int
    calls: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """A call that the compiler came to."""

    site: str
    size: int  # of the caller so far
    callee: str
    around: tuple[str, ...]  # the function that is compiled, and those that were inlined around the call

    def calls(self, functions: Mapping[str, Function]) -> list[tuple[str, str]]:
        """Return the sites and callees of what inlining brings."""
        return _calls(self.site, functions[self.callee])

    @property
    def legal(self) -> Mask:
        """Return which answers there are: no function is inlined into itself."""
        inline = self.callee not in self.around
        return np.array([True, inline, inline and len(self.around) > 1])


@dataclass(frozen=True)
class Compiled:
    """What answers lead to."""

    sizes: dict[str, int]
    asked: tuple[Question, ...]


def compiled(functions: Mapping[str, Function], answers: Mapping[str, int]) -> Compiled:
    """Compile by answers, and by the heuristic where there is none."""
    sizes: dict[str, int] = {}
    asked: list[Question] = []
    calls: list[tuple[str, str, tuple[str, ...]]]
    order = ["main"]
    for name in order:  # which grows
        sizes[name] = functions[name].size
        calls = [(site, callee, (name,)) for site, callee in _calls(name, functions[name])]
        while calls:
            site, callee, around = calls.pop(0)
            question = Question(site, sizes[name], callee, around)
            asked.append(question)
            by_heuristic = int(question.legal[INLINE] and functions[callee].size <= THRESHOLD)
            answer = answers.get(site, by_heuristic)
            if answer == LEAVE:
                sizes[name] += CALL
                order += [] if callee in order else [callee]
                continue
            sizes[name] += max(0, functions[callee].size - (FOLDED if answer == FOLD else 0))
            calls[:0] = [(*call, (*around, callee)) for call in question.calls(functions)]
    return Compiled(sizes, tuple(asked))


class AskingSession(Session):
    """A program, and the answers that were given."""

    def __init__(self, program: Program) -> None:
        super().__init__(ACTIONS, reopen=partial(open_asking, program))
        self.functions = _parse(program)
        self.answers: dict[str, int] = {}

    @cached_property
    def compiled(self) -> Compiled:
        return compiled(self.functions, self.answers)

    def open(self) -> dict[str, Question]:
        """Return the questions without an answer, in the compiler's order."""
        return {asked.site: asked for asked in self.compiled.asked if asked.site not in self.answers}

    def question(self) -> str:
        return next(iter(self.open()), "")

    def sites(self) -> tuple[str, ...]:
        return tuple(self.open())

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        question = self.open().get(site or self.question())
        return question.legal if question else np.zeros(len(ACTIONS), dtype=bool)

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        self.check_legal(action, site)
        site = site or self.question()
        self.answers[site] = action
        self.__dict__.pop("compiled", None)
        self.record(action, site)
        return True  # even what the heuristic would have answered: another question is asked

    def observe(self, space: str) -> Observed:
        if space not in OBSERVATIONS:
            raise UnknownName.among("observation", space, OBSERVATIONS)
        if space == "text":
            return self.question()
        asked = self.open().get(self.question())
        if not asked:
            return np.zeros(5, dtype=np.int64)
        calls = [callee for function in self.functions.values() for callee in function.calls]
        size, depth, count = self.functions[asked.callee].size, len(asked.around), calls.count(asked.callee)
        return np.array([asked.size, size, depth, count, len(self.open())], dtype=np.int64)

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        return float(sum(self.compiled.sizes.values())) if site == WHOLE_PROGRAM else 0.0

    def costs(self, objective: str) -> dict[str, float]:
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        return {}

    def digest(self) -> str:
        return " ".join(f"{name}={size}" for name, size in self.compiled.sizes.items())


class Never:
    """Inlines nothing."""

    observations = ("question",)

    def __call__(self, observed: tuple[Observed, ...], legal: Mask) -> int:
        return LEAVE


def open_asking(program: Program) -> AskingSession:
    """Open a program: the heuristic answers everything."""
    return AskingSession(program)


def open_never(program: Program) -> AskingSession:
    """Open a program with nothing inlined."""
    session = AskingSession(program)
    session.answer(Never)
    return session


def optimum(program: Program) -> float:
    """Return the least cost of all answers."""

    def least(session: Session) -> float:
        ways = []
        for action in np.flatnonzero(session.legal()):
            fork = session.fork()
            fork.apply(int(action))
            ways.append(least(fork))
        return min(ways, default=session.measure("size"))

    return least(open_asking(program))


def _calls(site: str, function: Function) -> list[tuple[str, str]]:
    """Return the site and the callee of each call: the ordinal is among the calls of that callee there."""
    return [
        (f"{site} > {callee} #{function.calls[:i].count(callee) + 1}", callee)
        for i, callee in enumerate(function.calls)
    ]


def _parse(program: Program) -> dict[str, Function]:
    functions = {}
    try:
        for line in program.content.decode().split(";"):
            head, calls = line.split(":")
            name, size = head.split()
            functions[name] = Function(int(size), tuple(calls.split()))
    except ValueError:
        raise ProgramError(f"{program.name}: expected functions such as 'main 4: f f; f 2:'") from None
    if not {"main", *(callee for one in functions.values() for callee in one.calls)} <= {*functions}:
        raise ProgramError(f"{program.name}: main, or a function that is called, is missing")
    return functions


TASK = Task(
    name="asking",
    version=0,
    language="calls",
    actions=ACTIONS,
    observations=OBSERVATIONS,
    objectives=OBJECTIVES,
    open=open_asking,
    baselines={"never": open_never, "heuristic": open_asking},
    reference="heuristic",
    max_steps=None,
    hints=SearchHints(max_trace=0, max_trace_by_site=2),  # inlining brings further questions
)


def calls(text: str) -> Program:
    """Return a program."""
    return Program(text, "calls", text.encode())
