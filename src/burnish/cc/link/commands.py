"""A command of a drop-in compiler with --whole-program, after clang: first the units, then the link."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from burnish import _native
from burnish.cc.improve import front_end
from burnish.cc.jobs import ClangJob
from burnish.cc.link.link_job import LinkJob, link_job_of
from burnish.cc.link.one_link import improve_link, look
from burnish.cc.link.units import SECTION, ProgramUnit, seal_of
from burnish.cc.outcomes import Build, Outcome, passed_through
from burnish.cc.requests import KeptReference
from burnish.core.errors import InputError
from burnish.files import write_atomically


def outcomes_of(build: Build) -> Iterator[tuple[Outcome, Path]]:
    """Put units into the objects that clang wrote, and make the program that it linked smaller.

    Yields:
        The outcome of each compilation that burnish refuses, and of the link, with the output file.
    """
    plan, written = build.plan, build.compiled.written
    refused, began = False, build.compiled.ended
    for job in plan.compilations:
        output = job.output_path if plan.reader(job) is None else plan.jobs[-1].output_path
        if output not in written:
            continue
        if why := build.refusal(job):
            refused = True
            yield passed_through(job, why), output
        elif plan.reader(job) is None:
            with contextlib.suppress(KeptReference, ValueError, InputError):
                _embed(build, job, output, began)
                began = build.compiled.clock.now()
    linker = link_job_of(plan.jobs)
    if linker and linker.output in written and not (refused and len(plan.compilations) == 1):
        yield _link(build, linker), linker.output


def _link(build: Build, linker: LinkJob) -> Outcome:
    outcome = look(build, linker)
    if outcome.reason:
        return outcome
    try:
        objects = _compiled_again(build)
    except (KeptReference, OSError) as why:
        return outcome.unused(str(why))
    again = {index: (objects[word],) for index, word in enumerate(linker.command) if word in objects}
    job = linker.changed(again, linker.output, side_files=True)
    return improve_link(build, job, outcome)


def _embed(build: Build, job: ClangJob, output: Path, began: float) -> None:
    """Write the unit of a job into the object that clang made; burnish's time for it counts from `began`.

    Raises:
        KeptReference: the front end fails, although it succeeded before.
        ValueError: the object cannot take another section.
    """
    front = build.workspace / "unit.bc"
    build.guard().run(front_end(job.silenced(), front).command)
    content = output.read_bytes()
    spent = build.compiled.clock.now() - began
    unit = ProgramUnit(front.read_bytes(), job.command, build.clang_seconds, seal_of(content), spent)
    write_atomically(output, _native.with_section(content, SECTION, unit.encode()))


def _compiled_again(build: Build) -> dict[str, Path]:
    """Make the objects that clang linked and deleted again, with units; return them by name in the plan."""
    made: dict[str, Path] = {}
    for number, job in enumerate(build.plan.jobs[:-1]):
        if not job.output or build.plan.reader(job) is None:
            continue
        output = build.workspace / f"again-{number}" / Path(job.output).name
        output.parent.mkdir()
        again = job.silenced().with_paths(made).with_output(output)
        build.guard().run(again.command)
        made[job.output] = output
        if job.compiles and not build.refusal(job):
            with contextlib.suppress(ValueError):
                _embed(build, job.with_output(output), output, build.compiled.clock.now())
    return made
