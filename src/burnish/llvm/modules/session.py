"""A session over one LLVM module, on which LLVM's pass managers run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.action import action_number
from burnish.core.errors import CompilerCrash, InputError, ProgramError, UnknownName
from burnish.core.objective import parse_objective
from burnish.core.program import Program
from burnish.core.session import Part, Session
from burnish.core.task import Opener
from burnish.core.trace import WHOLE_PROGRAM, split_entry
from burnish.core.view import Mask, Observed
from burnish.llvm.modules.module import (
    back_end_of,
    clone_module,
    emit_described,
    emit_object,
    object_sizes,
    read_module,
    run_pass,
)
from burnish.llvm.modules.objectives import (
    CODE_PRICE,
    OBJECTIVES,
    SIZES,
    size_cost,
    size_shares,
    slowdown,
    slowdown_of_part,
    slowdowns,
    stack_shares,
)
from burnish.llvm.modules.observations import OBSERVATIONS, observe
from burnish.llvm.modules.origin import CallCosts, Options, Origin, ReferenceSizes, prepare, run_level
from burnish.llvm.modules.passes import ACTIONS, indices, legal_masks
from burnish.llvm.run.processor import description
from burnish.llvm.run.profile import profile
from burnish.llvm.run.stopwatch import REPEATS, Stopwatch
from burnish.llvm.toolchain import LEVELS, is_native


class ModuleSession(Session):
    """A session over one LLVM module. Sites are its functions with a body.

    The only state beside the module is the trace. Every action runs with empty analysis managers. So the same
    trace gives the same state step by step, in one pipeline or after a fork.
    """

    prices: ClassVar[Mapping[str, float]] = {"code-growth": CODE_PRICE}

    def __init__(
        self, module: _native.Module, options: Options, origin: Origin, stopwatch: Stopwatch | None = None
    ) -> None:
        self._passes = np.array(indices(options.without))  # index in `actions` -> index in PASSES
        self._legal, self._at_function = legal_masks(self._passes, module.has_back_end)
        super().__init__([ACTIONS[i] for i in self._passes])
        self.module = module
        self.options = options
        self.origin = origin
        self._stopwatch = stopwatch
        self._applied: list[int] = []
        self._counts: NDArray[np.int64] | None = None  # of the current state, as are the next three
        self._sizes: _native.Sizes | None = None
        self._object: bytes | None = None
        self._call_costs: CallCosts | None = None

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return the legal passes: all for the program, function and loop passes for a site.

        Passes of NEED_BACK_END may be illegal.
        """
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
        # even if LLVM reports no change: some passes change the module and do not report it
        self._counts = self._sizes = self._object = self._call_costs = None
        self._applied.append(number)
        self.record(action, site)
        return changed

    def _run(self, number: int, site: str) -> bool:
        known = self.origin.level_bitcode
        if known is not None and not self._applied and (ACTIONS[number],) == self.origin.reference:
            self.module = read_module(replace(self.origin.program, content=known))
            return True
        return run_pass(self.module, number, site, self.options.level)

    def observe(self, space: str) -> Observed:
        """Return one of OBSERVATIONS."""
        if space == "opcode-counts":
            return self.opcode_counts().copy()
        if space == "cpu":
            native = is_native(self.module.triple)
            return description(self.options.cpu or ("x86-64" if native else self.module.triple))
        if space == "runnable":
            return np.array([self.origin.program.workload is not None], dtype=np.int64)
        try:
            return observe(self.module, space, self._applied, self.options.level, self.options.cpu)
        except KeyError:
            raise UnknownName.among("observation", space, OBSERVATIONS) from None

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return one of OBJECTIVES, of the module or of one function (0 if it has no code of its own).

        Raises:
            UnknownName: there is no such objective.
            InputError: the objective needs a run, and the program has no workload.
            MissingTool: the objective needs a hardware counter that the machine lacks.
            Miscompiled: the program behaves differently from its unoptimized version.
        """
        if site != WHOLE_PROGRAM:
            return self.costs(objective).get(site, 0.0)
        match objective:
            case "ir-instructions":
                return float(max(1, self.opcode_counts()[0]))
            case "slowdown":
                return slowdown(self.costs(objective), self.call_costs(), self.reference_calls())
            case "seconds" | "cycles" | "instructions":
                return self.stopwatch().measure(self.object_code(), objective)
            case "compile-seconds":
                return min(self.compile_seconds() for _ in range(REPEATS))
            case "stack-bytes" | "stack-growth":
                return max((1.0, *self.costs(objective).values()))
        return size_cost(objective, self.sizes(), self.reference_sizes)

    def costs(self, objective: str) -> dict[str, float]:
        """Return each function's share of an objective; {} for an objective without shares.

        ir-instructions: its instructions; the sizes: see `size_shares`; slowdown: see `slowdowns`.
        """
        match objective:
            case "ir-instructions":
                pairs = self.module.instruction_count_by_function()
                return {name: float(share) for name, share in pairs}
            case "slowdown":
                return slowdowns(self.call_costs(), self.reference_calls())
            case "stack-bytes" | "stack-growth":
                return stack_shares(objective, self.call_costs(), self.reference_calls)
            case _ if objective in SIZES:
                return size_shares(objective, self.sizes(), self.reference_sizes)
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        return {}

    def compile_seconds(self) -> float:
        """Compile the program once more, and return the CPU seconds of this thread.

        The time covers all steps from the front end's module to the object: the preparation of the module
        (attributes, always_inline; for a baseline its pipeline), every pass of the trace as `apply` runs it,
        with no analysis kept between passes, and code generation with its copy of the module.
        """
        module = read_module(self.origin.program)
        start = time.thread_time()
        self.origin.prepare(module)
        for text in self.trace:
            site, action = split_entry(text)
            run_pass(module, ACTIONS.index(action), site, self.options.level)
        emit_object(module, self.options.level, self.options.cpu)
        return time.thread_time() - start

    @property
    def back_end(self) -> _native.BackEnd:
        """The settings of code generation, new for each caller."""
        return back_end_of(self.module, self.options.level, self.options.cpu)

    def sites(self) -> tuple[str, ...]:
        """Return the functions' names, largest function first."""
        counts = self.module.instruction_count_by_function()
        return tuple(name for name, _ in sorted(counts, key=lambda pair: (-pair[1], pair[0])))

    def identities(self) -> dict[str, str]:
        """Return LLVM's structural hash of each function (llvm/IR/StructuralHash.h), detailed."""
        return {name: f"{value:016x}" for name, value in self.module.structural_hashes()}

    def digest(self) -> str:
        """Return the digest of the module's bitcode with use-list orders."""
        return self.module.digest()

    def fork(self) -> ModuleSession:
        """Clone by bitcode, because passes may act differently on a copy by LLVM's CloneModule."""
        copy = self._with(clone_module(self.module))
        copy.trace = list(self.trace)
        copy._applied = list(self._applied)
        copy._counts, copy._sizes = self._counts, self._sizes
        copy._object, copy._call_costs = self._object, self._call_costs
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
            if (found := known.get(digest)) is None:  # code generation takes 50 times as long as a digest
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

    def generated(self) -> tuple[bytes, CallCosts] | None:
        """Return this state's object and costs of calls if they are known; None: code has to be generated."""
        digest = self.digest()
        code, calls = self.origin.objects.get(digest), self.origin.call_costs.get(digest)
        return (code, calls) if code and calls else None

    def call_costs(self) -> CallCosts:
        """Return the costs of calls by this state's machine code."""
        if self._call_costs is None:
            self._call_costs = self.origin.call_costs.get(self.digest()) or self._emit()
        return self._call_costs

    def _emit(self) -> CallCosts:
        made = emit_described(self.module, self.options.level, self.options.cpu)
        self._object, self._call_costs = made.object, CallCosts.of(made)
        digest = self.digest()
        self.origin.call_costs.put(digest, self._call_costs)
        self.origin.objects.put(digest, self._object)
        return self._call_costs

    def reference_calls(self) -> CallCosts:
        """Return `call_costs` of the reference; a baseline is its own reference."""
        origin = self.origin
        if origin.reference is None:
            return self.call_costs()
        if origin.reference_calls is None:
            costs = self._reference().call_costs()
            times = {name: time / origin.slowdown for name, time in costs.of_call.items()}
            counted = {name: time / origin.slowdown for name, time in costs.counted.items()}
            origin.reference_calls = replace(costs, of_call=times, counted=counted, divisor=origin.slowdown)
        return origin.reference_calls

    def reference_sizes(self) -> ReferenceSizes:
        """Return the sizes of the reference's object; a baseline is its own reference."""
        if self.origin.reference is None:
            return ReferenceSizes.of(self.sizes(), self.module)
        if self.origin.reference_sizes is None:
            reference = self._reference()
            self.origin.reference_sizes = ReferenceSizes.of(reference.sizes(), reference.module)
        return self.origin.reference_sizes

    def _reference(self) -> ModuleSession:
        """Return the reference state: this session if it is in that state, or a new session."""
        assert self.origin.reference is not None
        if self._is_reference():
            return self
        module = read_module(self.origin.program)
        self.origin.prepare(module)
        for text in self.origin.reference:
            module.run(text, self.options.level)  # not an action at -O0
        return ModuleSession(module, self.options, self.origin)

    def _is_reference(self) -> bool:
        return tuple(self.trace) == self.origin.reference

    def part(self, site: str, objective: str) -> Part | None:
        """Return one function as a program that only declares the others; it compiles to the same code."""
        names = parse_objective(objective).names
        ratio = 1.0
        if "slowdown" in names:
            ratio = slowdown_of_part(site, self.call_costs(), self.reference_calls())
        try:
            content = self.module.part_bitcode(site)
        except (_native.FatalError, _native.PipelineError):
            return None
        opener = partial(open_part, options=self.options, slowdown=ratio)
        return Part(opener, Program(f"{self.origin.program.name}: {site}", "llvm", content), site)

    def stopwatch(self) -> Stopwatch:
        """Return the stopwatch that times the program; all forks share it."""
        if self._stopwatch is None:
            raise _no_workload(self.origin.program, "run")
        return self._stopwatch

    def verify(self) -> str:
        """Run LLVM's verifier."""
        try:
            self.module.verify()
        except _native.FatalError as error:
            raise CompilerCrash(str(error)) from None
        return "LLVM's verifier"


