"""A session: one LLVM module after its passes, and the decisions on its code generation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import UnknownName
from burnish.core.program import Program
from burnish.core.session import Part, Session
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed
from burnish.llvm.modules.objectives import (
    CODE_PRICE,
    SIZES,
    size_cost,
    size_shares,
    slowdown,
    slowdowns,
    stack_shares,
)
from burnish.llvm.modules.origin import CallCosts
from burnish.llvm.modules.origin import Options as ModuleOptions
from burnish.llvm.modules.session import ModuleSession, open_baseline, open_part
from burnish.llvm.targets import machine_of
from burnish.tasks.llvm_codegen.actions import (
    ACTIONS,
    EVICT,
    LLVMS_OWN,
    OUTLINE,
    FunctionDecisions,
    applies,
)
from burnish.tasks.llvm_codegen.evictions import EvictionPolicy, Evictions
from burnish.tasks.llvm_codegen.generations import Decided, ExecutedCosts, GeneratedCode, Generations
from burnish.tasks.llvm_codegen.objectives import OBJECTIVES
from burnish.tasks.llvm_codegen.observations import NOW, OBSERVATIONS, OF_MODULE, OPCODES


@dataclass(frozen=True)
class CodegenOptions:
    """Options for the pipeline before code generation, and for its target."""

    pipeline: str = "Oz"  # clang's level: Oz, Os, O1, O2 or O3
    cpu: str = ""  # for functions that do not name their own; "": the program's, or "x86-64"
    evict_policy: str = ""  # file of a policy of evictions, which adds the action EVICT

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions of sessions."""
        return (*ACTIONS, EVICT) if self.evict_policy else ACTIONS


