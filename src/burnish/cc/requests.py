"""The options of a drop-in compiler, the requests to its optimizer, and the answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.cc.file_budget import CODE_SHARE, DEFAULT, FileBudget
from burnish.core.clock import PROCESSORS, Clock
from burnish.files import default_cache

if TYPE_CHECKING:
    from burnish import _native
    from burnish.llvm.modules.origin import CallCosts

DEFAULT_OBJECTIVE = "loaded-bytes"
SPEED_LIMIT = 1.05  # the longest expected run time, in units of clang's own
STACK_LIMIT = 1.5  # the same for the stack of a call, on other machines: those without memory to spare
VARIANTS_SHARE = 0.5  # of a budget, at most, for the search of variants before other searches
VARIATIONS_SHARE = 0.6  # of the rest, for variations at each function
LEFT_FOR_PASSES = 0.25  # of a budget in seconds, at least, for a search of passes after one of variants
OBJECTIVES = (DEFAULT_OBJECTIVE, "text-bytes", "ir-instructions")


def default_memory() -> Path:
    """Return the memory that all builds of a user share."""
    return default_cache() / "cc.memory"


@dataclass(frozen=True)
class Compiled:
    """clang's part of a command, already run."""

    clang_seconds: float  # processor time
    ended: float  # when clang ended, by the clock
    written: frozenset[Path]  # outputs that clang wrote; the launcher leaves out those not worth a search
    clock: Clock = PROCESSORS  # measures burnish's part


@dataclass(frozen=True)
class DriverOptions:
    """burnish's own options of a drop-in compiler."""

    objective: str | None = None  # None: loaded-bytes, and only at -Os and -Oz
    speed_limit: float | None = SPEED_LIMIT  # for loaded-bytes, in units of clang's run time; None: no limit
    stack_limit: float | None = None  # the same for the stack of a call; None: STACK_LIMIT for other machines
    ram_limit: float | None = None  # the same for writable data
    budget: FileBudget = DEFAULT  # for each file
    build_seconds: float | None = None  # search time for a whole build, instead of `budget`
    search: str | None = None  # None: the optimizer's default
    policy: str | None = None  # None: the one that is shipped for the objective
    inline_policy: str | None = None  # file of a policy for LLVM's inliner; None: LLVM's heuristic
    evict_policy: str = ""  # file of a policy for the register allocator's evictions; "": LLVM's heuristic
    decides_code: bool = True  # search code generation, too; False: clang's is used
    memory: Path | None = None  # see burnish.cc.kept and burnish.search.memory
    remembers: bool = True  # False: not even in the memory of all builds
    memory_error: str = ""  # why the memory of all builds cannot be used
    lock: Path | None = None  # see burnish.cc.lock
    seed: int = 0
    log: Path | None = None  # None: the user's build log
    whole_program: bool = False  # see burnish.cc.link
    gnu: Path | None = None  # the user's GNU compiler; None: clang
    clang: Path | None = None  # the user's clang; None: burnish's
    # the options that objects depend on, as the user gave them
    words: tuple[str, ...] = field(default=(), compare=False)
    compiled: Compiled | None = None  # None: clang, or the user's compiler, has not run yet
    direct: bool = field(default=False, compare=False)  # see burnish.cc.direct
    caller: int | None = None  # the launcher's process, which the build started; None: this one

    @property
    def limits_calls(self) -> bool:
        """True if a limit needs the costs of calls in the level's own code."""
        return self.speed_limit is not None or self.stack_limit is not None

    @property
    def searches_code(self) -> bool:
        """True if code generation is searched, too, given enough time."""
        return self.decides_code and self.objective != "ir-instructions"


