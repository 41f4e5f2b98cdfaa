"""One more search for an object or a program that the memory has."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from burnish.cc.command_key import Key
from burnish.cc.commands.cc import default_optimizer, parse
from burnish.cc.file_budget import FileBudget
from burnish.cc.improve import improve, improve_own, improve_rust
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.kept import Remembered, contents_of, memory_in
from burnish.cc.outcomes import Build, Outcome
from burnish.cc.requests import STACK_LIMIT, Compiled, KeptReference
from burnish.cc.rust_trials import Bitcode
from burnish.cc.rustc import RUSTC
from burnish.core.clock import PROCESSORS
from burnish.core.errors import BurnishError, InputError

CHANGED = "a file that it reads was changed: the next build compiles it"


@dataclass(frozen=True)
class Improved:
    """The outcome of one step.

    Attributes:
        before: The compilation or link before the step.
        after: The same with the cost and the effort that the memory has now.
        reason: Why there was no search; "" if there was one.
    """

    before: Remembered
    after: Remembered
    reason: str = ""

    @property
    def saved_bytes(self) -> int:
        """The bytes that the step saved, by the objective of the compilation."""
        return self.before.cost - self.after.cost


def step(item: Remembered, memory: Path, seconds: float, seed: int) -> Improved:
    """Search once more for one compilation's object, or one link's program, and keep what is found.

    Args:
        item: The compilation or the link.
        memory: The file that keeps the object.
        seconds: The budget, in processor time.
        seed: Of the search.
    """
    try:
        os.chdir(item.compilation.directory)
        if contents_of(item.files) != item.contents:
            return Improved(item, item, CHANGED)
        outcome = _searched(item, memory, seconds, seed)
    except (OSError, BurnishError, KeptReference) as error:
        return Improved(item, item, str(error))
    cost = outcome.after.bytes_of(item.compilation.objective) if outcome.after else item.cost
    return Improved(item, replace(item, cost=min(item.cost, cost), effort=item.effort + seconds))


def _searched(item: Remembered, memory: Path, seconds: float, seed: int) -> Outcome:
    made = item.compilation
    options, _ = parse(list(made.options))
    assert options
    options = replace(options, whole_program=made.is_link)
    key = Key(made.arguments, options, made.cxx)
    budget = FileBudget(seconds=seconds)
    chosen = replace(options, memory=memory, budget=budget, build_seconds=None, seed=options.seed + seed)
    job = ClangJob(made.command)
    plan = ClangJobs((job,), "", made.target, made.compiler if made.is_gnu else "")
    if chosen.stack_limit is None and plan.is_for_another_machine:
        chosen = replace(chosen, stack_limit=STACK_LIMIT)
    compiled = Compiled(made.compiler_seconds, PROCESSORS.now(), frozenset(), PROCESSORS)
    with tempfile.TemporaryDirectory(prefix="burnish-") as name:
        folder, effort = Path(name), item.effort + seconds
        build = Build(plan, compiled, chosen, default_optimizer, folder, key, effort=effort)
        if made.is_link:
            from burnish.cc.link.steps import improve_again  # few builds have whole programs

            return improve_again(build)
        reference = folder / "reference.o"
        known = memory_in(memory).reference(item.key, item.contents)
        reference.write_bytes(known)
        if plan.gnu == RUSTC:
            made_of = Bitcode.decode(memory_in(memory).front(item.key, item.contents))
            return improve_rust(build, job, made_of, reference, folder)
        if not plan.is_cross:
            return improve(build, job, reference, folder)
        from burnish.cc.cross import own_of  # most builds are for this machine

        own = own_of(job, folder)
        if own.code != known:
            raise InputError(CHANGED)
        return improve_own(build, job, own, folder)