def open_session(
    program: Program, options: Options = Options(), level_bitcode: bytes | None = None
) -> ModuleSession:
    """Open a program as clang's front end leaves it at the options' level, before any optimization.

    `level_bitcode` is the program after the level's own passes, if known; then they need not run again.

    Raises:
        ProgramError: the program cannot be read, or LLVM fails in its mandatory passes.
        InputError: there is no such level, or the program has no runs that a profile can be taken of.
    """
    try:
        if options.profile:
            program = profiled(program)
        origin = Origin(program, partial(prepare, options=options), (f"clang<{options.level}>",))
        origin.level_bitcode = level_bitcode
        return _open(origin, options)
    except _native.FatalError as error:
        raise ProgramError(f"{program.name}: {error}") from None


@lru_cache(maxsize=8)  # a task opens its program again and again
def profiled(program: Program) -> Program:
    """Return the program with a profile of its own runs.

    Raises:
        InputError: it has no workload, or a run writes no counts.
    """
    if not program.workload:
        raise _no_workload(program, "profiled")
    module = read_module(program)
    profile(module, program.workload)
    return replace(program, content=module.bitcode())


def _no_workload(program: Program, wanted: str) -> InputError:
    return InputError(
        f"{program.name}: this program has no workload, so it cannot be {wanted}; "
        "give its arguments with burnish optimize --run, or choose one of the kernels"
    )