@dataclass(frozen=True)
class Request:
    """A request to optimize one module: the user's options, and a part of the budget."""

    name: str  # of the source file or program, for messages
    level: str  # of its passes: "O0" ... "O3", "Os", "Oz"
    options: DriverOptions = DriverOptions()
    seconds: float | None = None  # of search, by the clock; None: see `evaluations` and `until`
    until: float | None = None  # the end of the search, by the clock
    spare_seconds: float = 0.0  # after that, where clang need not generate the code
    evaluations: int | None = None  # the most in the search
    patience: int | None = None  # the search ends after this many evaluations in a row without a gain
    code_share: float = CODE_SHARE  # part of the budget for code generation; 0: passes only
    short_code: bool = False  # few code generations of the module instead of a search
    level_bitcode: bytes | None = field(default=None, repr=False)  # after the level's own passes, if known
    processes: int = 1  # trials of a short search at the same time
    code_growth: float = 1.0  # the most code and read-only data, in units of the level's result
    begin: tuple[str, ...] = ()  # the search's first trace, if any
    clock: Clock = PROCESSORS

    @property
    def objective(self) -> str:
        """The objective, one of OBJECTIVES."""
        return self.options.objective or DEFAULT_OBJECTIVE

    @property
    def remembered(self) -> bool:
        """True if only remembered results are tried, without a search."""
        return self.options.budget.remembered

    @property
    def begins_with_variants(self) -> bool:
        """True if a short search comes first: of passes and code, where the user asks for no other one."""
        chosen = (self.options.search, self.options.policy, self.options.inline_policy)
        asked = any(chosen) or self.options.evict_policy or self.begin
        return bool(self.code_share) and not asked

    def for_variants(self) -> Request:
        """Return the request of a short search, which is all of a short budget, and a part of others."""
        if self.short_code:
            whole = self.from_now()
            return whole if whole.until is None else replace(whole, until=whole.until + self.spare_seconds)
        return self._part(VARIANTS_SHARE)

    def after_variants(self) -> Request | None:
        """Return the request of the searches after a short one; None if that used most of a short budget.

        A budget in seconds is time that the user wants used; a multiple of clang's time is the most to take.
        """
        if not self.short_code:
            return self
        used = self.seconds is None or self.seconds_left() < LEFT_FOR_PASSES * self.seconds
        return None if used else self

    def for_variations(self) -> Request:
        """Return the request of variations at each function after a short search."""
        return self._part(VARIATIONS_SHARE)

    def _part(self, share: float) -> Request:
        """Return the request with a share of the time and of the evaluations that are left."""
        part = self.from_now()
        if part.until is not None:
            now = self.clock.now()
            part = replace(part, until=now + share * max(0.0, part.until - now))
        if part.evaluations is not None:
            part = replace(part, evaluations=math.ceil(share * part.evaluations))
        return part

    def seconds_left(self) -> float:
        """Return the seconds until the search ends, below 0 after that; infinity if time does not end it."""
        return math.inf if self.until is None else self.until - self.clock.now()

    def forked(self) -> Request:
        """Return the request for a process that is forked now; its clock continues from here."""
        return replace(self, clock=self.clock.forked())

    def from_now(self) -> Request:
        """Return the request with its seconds counted from now, not from the start of a search."""
        if self.until is not None or self.seconds is None:
            return self
        return replace(self, until=self.clock.now() + self.seconds)

    def divided(self) -> tuple[Request, Request | None]:
        """Return the requests for passes and for code generation, which gets the rest of the budget."""
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
class Emitted:
    """An object that burnish's back end makes of a module without decisions, and the costs of its calls."""

    code: bytes = field(repr=False)
    calls: CallCosts = field(repr=False)
    seconds: float = field(default=0.0, compare=False)  # processor time; 0 if it was not measured


@dataclass(frozen=True)
class Attempt:
    """A module after its passes, and its object if burnish also generated the code."""

    bitcode: bytes = field(repr=False)
    trace: tuple[str, ...]
    evaluations: int  # of the search that found it
    calls: CallCosts | None = None  # after the level's own passes; None: not known
    crashes: int = 0  # of the compiler in that search
    code: bytes | None = field(default=None, repr=False)  # the object; None: clang will generate it
    emitted: Emitted | None = None  # of the bitcode; None: burnish's back end has not made it


# Takes calls and the most at a time; yields each result, or KeptReference for a call without one.
Steps = Callable[[Iterable[Callable[[], Any]], int], Iterator[Any]]


@dataclass(frozen=True)
class Start:
    """A module before any pass, and what is known of it after the level's own passes."""

    bitcode: bytes = field(repr=False)
    command: tuple[str, ...]  # of clang -cc1, with the options of code generation
    finish: Callable[[_native.Module], bool]  # see burnish.cc.object_trials.ObjectTrials
    own: bytes | None = field(default=None, repr=False)  # the object after the level's passes
    level: Attempt | None = field(default=None, repr=False)  # the module after them, with its object
    level_bitcode: bytes | None = field(default=None, repr=False)  # the same before `finish`
    steps: Steps | None = None  # makes trials in other processes: Guard.steps


# Takes the front end's bitcode, before any pass; may raise KeptReference.
Optimizer = Callable[[bytes, Request], Attempt]


class KeptReference(Exception):
    """The reason why clang's object stays."""

    def __init__(self, why: str, evaluations: int = 0, crashes: int = 0) -> None:
        super().__init__(why)
        self.evaluations = evaluations  # of the search that found nothing
        self.crashes = crashes  # of the compiler in that search
        self.level: Attempt | None = None  # the module after the level's own passes, if the search knows it


class LeftToClang(KeptReference):
    """The reason why burnish's back end does not make a command's objects."""
