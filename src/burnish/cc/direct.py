"""Compilations of which clang runs the front end alone: burnish makes clang's object, and a smaller one.

Clang's passes and code generation take most of its time, and a search does both again for its reference. An
earlier search may have found that burnish's back end makes clang's objects of the command's kind. Then
burnish makes the reference, and clang need not. A command is declined where anything is not known to be as
clang has it: its object, its warnings, files beside the object. Then clang runs.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cc import processes
from burnish.cc.command_key import Key
from burnish.cc.isolation import LONGEST_SECONDS, OF_UNITS, Guard, load_or_leave, silenced
from burnish.cc.jobs import ClangJob, ClangJobs, make_plan
from burnish.cc.kept import ObjectMemory, memory_in
from burnish.cc.known_plans import keep_alike, known_plan, plan_alike
from burnish.cc.object_kind import PlainCommand, kind_key, plain_command, was_compared
from burnish.cc.outcomes import Build, Outcome, level_of_passes
from burnish.cc.recalling import DEPENDENCIES, Recollection, remembers
from burnish.cc.requests import Compiled, KeptReference, Optimizer, Request
from burnish.core.clock import PROCESSORS
from burnish.core.errors import BurnishError
from burnish.core.trace import Trace
from burnish.files import write_atomically

if TYPE_CHECKING:
    from burnish.cc.own_trials import Own

DECLINED = 100  # exit code: clang is to run; as in native/launcher/main.cpp

# The processor time of clang for a file, in units of the time in which its front end and burnish's back end
# make the object: this one also computes the costs that limits need, and its process takes longer to start.
CLANG, STARTED_SECONDS = 0.85, 0.012

# Variables with which clang does more than its arguments say.
_VARIABLES = frozenset({*processes.NOISY, "CCC_OVERRIDE_OPTIONS", "CC_PRINT_OPTIONS", "CC_LOG_DIAGNOSTICS"})


@dataclass(frozen=True)
class Direct:
    """A command for one object.

    Attributes:
        clang: Its path.
        key: Of the command, with burnish's options.
        workspace: The folder for temporary files.
    """

    clang: Path
    key: Key
    optimizer: Optimizer
    workspace: Path

    def run(self) -> tuple[Outcome | None, Path, str] | None:
        """Make the object; return its outcome, its path and the compiler. None: clang is to run the command.

        The unit of a whole program has no outcome: the link has.

        Raises:
            KeptReference, InputError, OSError: as None.
            LeftToLoaded: another process is to run it.
        """
        start = PROCESSORS.now()
        plain, options = plain_command(self.key.arguments), self.key.options
        if not plain or not remembers(options) or options.lock or _VARIABLES.intersection(os.environ):
            return None
        assert options.memory
        memory = memory_in(options.memory)
        plan = self._plan(memory, plain)
        if not plan or len(plan.jobs) != 1 or plan.is_for_another_machine or plan.warnings:
            return None
        (job,) = plan.jobs
        if not job.compiles or job.output == "-" or not _is_plain(job.output_path):
            return None
        if self._build(plan).refusal(job):
            return None
        kind = plain.kind, job, plan.compiler
        if not (was_compared(*kind) or memory.knows_kind(kind_key(*kind))):
            return None
        code, warnings = processes.run_and_read(self._front_end(job).command)
        if code or (warnings and sys.stderr.isatty()):  # clang asks the terminal for colours and its width
            return None
        module = (self.workspace / "front.bc").read_bytes()
        front_end, outcome = PROCESSORS.now() - start, None
        if options.whole_program:
            content = self._unit(plan, job, module, front_end, start)
        else:
            outcome, content = self._recalled(plan, job, module) or self._made(plan, job, module, front_end)
            outcome = replace(outcome, seconds=PROCESSORS.now() - start)
        write_atomically(job.output_path, content)
        sys.stderr.write(warnings)
        return outcome, job.output_path, plan.compiler

    def _plan(self, memory: ObjectMemory, plain: PlainCommand) -> ClangJobs | None:
        """Return the command's plan, which the memory may have; None if clang has none."""
        arguments = self.key.arguments
        if len(plain.inputs) != 1:
            return make_plan(self.clang, arguments)
        (source,) = plain.inputs
        plan = known_plan(memory, self.clang, self.key, source)
        if plan := plan or plan_alike(memory, self.clang, arguments, source):
            return plan
        if plan := make_plan(self.clang, arguments):
            keep_alike(memory, self.clang, arguments, source, plan)
        return plan

    def _front_end(self, job: ClangJob) -> ClangJob:
        """Return the front end's job, which also writes a rule with the files that it reads."""
        front = job.front_end(self.workspace / "front.bc")
        return front if job.value("-dependency-file") else front.with_dependencies(self._dependencies)

    @property
    def _dependencies(self) -> Path:
        return self.workspace / DEPENDENCIES

    def _recalled(self, plan: ClangJobs, job: ClangJob, module: bytes) -> tuple[Outcome, bytes] | None:
        """Return the outcome and the object of an earlier build for the same module; None if unknown."""
        if rule := job.value("-dependency-file"):
            shutil.copyfile(rule, self._dependencies)
        recollection = Recollection.of(self._build(plan), job, self._dependencies)
        return recollection.recall(module) if recollection else None

    def _made(self, plan: ClangJobs, job: ClangJob, module: bytes, front_end: float) -> tuple[Outcome, bytes]:
        """Make clang's object, then search for a smaller one; return the outcome and the better object.

        The process that makes clang's object also tries the trace of the command's last object: a second
        process would take ten milliseconds to start. A budget that is a multiple of clang's time counts from
        here, after clang's front end.
        """
        from burnish.cc.improve import improve_own

        ended = PROCESSORS.now()
        last = Recollection.of(self._build(plan), job, self._dependencies)
        trace = last.previous() if last else ()
        load_or_leave()
        guard = Guard(self.workspace, LONGEST_SECONDS, LONGEST_SECONDS)
        own, taken = guard.step(lambda: _own(module, job, trace, guard, self.optimizer))
        build = self._build(plan, _clang_seconds(front_end + taken), ended)
        outcome = improve_own(build, job, own, self.workspace)
        if outcome.is_too_small and (recollection := Recollection.of(build, job, self._dependencies)):
            recollection.keep(outcome, module, own.code)
        return outcome, outcome.better.read_bytes() if outcome.better else own.code

    def _unit(self, plan: ClangJobs, job: ClangJob, module: bytes, front_end: float, start: float) -> bytes:
        """Return clang's object with the unit of a whole program; the command has begun at `start`.

        The object is made in this process: if that dies, the launcher runs clang.
        """
        from burnish.cc.link.units import with_unit

        load_or_leave(OF_UNITS)
        recollection = Recollection.of(self._build(plan), job, self._dependencies)
        known = recollection.unit(module) if recollection else None
        if known:
            code, clang_seconds = known
        else:
            with silenced():
                own, taken = _level(module, job)
            code, clang_seconds = own.code, _clang_seconds(front_end + taken)
            if recollection:
                recollection.keep_unit(module, code, clang_seconds)
        spent = max(0.0, PROCESSORS.now() - start - clang_seconds)
        return with_unit(code, module, job, clang_seconds, spent)

    def _build(self, plan: ClangJobs, seconds: float = 0.0, ended: float = 0.0) -> Build:
        compiled = Compiled(seconds, ended, frozenset())
        return Build(plan, compiled, self.key.options, self.optimizer, self.workspace, self.key)


