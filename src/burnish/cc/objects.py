"""The objects that one command wrote: each is improved and logged."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from burnish.cc import build_log
from burnish.cc.compile_and_link import improve_program
from burnish.cc.improve import limits
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.outcomes import Build, Outcome, attempt, kept, passed_through, record, sizes_of
from burnish.cc.requests import Compiled, DriverOptions, Optimizer
from burnish.cc.too_small import too_small
from burnish.core.errors import InputError
from burnish.files import write_atomically


def improve_objects(
    plan: ClangJobs, compiled: Compiled, options: DriverOptions, optimizer: Optimizer
) -> None:
    """Improve and log clang's objects; a full disk or a log that cannot be written is not an error."""
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix="burnish-") as workspace:
        longest = options.build_seconds or options.budget.longest_seconds(compiled.clang_seconds)
        waits = limits(compiled.clang_seconds, longest)
        build = Build(plan, options, optimizer, waits, Path(workspace), compiled)
        for outcome, output in _outcomes(build, compiled.written):
            with contextlib.suppress(OSError):
                log = options.log or build_log.default_log()
                build_log.append(log, record(outcome, output, plan.version))


def _outcomes(build: Build, written: frozenset[Path]) -> Iterator[tuple[Outcome, Path]]:
    """Yield the outcome of each compilation, and the object or program that has its code."""
    for job in build.plan.left_alone:
        if job.output_path in written:
            no_object = build.refusal(job) or "clang does not make an object of it"
            yield passed_through(job, no_object, job.output_path), job.output_path
    linked: list[ClangJob] = []
    for job in build.plan.compilations:
        if build.plan.reader(job) is not None:
            linked.append(job)
        elif job.output_path in written:
            yield _improve_object(build, job), job.output_path
    if linked and (program := build.plan.jobs[-1].output_path) in written:
        size = sizes_of(program, linked[0])
        if why := too_small(size.text_bytes if size else None, program=True):
            for job in linked:
                refused = build.refusal(job)
                yield passed_through(job, refused) if refused else Outcome(job, "kept", why), program
            return
        for outcome in improve_program(build, linked, program):
            yield outcome, program


def _improve_object(build: Build, job: ClangJob) -> Outcome:
    """Replace one object that clang wrote by a smaller one."""
    if why := build.refusal(job):
        return passed_through(job, why, job.output_path)
    outcome = attempt(build, job, job.output_path, build.workspace)
    if outcome.better:
        try:
            write_atomically(job.output_path, outcome.better.object.read_bytes())
        except (OSError, InputError) as error:
            return kept(outcome, f"the object could not be replaced: {error}")
    return outcome
