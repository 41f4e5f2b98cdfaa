"""One LLVM module, open in LLVM's pass managers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.action import action_number
from burnish.core.errors import CompilerCrash, InputError, ProgramError, UnknownName
from burnish.core.objective import parse_objective
from burnish.core.program import Program
from burnish.core.session import Part, Session
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed
from burnish.llvm.run.stopwatch import Stopwatch
from burnish.tasks.llvm_passes.actions import ACTIONS, indices, legal_masks
from burnish.tasks.llvm_passes.modules import (
    clone_module,
    emit_described,
    object_sizes,
    read_module,
    run_pass,
)
from burnish.tasks.llvm_passes.objectives import CODE_PRICE, cost, costs
from burnish.tasks.llvm_passes.observations import OBSERVATIONS, observe
from burnish.tasks.llvm_passes.origin import Options, Origin, ReferenceSizes, RunTimes, prepare, run_level


class ModuleSession(Session):
    """A session over one LLVM module. Sites are its functions with a body.

    The only state beside the module is the trace: every action runs with empty analysis managers,
    so a state is the same whether it was reached step by step, in one pipeline or after a fork.
    """

    prices: ClassVar[Mapping[str, float]] = {"code-growth": CODE_PRICE}

    def __init__(
        self, module: _native.Module, options: Options, origin: Origin, stopwatch: Stopwatch | None = None
    ) -> None:
        self._passes = np.array(indices(options.without))  # number in `actions` -> in PASSES
        self._legal, self._at_function = legal_masks(self._passes, module.has_back_end)
        super().__init__([ACTIONS[i] for i in self._passes])
        self.module = module
        self.options = options
        self.origin = origin
        self._stopwatch = stopwatch
        self._applied: list[int] = []
        self._counts: NDArray[np.int64] | None = None  # of the current state, as is
        self._sizes: _native.Sizes | None = None
        self._object: bytes | None = None
        self._run_times: RunTimes | None = None

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Every pass applies to the program, function and loop passes to a function; see NEED_BACK_END."""
        if site == WHOLE_PROGRAM:
            return self._legal.copy()
        if not self.module.has_function(site):
            return np.zeros(len(self.actions), dtype=bool)
        return self._at_function.copy()

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Run one pass on the module or on one function."""
        action = action_number(action, self.actions)
        if site != WHOLE_PROGRAM or not self._legal[action]:
            self.check_legal(action, site)
        number = int(self._passes[action])
        changed = self._run(number, site)
        # even where LLVM reports no change: some passes forget to
        self._counts = self._sizes = self._object = self._run_times = None
        self._applied.append(number)
        self.record(action, site)
        return changed

    def _run(self, number: int, site: str) -> bool:
        return run_pass(self.module, number, site, self.options.level)

    def observe(self, space: str) -> Observed:
        """Return one of OBSERVATIONS."""
        if space == "opcode-counts":
            return self.opcode_counts().copy()
        try:
            return observe(self.module, space, self._applied)
        except KeyError:
            raise UnknownName.among("observation", space, OBSERVATIONS) from None

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return one of OBJECTIVES, of the module or of one function (0 without code of its own)."""
        return cost(self, objective) if site == WHOLE_PROGRAM else self.costs(objective).get(site, 0.0)

    def costs(self, objective: str) -> dict[str, float]:
        """Return each function's share of an objective that has such shares; see objectives.costs."""
        return costs(self, objective)

    def sites(self) -> tuple[str, ...]:
        """Return the functions' names, the largest first."""
        counts = self.module.instruction_count_by_function()
        return tuple(name for name, _ in sorted(counts, key=lambda pair: (-pair[1], pair[0])))

    def identities(self) -> dict[str, str]:
        """Return LLVM's structural hash of each function (llvm/IR/StructuralHash.h), detailed."""
        return {name: f"{value:016x}" for name, value in self.module.structural_hashes()}

    def digest(self) -> str:
        """Return the digest of the module's bitcode with use-list orders."""
        return self.module.digest()

    def fork(self) -> ModuleSession:
        """Clone by bitcode: LLVM's CloneModule does not always continue identically."""
        copy = self._with(clone_module(self.module))
        copy.trace = list(self.trace)
        copy._applied = list(self._applied)
        copy._counts, copy._sizes = self._counts, self._sizes
        copy._object, copy._run_times = self._object, self._run_times
        return copy

    def _with(self, module: _native.Module) -> ModuleSession:
        return ModuleSession(module, self.options, self.origin, self._stopwatch)

    def opcode_counts(self) -> NDArray[np.int64]:
        """Return int64[70]: totals and the count of each opcode in this state."""
        if self._counts is None:
            self._counts = self.module.opcode_counts()
        return self._counts

    def sizes(self) -> _native.Sizes:
        """Return the sizes of the object that the back end makes of this state."""
        if self._sizes is None:
            known, digest = self.origin.sizes, self.digest()
            if (found := known.get(digest)) is None:  # generating code takes fifty times as long as a digest
                found = object_sizes(self.object_code(), self.module)
                known.put(digest, found)
            self._sizes = found
        return self._sizes

    def object_code(self) -> bytes:
        """Return the object file that the back end makes of this state."""
        if self._object is None:
            self._emit()
        assert self._object is not None
        return self._object

    def run_times(self) -> RunTimes:
        """Return what is expected of this state's machine code when it runs.

        Raises:
            CompilerCrash: LLVM gives up.
        """
        if self._run_times is None:
            self._run_times = self.origin.run_times.get(self.digest()) or self._emit()
        return self._run_times

    def _emit(self) -> RunTimes:
        made = emit_described(self.module, self.options.level, self.options.cpu)
        self._object, self._run_times = made.object, RunTimes.of(made)
        self.origin.run_times.put(self.digest(), self._run_times)
        return self._run_times

    def run_time(self) -> Mapping[str, float]:
        """Return what a call of each function is expected to cost in this state."""
        return self.run_times().of_call

    def reference_run_time(self) -> Mapping[str, float]:
        """Return the same of the reference; a baseline is its own."""
        if self.origin.reference is None:
            return self.run_time()
        if self.origin.run_time is None:
            costs = self._reference().run_time().items()
            self.origin.run_time = {name: cost / self.origin.slowdown for name, cost in costs}
        return self.origin.run_time

    def reference_gotos(self) -> Mapping[str, int]:
        """Return the places of the reference's computed gotos; see computed_gotos.py."""
        if self.origin.reference is None:
            return self.run_times().gotos
        if self.origin.reference_gotos is None:
            self.origin.reference_gotos = self._reference().run_times().gotos
        return self.origin.reference_gotos

    def reference_sizes(self) -> ReferenceSizes:
        """Return the sizes of the reference's object; a baseline is its own reference."""
        if self.origin.reference is None:
            return ReferenceSizes.of(self.sizes(), self.module)
        if self.origin.reference_sizes is None:
            reference = self._reference()
            self.origin.reference_sizes = ReferenceSizes.of(reference.sizes(), reference.module)
        return self.origin.reference_sizes

    def _reference(self) -> ModuleSession:
        """Return the state that the program is compared with: this one, or a new one."""
        assert self.origin.reference is not None
        if self._is_reference():
            return self
        module = read_module(self.origin.program)
        self.origin.prepare(module)
        for text in self.origin.reference:
            run_pass(module, ACTIONS.index(text), WHOLE_PROGRAM, self.options.level)
        return ModuleSession(module, self.options, self.origin)

    def _is_reference(self) -> bool:
        return tuple(self.trace) == self.origin.reference

    def part(self, site: str, objective: str) -> Part | None:
        """Return one function with everything else declared, in which it is compiled as it is here."""
        names = parse_objective(objective).names
        slowdown = self.costs("slowdown").get(site, 1.0) if "slowdown" in names else 1.0
        slowdown = slowdown or 1.0  # what is expected to take no time any more is compared with itself
        try:
            content = self.module.part_bitcode(site)
        except (_native.FatalError, _native.PipelineError):
            return None
        opener = partial(open_part, options=self.options, slowdown=slowdown)
        return Part(opener, Program(f"{self.origin.program.name}: {site}", "llvm", content), site)

    def stopwatch(self) -> Stopwatch:
        """Return what times the program, shared with all forks.

        Raises:
            InputError: the program cannot be run.
        """
        if self._stopwatch is None:
            raise InputError(
                f"{self.origin.program.name}: this program has no workload, so it cannot be run; "
                "give its arguments with burnish optimize --run, or choose one of the kernels"
            )
        return self._stopwatch

    def verify(self) -> str:
        """Run LLVM's verifier."""
        try:
            self.module.verify()
        except _native.FatalError as error:
            raise CompilerCrash(str(error)) from None
        return "LLVM's verifier"