class CodegenSession(Session):
    """A module and the decisions on its code generation. Sites are its functions with a body.

    A state is its decisions; code is generated when an observation or a cost needs it.
    """

    prices: ClassVar = {"code-growth": CODE_PRICE}

    def __init__(self, generations: Generations) -> None:
        super().__init__(ACTIONS if generations.evict is None else (*ACTIONS, EVICT))
        self.generations = generations
        self.others = LLVMS_OWN
        self.functions: dict[str, FunctionDecisions] = {}
        self.outline = 0  # see Decided

    @property
    def opened(self) -> ModuleSession:
        """The module that code is generated for."""
        return self.generations.opened

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return the legal actions: those of the machine, and OUTLINE only for the whole program."""
        everywhere, at_functions = _legal(self.actions, machine_of(self.opened.module.triple))
        return (
            everywhere.copy()
            if site == WHOLE_PROGRAM
            else at_functions & self.opened.module.has_function(site)
        )

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Decide for a function, or for all without own decisions; return whether that is a change."""
        self.check_legal(action, site)
        text = self.actions[action]
        decided = self.decided if site == WHOLE_PROGRAM else partial(self.decisions_of, site)
        before = decided()
        if text in OUTLINE:
            self.outline = 1 + OUTLINE.index(text)
        elif site == WHOLE_PROGRAM:
            self.others = self.others.with_action(text)
        else:
            self.functions[site] = self.functions.get(site, LLVMS_OWN).with_action(text)
        self.record(action, site)
        return decided() != before

    def decisions_of(self, function: str) -> FunctionDecisions:
        """Return the decisions that hold for a function."""
        return self.functions.get(function, self.others)

    def decided(self) -> Decided:
        """Return all decisions."""
        named = frozenset((name, one) for name, one in self.functions.items() if one != self.others)
        return Decided(self.others, named, self.outline)

    def generation(self) -> GeneratedCode:
        """Return the code under the decisions.

        Raises:
            CompilerCrash: LLVM fails.
        """
        return self.generations.of(self.decided())

    def stock(self) -> GeneratedCode:
        """Return the code under LLVM's own decisions."""
        return self.generations.of(Decided())

    def know(self, code: bytes, calls: CallCosts) -> None:
        """Keep the object under the decisions, which another process has made; spill costs stay unknown."""
        self.generations.know(code, calls, self.decided())

    def generate(self, evict: EvictionPolicy) -> GeneratedCode:
        """Generate code once more, with a policy for the register allocator's evictions.

        Raises:
            CompilerCrash: LLVM fails, or the policy's choice cannot be evicted.
        """
        return self.generations.generate(self.decided(), evict)

    def evictions(self, evict: EvictionPolicy | None = None, seed: int | None = None) -> Evictions:
        """Return all decisions on evictions: features, LLVM's choices, and the policy's choices.

        Args:
            evict: The policy; without one, LLVM decides.
            seed: If given, a network draws by the softmax of its scores; otherwise it takes the best slot.

        Raises:
            CompilerCrash: see `generate`.
        """
        return self.generations.evictions(self.decided(), evict, seed)[1]

    def executed_costs(self, evict: EvictionPolicy | None = None) -> ExecutedCosts:
        """Return the executed costs of the program's runs, with a policy for evictions if there is one.

        Raises:
            CompilerCrash: see `generate`.
            InputError: the program cannot be run, or does not end by itself.
        """
        if evict is None:
            return self.generations.executed_costs(self.decided())
        return self.generations.executed_costs_under(self.decided(), evict)

    def sizes(self) -> _native.Sizes:
        """Return the sizes of the object."""
        return self.opened.sizes() if self._is_plain() else self.generation().sizes

    def object_code(self) -> bytes:
        """Return the object file."""
        return self.opened.object_code() if self._is_plain() else self.generation().code

    def _is_plain(self) -> bool:
        """Return whether the code is that of the module's own session, which caches it."""
        return self.generations.is_plain and self.decided().is_llvms

    def observe(self, space: str) -> Observed:
        """Return one of OBSERVATIONS."""
        match space:
            case "functions":
                return self._function_rows()
            case "decisions":
                return self._decision_rows()
            case "function-names":
                return "\n".join(self.sites())
            case "evictions":
                return self.evictions().rows
            case "eviction-slots":
                return self.evictions().llvms[:, None]
            case "eviction-functions":
                return "\n".join(self.evictions().functions)
            case "object":
                return self.object_code()
            case "assembly":
                return self.generations.assembly(self.decided())
        if space not in OF_MODULE:
            raise UnknownName.among("observation", space, OBSERVATIONS)
        return self.opened.observe(space)

    def _function_rows(self) -> NDArray[np.int64]:
        made = self.generation()
        sizes = self.sizes()
        of_code = dict(sizes.functions), dict(sizes.functions_loaded), made.spill_costs, made.executed
        rows = [
            [*self.opened.module.opcode_counts(name), *(round(shares.get(name, 0)) for shares in of_code)]
            for name in self.sites()
        ]
        return np.array(rows, dtype=np.int64).reshape(-1, len(OPCODES) + len(NOW))

    def _decision_rows(self) -> NDArray[np.int64]:
        index = {text: i for i, text in enumerate(self.actions)}
        rows = np.zeros((len(self.sites()), len(self.actions)), dtype=np.int64)
        for row, name in zip(rows, self.sites(), strict=True):
            row[[index[text] for text in self.decisions_of(name).actions()]] = 1
        return rows

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        """Return one of OBJECTIVES, of the object or of one function (0 if it has no code of its own).

        Raises:
            UnknownName: there is no such objective.
            InputError, MissingTool, Miscompiled: see ModuleSession.cost.
        """
        if site != WHOLE_PROGRAM:
            return self.costs(objective).get(site, 0.0)
        match objective:
            case "slowdown":
                return slowdown(self.costs(objective), self._call_costs(), self.opened.reference_calls())
            case "stack-bytes" | "stack-growth":
                return max((1.0, *self.costs(objective).values()))
            case "spill-cost":
                return max(1.0, sum(self.generation().spill_costs.values()))
            case "executed-spill-cost":
                return max(1.0, sum(self.executed_costs().spill_costs.values()))
            case "seconds" | "cycles" | "instructions":
                return self.opened.stopwatch().measure(self.object_code(), objective)
            case _ if objective in SIZES:
                return size_cost(objective, self.sizes(), self.opened.reference_sizes)
        raise UnknownName.among("objective", objective, OBJECTIVES)

    def costs(self, objective: str) -> dict[str, float]:
        """Return each function's share of an objective; {} for an objective without shares.

        Raises:
            UnknownName: there is no such objective.
        """
        match objective:
            case "spill-cost":
                return dict(self.generation().spill_costs)
            case "executed-spill-cost":
                return dict(self.executed_costs().spill_costs)
            case "slowdown":
                return slowdowns(self._call_costs(), self.opened.reference_calls())
            case "stack-bytes" | "stack-growth":
                return stack_shares(objective, self._call_costs(), self.opened.reference_calls)
            case _ if objective in SIZES:
                return size_shares(objective, self.sizes(), self.opened.reference_sizes)
        if objective not in OBJECTIVES:
            raise UnknownName.among("objective", objective, OBJECTIVES)
        return {}

    def _call_costs(self) -> CallCosts:
        return self.opened.call_costs() if self._is_plain() else self.generation().call_costs

    def sites(self) -> tuple[str, ...]:
        """Return the functions' names, largest function first."""
        return self.opened.sites()

    def identities(self) -> dict[str, str]:
        """Return LLVM's structural hash of each function."""
        return self.opened.identities()

    def digest(self) -> str:
        """Return the digest of the object."""
        return self.generation().digest

    def verify(self) -> str:
        """Run LLVM's verifier on the module."""
        return self.opened.verify()

    def part(self, site: str, objective: str) -> Part | None:
        """Return one function as a program with only declarations of the others; its code is as here."""
        part = self.opened.part(site, objective)
        if part is None:
            return None
        ratio = part.open.keywords["slowdown"] if isinstance(part.open, partial) else 1.0
        opener = partial(
            open_codegen_part,
            options=self.opened.options,
            slowdown=ratio,
            evict_policy=self.generations.evict_policy,
        )
        return replace(part, open=opener)

    def fork(self) -> CodegenSession:
        """Return a session with the same decisions; both share the generated code."""
        copy = CodegenSession(self.generations)
        copy.trace = list(self.trace)
        copy.others, copy.outline = self.others, self.outline
        copy.functions = dict(self.functions)
        return copy


