"""One LLVM module, open in LLVM's pass managers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import CompilerCrash, InputError, ProgramError, UnknownName
from burnish.core.program import Program
from burnish.core.session import Mask, Observed, Session
from burnish.core.trace import WHOLE_PROGRAM
from burnish.tasks.llvm_passes.actions import ACTIONS, PASSES
from burnish.tasks.llvm_passes.objectives import OBJECTIVES
from burnish.tasks.llvm_passes.observations import OBSERVATIONS, observe

_EVERYWHERE: Mask = np.ones(len(PASSES), dtype=bool)
_AT_FUNCTION: Mask = np.array([item.function_pipeline is not None for item in PASSES])
_NOWHERE: Mask = np.zeros(len(PASSES), dtype=bool)


@dataclass(frozen=True)
class Options:
    """How a module is opened, and for what its code is generated."""

    level: str = "Oz"
    """Whose function attributes, pipeline tuning and code generation apply: O0 ... O3, Os, Oz."""
    always_inline: bool = True
    """Honour `always_inline` first, as clang does at every level. Without it, a file that relies on
    it seems to shrink when nothing was optimized: such figures do not compare with clang's."""
    cpu: str = "x86-64"  # for functions that do not name their own


class ModuleSession(Session):
    """A session over one LLVM module. Sites are its functions with a body.

    The only state beside the module is the trace: every action runs with empty analysis managers,
    so a state is the same whether it was reached step by step, in one pipeline or after a fork.
    """

    def __init__(self, module: _native.Module, options: Options) -> None:
        super().__init__(ACTIONS)
        self.module = module
        self.options = options
        self._applied: list[int] = []
        self._counts: NDArray[np.int64] | None = None  # of the current state, as is
        self._sizes: _native.Sizes | None = None

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Every pass applies to the program; function and loop passes apply to a function."""
        if site == WHOLE_PROGRAM:
            return _EVERYWHERE.copy()
        return (_AT_FUNCTION if self.module.has_function(site) else _NOWHERE).copy()

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Run one pass on the module or on one function."""
        if not (0 <= action < len(PASSES)) or site != WHOLE_PROGRAM:
            self.check_legal(action, site)
        item = PASSES[action]
        try:
            if site == WHOLE_PROGRAM or item.function_pipeline is None:
                changed = self.module.run(item.pipeline, self.options.level)
            else:
                changed = self.module.run(item.function_pipeline, self.options.level, [site])
        except _native.FatalError as error:
            raise CompilerCrash(f"{item.text}: {error}") from None
        self._counts = self._sizes = None  # even where LLVM reports no change: some passes forget to
        self._applied.append(action)
        self.record(action, site)
        return changed

    def observe(self, space: str) -> Observed:
        """Return one of OBSERVATIONS."""
        if space == "opcode-counts":
            return self.opcode_counts().copy()
        try:
            return observe(self.module, space, self._applied)
        except KeyError:
            raise UnknownName.among("observation", space, OBSERVATIONS) from None

    def measure(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return one of OBJECTIVES, of the module (at least 1) or of one function (0 without code)."""
        if site != WHOLE_PROGRAM:
            return self.site_costs(objective).get(site, 0.0)
        match objective:
            case "ir-instructions":
                return float(max(1, self.opcode_counts()[0]))
            case "text-bytes":
                return float(max(1, self.sizes().text_bytes))
        raise UnknownName.among("objective", objective, OBJECTIVES)

    def site_costs(self, objective: str) -> dict[str, float]:
        """Return each function's instructions, or the bytes of its symbol."""
        match objective:
            case "ir-instructions":
                pairs = self.module.instruction_count_by_function()
            case "text-bytes":
                pairs = self.sizes().functions
            case _:
                raise UnknownName.among("objective", objective, OBJECTIVES)
        return {name: float(cost) for name, cost in pairs}

    def sites(self) -> tuple[str, ...]:
        """Return the functions' names, the largest first."""
        counts = self.module.instruction_count_by_function()
        return tuple(name for name, _ in sorted(counts, key=lambda pair: (-pair[1], pair[0])))

    def digest(self) -> str:
        """Return the digest of the module's bitcode with use-list orders."""
        return self.module.digest()

    def fork(self) -> ModuleSession:
        """Clone by bitcode: LLVM's CloneModule does not always continue identically."""
        copy = ModuleSession(self.module.clone(), self.options)
        copy.trace = list(self.trace)
        copy._applied = list(self._applied)
        copy._counts, copy._sizes = self._counts, self._sizes
        return copy

    def opcode_counts(self) -> NDArray[np.int64]:
        """Return int64[70]: totals and the count of each opcode in this state."""
        if self._counts is None:
            self._counts = self.module.opcode_counts()
        return self._counts

    def sizes(self) -> _native.Sizes:
        """Return the sizes of the object that the back end makes of this state."""
        if self._sizes is None:
            self._sizes = _native.object_sizes(self.emit_object())
        return self._sizes

    def emit_object(self) -> bytes:
        """Return the object file that the back end makes of this state."""
        try:
            return self.module.emit_object(self.options.level, self.options.cpu)
        except _native.FatalError as error:
            raise CompilerCrash(f"code generation: {error}") from None
        except _native.PipelineError as error:  # no such CPU
            raise InputError(str(error)) from None

    def verify(self) -> str:
        """Run LLVM's verifier."""
        try:
            self.module.verify()
        except _native.FatalError as error:
            raise CompilerCrash(str(error)) from None
        return "LLVM's verifier"


def read_module(program: Program) -> _native.Module:
    """Parse and verify a program's bitcode or IR text.

    Raises:
        ProgramError: it cannot be read, or is for another machine.
    """
    try:
        return _native.Module(program.content, program.name)
    except _native.InputError as error:
        raise ProgramError(f"{program.name}: {error}") from None
    except _native.FatalError as error:
        raise ProgramError(f"{program.name}: LLVM cannot read this: {error}") from None


def open_session(program: Program, options: Options = Options()) -> ModuleSession:
    """Open a program as clang's front end leaves it at the options' level, before any optimization.

    Raises:
        ProgramError: it cannot be read, is for another machine, or LLVM gives up on its mandatory passes.
        InputError: there is no such level.
    """
    module = read_module(program)
    try:
        module.set_level_attributes(options.level)
        if options.always_inline:
            module.honour_mandatory()
    except _native.PipelineError as error:
        raise InputError(str(error)) from None
    except _native.FatalError as error:
        raise ProgramError(f"{program.name}: {error}") from None
    return ModuleSession(module, options)


def open_baseline(program: Program, level: str, cpu: str = "x86-64") -> ModuleSession:
    """Open a program in the state that clang's own -O level leads to.

    Raises:
        ProgramError: it cannot be read, or is for another machine.
        InputError: there is no such level.
        CompilerCrash: LLVM gives up on it.
    """
    module = read_module(program)
    try:
        module.set_level_attributes(level)
        module.run(f"clang<{level}>", level)
    except _native.PipelineError as error:
        raise InputError(str(error)) from None
    except _native.FatalError as error:
        raise CompilerCrash(f"-{level}: {error}") from None
    return ModuleSession(module, Options(level=level, cpu=cpu))
