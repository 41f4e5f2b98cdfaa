"""The options of a drop-in compiler, the requests to its optimizer, and the answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from burnish.cc.file_budget import CODE_SHARE, DEFAULT, FileBudget
from burnish.core.clock import PROCESSORS, Clock

DEFAULT_OBJECTIVE = "loaded-bytes"
SPEED_LIMIT = 1.05  # the most that the expected run time may come to, in units of clang's own
OBJECTIVES = (DEFAULT_OBJECTIVE, "text-bytes", "ir-instructions")


@dataclass(frozen=True)
class Compiled:
    """What the launcher has done of a command: clang's part."""

    clang_seconds: float  # of processor time, that it took
    ended: float  # when clang had ended, by the clock
    written: frozenset[Path]  # the files that clang wrote and that are worth a search
    clock: Clock = PROCESSORS  # of burnish's part, from when this process began


@dataclass(frozen=True)
class DriverOptions:
    """burnish's own options of a drop-in compiler."""

    objective: str | None = None  # None: loaded-bytes, and only where clang is told -Os or -Oz
    speed_limit: float | None = SPEED_LIMIT  # of loaded-bytes; None: no limit
    budget: FileBudget = DEFAULT  # for each file
    build_seconds: float | None = None  # of search for a whole build, in the place of `budget`
    search: str | None = None  # None: the optimizer's own choice
    policy: str | None = None  # None: the one that is shipped for the objective
    inline_policy: str | None = None  # a file: what answers LLVM's inliner; None: its heuristic alone
    decides_code: bool = True  # code generation is searched, too; not where clang's is asked for
    memory: Path | None = None  # see burnish.search.memory
    seed: int = 0
    log: Path | None = None  # None: the user's build log
    whole_program: bool = False  # see burnish.cc.link
    compiled: Compiled | None = None  # None: clang is still to run
    caller: int | None = None  # the launcher's process, which the build started; None: this one
    libraries: str = ""  # which C++ library programs are built with, in words

    @property
    def searches_code(self) -> bool:
        """Whether code generation is searched, too, where there is time for it."""
        return self.decides_code and self.objective != "ir-instructions"


@dataclass(frozen=True)
class Request:
    """How one module is to be optimized: by the user's options, with so much of the budget."""

    name: str  # of the source file or program, for messages
    level: str  # "O0" ... "O3", "Os", "Oz": what its code generation will run at
    options: DriverOptions = DriverOptions()
    seconds: float | None = None  # of search, by the clock; None: as `evaluations` or `until` says
    until: float | None = None  # when the search has to end, by the clock
    evaluations: int | None = None  # of search
    patience: int | None = None  # evaluations in a row without a better trace after which it ends
    code_share: float = CODE_SHARE  # of the budget, that passes leave to code generation; 0: passes alone
    code_growth: float = 1.0  # the most code and read-only data, in units of the level's own
    begin: tuple[str, ...] = ()  # a trace that the search begins with, if any
    clock: Clock = PROCESSORS

    @property
    def objective(self) -> str:
        """One of OBJECTIVES."""
        return self.options.objective or DEFAULT_OBJECTIVE

    @property
    def remembered(self) -> bool:
        """Whether to try what the memory has, and no more."""
        return self.options.budget.remembered

    def forked(self) -> Request:
        """Return the request for a process that is forked now: its own clock goes on from here."""
        return replace(self, clock=self.clock.forked())

    def from_now(self) -> Request:
        """Return the request whose seconds count from now, and not from when a search begins."""
        if self.until is not None or self.seconds is None:
            return self
        return replace(self, until=self.clock.now() + self.seconds)

    def divided(self) -> tuple[Request, Request | None]:
        """Return what is asked of passes, and what of code generation, which has the rest of the budget."""
        if not self.code_share:
            return self, None
        whole = passes = code = self.from_now()
        if whole.until is not None:
            now = self.clock.now()
            passes = replace(whole, until=now + (1 - self.code_share) * max(0.0, whole.until - now))
        if self.evaluations is not None:
            first = max(1, math.ceil((1 - self.code_share) * self.evaluations))
            passes = replace(passes, evaluations=first)
            code = replace(code, evaluations=max(1, self.evaluations - first))
        return passes, code


@dataclass(frozen=True)
class Attempt:
    """A module after its passes, and its object where burnish generated the code, too."""

    bitcode: bytes = field(repr=False)
    trace: tuple[str, ...]
    evaluations: int  # of the search that found it
    run_time: Mapping[str, float] = field(default_factory=dict)
    """What a call of each function is expected to cost by the level's own passes; {}: it is not known."""
    crashes: int = 0  # of the compiler in that search
    code: bytes | None = field(default=None, repr=False)  # the object; None: clang is to generate it


# Takes the front end's bitcode, before any pass; may raise KeptReference.
Optimizer = Callable[[bytes, Request], Attempt]


class KeptReference(Exception):
    """Why clang's object stays."""

    def __init__(self, why: str, evaluations: int = 0, crashes: int = 0) -> None:
        super().__init__(why)
        self.evaluations = evaluations  # of the search that found nothing
        self.crashes = crashes  # of the compiler in that search