def open_codegen(session: Session, evict_policy: str = "") -> CodegenSession:
    """Open the code generation of a module; the module's session must not be changed afterwards.

    Raises:
        InputError: `evict_policy` is not the file of a policy of evictions.
    """
    if not isinstance(session, ModuleSession):
        raise TypeError(f"code is generated for LLVM modules, not for a {type(session).__name__}")
    return CodegenSession(Generations(session, evict_policy=evict_policy))


def open_program(program: Program, options: CodegenOptions = CodegenOptions()) -> CodegenSession:
    """Open a program in the state after clang's pipeline.

    Raises:
        ProgramError: the program cannot be read.
        InputError: there is no such pipeline, or no policy of evictions in the options' file.
        CompilerCrash: LLVM fails in the pipeline.
    """
    return open_codegen(open_baseline(program, options.pipeline, options.cpu), options.evict_policy)


def open_codegen_part(
    program: Program, options: ModuleOptions, slowdown: float, evict_policy: str
) -> CodegenSession:
    """Open a part that CodegenSession.part made; see burnish.llvm.modules.session.open_part.

    Raises:
        ProgramError: the part cannot be read.
    """
    return open_codegen(open_part(program, options, slowdown), evict_policy)


@cache
def _legal(actions: tuple[str, ...], machine: str) -> tuple[Mask, Mask]:
    """Return the actions that are legal on a machine: for the whole program, and at a function."""
    everywhere = np.array([applies(text, machine) for text in actions])
    return everywhere, everywhere & np.array([text not in OUTLINE for text in actions])
