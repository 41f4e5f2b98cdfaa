"""Code generations of one module under decisions, and their results."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import CompilerCrash
from burnish.core.recent import Recent
from burnish.llvm.modules.module import object_sizes, refusal
from burnish.llvm.modules.origin import CallCosts
from burnish.llvm.modules.session import ModuleSession
from burnish.llvm.run.block_counts import block_counts
from burnish.tasks.llvm_codegen.actions import LLVMS_OWN, ORDERS, FunctionDecisions
from burnish.tasks.llvm_codegen.evictions import EvictionPolicy, Evictions, logged
from burnish.tasks.llvm_codegen.policy.scorer import load_scorer

KEPT_BYTES = 64 << 20  # limit on the size of all kept objects of a program
FEWEST, MOST = 4, 256  # limits on the number of kept objects, whatever their size


@dataclass(frozen=True)
class Decided:
    """All decisions on a module."""

    others: FunctionDecisions = LLVMS_OWN  # for functions without decisions of their own
    functions: frozenset[tuple[str, FunctionDecisions]] = frozenset()  # only those that differ from `others`
    outline: int = 0  # 0: no outlining; otherwise 1 + the index in OUTLINE

    @property
    def is_llvms(self) -> bool:
        """True if LLVM decides everything."""
        return self == _NOTHING


_NOTHING = Decided()


@dataclass(frozen=True)
class GeneratedCode:
    """The result of a code generation."""

    code: bytes
    module: _native.Module = field(repr=False, compare=False)  # the module that was compiled
    spill_costs: Mapping[str, float]  # by function; see native/decisions.h
    executed: Mapping[str, float]  # machine instructions that a call executes, by function
    call_costs: CallCosts

    @cached_property
    def sizes(self) -> _native.Sizes:
        """The sizes of the object."""
        return object_sizes(self.code, self.module)

    @cached_property
    def digest(self) -> str:
        """The digest of the object."""
        return hashlib.blake2b(self.code, digest_size=16).hexdigest()


@dataclass(frozen=True)
class ExecutedCosts:
    """Executed costs of a program's runs, by function, from counts of executed blocks."""

    spill_costs: Mapping[str, float]
    instructions: Mapping[str, float]


class Generations:
    """The code generations of a module, shared by all its sessions; recently used results are kept."""

    def __init__(
        self,
        opened: ModuleSession,
        back_end: _native.BackEnd | None = None,
        evict_policy: str = "",
    ) -> None:
        """Initialize for a module, which must not change any more.

        Args:
            back_end: Overrides the module's settings.
            evict_policy: File of a policy of evictions, for functions whose decision it is; "": none.

        Raises:
            InputError: the file is not a policy of evictions.
        """
        self.opened = opened
        self.evict_policy = evict_policy
        self.evict = load_scorer(Path(evict_policy)).native if evict_policy else None
        self.is_plain = back_end is None  # True: the code without decisions equals that of `opened`
        self._back_end = back_end or opened.back_end
        self._entries = len(opened.trace)
        self._kept: Recent[Decided, GeneratedCode] = Recent(FEWEST)
        self._executed: Recent[Decided, ExecutedCosts] = Recent(MOST)

    def of(self, decided: Decided) -> GeneratedCode:
        """Return the code under some decisions, from the cache if it is there.

        Raises:
            CompilerCrash: LLVM fails.
        """
        if (known := self._kept.get(decided)) is None:
            known = self.generate(decided)
            self._kept.most = min(MOST, max(FEWEST, KEPT_BYTES // len(known.code)))
            self._kept.put(decided, known)
        return known

    def know(self, code: bytes, calls: CallCosts, decided: Decided = _NOTHING) -> None:
        """Keep the object under some decisions, which was made before; spill costs stay unknown."""
        self._kept.put(decided, GeneratedCode(code, self.opened.module, {}, calls.own, calls))

    def generate(
        self, decided: Decided, evict: EvictionPolicy | None = None, seed: int | None = None
    ) -> GeneratedCode:
        """Generate code, with a policy for evictions if there is one; with a seed, a network draws.

        Raises:
            CompilerCrash: LLVM fails, or the policy's choice cannot be evicted.
            InputError: there is no such level or CPU.
        """
        return self._generate(decided, evict, seed)[0]

    def evictions(
        self, decided: Decided, evict: EvictionPolicy | None = None, seed: int | None = None
    ) -> tuple[GeneratedCode, Evictions]:
        """Generate code as `generate` does; also return all evictions, with LLVM's and the policy's choices.

        Raises:
            CompilerCrash, InputError: see `generate`.
        """
        return self._generate(decided, evict, seed, log=True)

    def assembly(self, decided: Decided) -> str:
        """Return the code under some decisions as assembly.

        Raises:
            CompilerCrash, InputError: see `generate`.
        """
        return self._made(decided, None, assembly=True).object.decode(errors="replace")

    def executed_costs(self, decided: Decided) -> ExecutedCosts:
        """Return the executed costs of the program's runs if LLVM decides all evictions.

        Raises:
            CompilerCrash, InputError: see `executed_costs_under`.
        """
        if (known := self._executed.get(decided)) is None:
            known = self.executed_costs_under(decided, None)
            self._executed.put(decided, known)
        return known

    def executed_costs_under(self, decided: Decided, evict: EvictionPolicy | None) -> ExecutedCosts:
        """Return the executed costs of the program's runs; the first call counts the blocks.

        Raises:
            CompilerCrash: see `generate`.
            InputError: the program cannot be run, or does not end by itself.
        """
        made = self._made(decided, evict, counts=self._counts)
        return ExecutedCosts(dict(made.counted_scores), dict(made.counted_executed))

    @cached_property
    def _counts(self) -> NDArray[np.uint64]:
        return block_counts(self.opened.module, self.opened.stopwatch().workload)

    def _generate(
        self, decided: Decided, evict: EvictionPolicy | None, seed: int | None, log: bool = False
    ) -> tuple[GeneratedCode, Evictions]:
        made = self._made(decided, evict, seed, log)
        scores, executed = dict(made.allocation_scores), dict(made.executed)
        times = CallCosts.of(made)
        return GeneratedCode(made.object, self.opened.module, scores, executed, times), logged(made)

    def _made(
        self,
        decided: Decided,
        evict: EvictionPolicy | None,
        seed: int | None = None,
        log: bool = False,
        counts: NDArray[np.uint64] | None = None,
        assembly: bool = False,
    ) -> _native.Generated:
        module, back_end = self.opened.module, self._back_end
        assert len(self.opened.trace) == self._entries, "the module was changed after it was opened"
        everywhere = evict is not None or self.evict is None
        named = {"": decided.others, **dict(decided.functions)}
        decisions = {name: one.native(evicts=everywhere or one.evicts) for name, one in named.items()}
        if assembly:
            back_end = _native.BackEnd(back_end)
            back_end.assembly = True
        try:
            return _native.generate_code(
                module,
                back_end,
                decisions,
                outline=decided.outline,
                scores=True,
                evict=evict or self.evict,
                seed=seed,
                log_evictions=log,
                counts=counts,
                orders=ORDERS,
            )
        except _native.FatalError as error:
            raise CompilerCrash(f"code generation: {error}") from None
        except _native.PipelineError as error:
            raise refusal(module, error) from None
