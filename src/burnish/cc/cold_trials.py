"""Trials with a profile; at levels for speed: cold functions for size, all others as clang makes them.

At these levels clang's pipeline runs with cold functions marked for size, as with -mllvm
-pgo-cold-func-opt=minsize. After it, all other functions are settled (native/counts.h): searches change only
the cold ones.
"""

from __future__ import annotations

from pathlib import Path

from burnish.cc.isolation import Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.object_trials import ObjectTrials
from burnish.cc.outcomes import Build, level_of_passes
from burnish.cc.profiles import SPEED_LEVELS, Profile
from burnish.cc.requests import Attempt, KeptReference, Request
from burnish.core.trace import Trace

MOST_LONGER = 0.002  # of the program's counted executions, for an object: five such objects take 1 %


class ColdTrials(ObjectTrials):
    """Trials for one object: first cold functions for size, then a search of passes for them."""

    def try_passes(self, request: Request) -> None:
        """See Trials; the first attempt is the module before any search."""
        self._take_first(request)
        super().try_passes(request)

    def try_code(self, request: Request) -> None:
        """Leave code generation to clang: decisions would be for all functions."""

    def try_variants(self, request: Request) -> bool:
        """Leave code generation to clang."""
        return False

    def repeat(self, trace: Trace, request: Request, *, checks: bool = True) -> None:
        """See Trials."""
        self._take_first(request)
        super().repeat(trace, request, checks=checks)

    def _take_first(self, request: Request) -> None:
        first = Attempt(self.module, (f"clang<{request.level}>",), 0)
        with self.trying():
            self.take(self.guard.step(lambda: self.finished(first)))


def profiled_trials(
    build: Build, job: ClangJob, profile: Profile, front: Path, reference: Path, guard: Guard
) -> ObjectTrials:
    """Return trials for the front end's module with the counts of a profile.

    Raises:
        KeptReference: the profile cannot be read. At a level for speed: see small_cold_functions.
    """
    level = level_of_passes(job.level)
    module = guard.step(lambda: profile.counted(front.read_bytes(), level))
    if job.level not in SPEED_LEVELS or build.options.objective is not None:
        return ObjectTrials(module, job, reference, build.optimizer, guard)
    small = guard.step(lambda: small_cold_functions(module, level))
    return ColdTrials(small, job, reference, build.optimizer, guard)


def small_cold_functions(counted: bytes, level: str) -> bytes:
    """Return a module with counts after clang's pipeline with cold functions for size; loads LLVM.

    Seldom executed functions are for size, too. The pipeline may inline more calls of these into hot ones.
    If so the object is not smaller, no such call is inlined, or only what LLVM calls cold is for size.

    Raises:
        KeptReference: no function is cold, or by the profile the executed code would be slower.
    """
    from burnish import _native
    from burnish.llvm.modules.module import emit_described, object_sizes
    from burnish.llvm.modules.objectives import slowdown, slowdowns
    from burnish.llvm.modules.origin import CallCosts

    module = _native.Module(counted, "program")
    clangs = module.clone()
    clangs.run(f"clang<{level}>", level)
    made = emit_described(clangs, level, "")
    most, reference = object_sizes(made.object, clangs).loaded_bytes, CallCosts.of(made)
    own = sum(reference.counted.values())
    share = own / max(own, module.total_count, 1)  # each count is of at least one instruction
    why = "by the profile no function is cold"
    for seldom, inlined in ((True, True), (True, False), (False, True)):
        small = module.with_small_cold_functions(level, seldom, inlined)
        if small is None:
            break
        made = emit_described(small, level, "")
        now = CallCosts.of(made)
        longer = share * (slowdown(slowdowns(now, reference), now, reference) - 1)
        if longer > MOST_LONGER:
            why = f"with small cold functions the program takes {longer:.1%} longer by the profile"
        elif not seldom or object_sizes(made.object, small).loaded_bytes < most:
            return small.bitcode()
    raise KeptReference(why)