def open_session(program: Program, options: Options = Options()) -> ModuleSession:
    """Open a program as clang's front end leaves it at the options' level, before any optimization.

    Raises:
        ProgramError: it cannot be read, or LLVM gives up on its mandatory passes.
        InputError: there is no such level.
    """
    try:
        origin = Origin(program, partial(prepare, options=options), (f"clang<{options.level}>",))
        return _open(origin, options)
    except _native.FatalError as error:
        raise ProgramError(f"{program.name}: {error}") from None


def open_part(program: Program, options: Options, slowdown: float) -> ModuleSession:
    """Open what ModuleSession.part took out, as it is: that is what it is compared with, too.

    Args:
        program: The part.
        options: Of the session that it was taken from.
        slowdown: What the function is expected to take already, in units of the whole's reference.

    Raises:
        ProgramError: it cannot be read.
    """
    return _open(Origin(program, lambda module: None, (), slowdown), options)


def open_baseline(program: Program, level: str, cpu: str = "x86-64") -> ModuleSession:
    """Open a program in the state that clang's own -O level leads to.

    Raises:
        ProgramError: it cannot be read.
        InputError: there is no such level.
        CompilerCrash: LLVM gives up on it.
    """
    try:
        return _open(Origin(program, partial(run_level, level=level), None), Options(level=level, cpu=cpu))
    except _native.FatalError as error:
        raise CompilerCrash(f"-{level}: {error}") from None


def _open(origin: Origin, options: Options) -> ModuleSession:
    program, module = origin.program, read_module(origin.program)
    try:
        origin.prepare(module)
    except _native.PipelineError as error:
        raise InputError(str(error)) from None
    unoptimized = partial(_unoptimized_object, program, options.cpu)
    stopwatch = Stopwatch(program.workload, unoptimized) if program.workload else None
    return ModuleSession(module, options, origin, stopwatch)


def _unoptimized_object(program: Program, cpu: str) -> bytes:
    return open_baseline(program, "O0", cpu).object_code()