def open_part(program: Program, options: Options, slowdown: float) -> ModuleSession:
    """Open a part from ModuleSession.part, without preparation; its reference is this first state.

    `slowdown` is the function's expected time in the part, in units of its time in the program's reference.
    """
    return _open(Origin(program, lambda module: None, (), slowdown), options)


def open_baseline(program: Program, level: str, cpu: str = "") -> ModuleSession:
    """Open a program in the state after clang's own -O pipeline."""
    try:
        return _open(Origin(program, partial(run_level, level=level), None), Options(level=level, cpu=cpu))
    except _native.FatalError as error:
        raise CompilerCrash(f"-{level}: {error}") from None


def baselines(cpu: str) -> dict[str, Opener]:
    """Return, by level, an opener of the state after clang's -O pipeline.

    Passes, attributes and code generation are those of clang 23: the object files are equal to clang's
    (tests/tasks/llvm_passes/test_baselines.py). There is one exception: at -O0, clang's front end emits
    different code. For clang's exact -O0 of a C or C++ file, open the front end's module for -O0.
    """
    return {level: partial(open_baseline, level=level, cpu=cpu) for level in LEVELS}


def _open(origin: Origin, options: Options) -> ModuleSession:
    program, module = origin.program, read_module(origin.program)
    try:
        origin.prepare(module)
    except _native.PipelineError as error:
        raise InputError(str(error)) from None
    if not program.workload:
        return ModuleSession(module, options, origin)

    def unoptimized() -> bytes:
        return open_baseline(program, "O0", options.cpu).object_code()

    return ModuleSession(module, options, origin, Stopwatch(program.workload, unoptimized))
