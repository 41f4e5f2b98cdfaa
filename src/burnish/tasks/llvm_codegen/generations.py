"""Code generations of one module under decisions, and what they came to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from burnish import _native
from burnish.core.errors import CompilerCrash, InputError
from burnish.core.recent import Recent
from burnish.tasks.llvm_codegen.actions import LLVMS_OWN, FunctionDecisions
from burnish.tasks.llvm_codegen.evictions import EvictionPolicy, Evictions, logged
from burnish.tasks.llvm_passes.session import ModuleSession, Options

KEPT_BYTES = 64 << 20  # of all objects of a program
FEWEST, MOST = 4, 256  # whatever their size


@dataclass(frozen=True)
class Decided:
    """All that was decided of a module; functions that are decided as all others are not named."""

    others: FunctionDecisions = LLVMS_OWN
    functions: frozenset[tuple[str, FunctionDecisions]] = frozenset()
    outline: bool = False

    @property
    def is_llvms(self) -> bool:
        """Whether all is left to LLVM."""
        return self == _NOTHING


_NOTHING = Decided()


@dataclass(frozen=True)
class GeneratedCode:
    """What code generation came to."""

    code: bytes
    position_independent: bool
    spill_costs: Mapping[str, float]  # by function; see native/decisions.h
    executed: Mapping[str, float]  # machine instructions of a call, likewise

    @cached_property
    def sizes(self) -> _native.Sizes:
        """What the object is worth in bytes."""
        return _native.object_sizes(self.code, self.position_independent)

    @cached_property
    def digest(self) -> str:
        """Of the object."""
        return hashlib.blake2b(self.code, digest_size=16).hexdigest()


def plain_back_end(options: Options) -> _native.BackEnd:
    """Return how the back end is called for a level and a CPU, with no options beside."""
    back_end = _native.BackEnd()
    back_end.level, back_end.cpu = options.level, options.cpu
    return back_end


class Generations:
    """The code generations of a module, shared by all its sessions; what was not used lately is made anew."""

    def __init__(self, opened: ModuleSession, back_end: _native.BackEnd | None = None) -> None:
        """Take a module, which nobody changes from now on, and how the back end is called."""
        self.opened = opened
        self.is_plain = back_end is None  # the code where nothing is decided is that of `opened`
        self._back_end = back_end or plain_back_end(opened.options)
        self._entries = len(opened.trace)
        self._kept: Recent[Decided, GeneratedCode] = Recent(FEWEST)

    def of(self, decided: Decided) -> GeneratedCode:
        """Return what decisions lead to.

        Raises:
            CompilerCrash: LLVM gives up.
        """
        if (known := self._kept.get(decided)) is None:
            known = self.generate(decided)
            self._kept.most = min(MOST, max(FEWEST, KEPT_BYTES // len(known.code)))
            self._kept.put(decided, known)
        return known

    def generate(
        self, decided: Decided, evict: EvictionPolicy | None = None, seed: int | None = None
    ) -> GeneratedCode:
        """Generate code, with a policy for evictions if there is one; with a seed a network draws.

        Raises:
            CompilerCrash: LLVM gives up, or what the policy chose cannot be evicted.
            InputError: there is no such level or CPU.
        """
        return self._generate(decided, evict, seed)[0]

    def evictions(
        self, decided: Decided, evict: EvictionPolicy | None = None, seed: int | None = None
    ) -> tuple[GeneratedCode, Evictions]:
        """Generate code likewise; also return what could be evicted, each time, and who took what.

        Raises:
            CompilerCrash, InputError: see `generate`.
        """
        return self._generate(decided, evict, seed, log=True)

    def _generate(
        self, decided: Decided, evict: EvictionPolicy | None, seed: int | None, log: bool = False
    ) -> tuple[GeneratedCode, Evictions]:
        module = self.opened.module
        assert len(self.opened.trace) == self._entries, "the module was changed after it was opened"
        decisions = {name: one.native() for name, one in decided.functions}
        decisions[""] = decided.others.native()
        try:
            made = _native.generate_code(
                module,
                self._back_end,
                decisions,
                outline=decided.outline,
                scores=True,
                evict=evict,
                seed=seed,
                log_evictions=log,
            )
        except _native.FatalError as error:
            raise CompilerCrash(f"code generation: {error}") from None
        except _native.PipelineError as error:
            raise InputError(str(error)) from None
        scores, executed = dict(made.allocation_scores), dict(made.executed)
        return GeneratedCode(made.object, module.position_independent, scores, executed), logged(made)