def _level(module: bytes, job: ClangJob) -> tuple[Own, float]:
    """Return clang's object of the front end's module, by burnish's back end, and its processor time.

    Raises:
        KeptReference: LLVM warns of something, which clang would print.
    """
    from burnish import _native
    from burnish.cc.back_end import level_of
    from burnish.cc.own_trials import Own

    start = PROCESSORS.now()
    own = Own(module, level_of(module, job))
    taken = PROCESSORS.now() - start
    if _native.warnings_so_far():
        raise KeptReference("clang would warn")
    return own, taken


def _own(module: bytes, job: ClangJob, trace: Trace, guard: Guard, optimizer: Optimizer) -> tuple[Own, float]:
    """Return the same, with the attempt of an earlier trace, if there is one that `repeats_at_once`.

    Raises:
        KeptReference: see `_level`.
    """
    from burnish.cc.object_trials import repeats_at_once
    from burnish.cc.own_trials import OwnTrials

    own, taken = _level(module, job)
    if repeats_at_once(trace):
        reference = guard.workspace / "repeated.o"
        reference.write_bytes(own.code)
        trials = OwnTrials(own, job.silenced(), reference, optimizer, guard)
        request = Request(job.source, level_of_passes(job.level))
        with suppress(KeptReference, BurnishError):
            own = replace(own, repeated=trials.repeated(trace, request, checks=False))
    return own, taken


def _clang_seconds(taken: float) -> float:
    return max(0.0, CLANG * taken - STARTED_SECONDS)


def _is_plain(output: Path) -> bool:
    """Return whether a file can be made at a path, or replaced there by another one."""
    return output.parent.is_dir() and not output.is_symlink() and (output.is_file() or not output.exists())
