"""The steps of a drop-in compiler with --whole-program after clang: first the units, then the link.

A module takes the place of the units' objects in the linker's own program, if that program becomes smaller.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from burnish.cc.jobs import ClangJob
from burnish.cc.link.foreign import ForeignProgramTrials
from burnish.cc.link.gnu_link import GnuLink
from burnish.cc.link.inputs import input_paths
from burnish.cc.link.link_job import LinkJob, link_job_of
from burnish.cc.link.merging import Merged, merge
from burnish.cc.link.program_trials import ProgramTrials
from burnish.cc.link.units import with_unit
from burnish.cc.linked import read_linked
from burnish.cc.outcomes import Build, Outcome, Sizes, kept, level_of_passes, passed_through
from burnish.cc.profiles import profile_of
from burnish.cc.recalling import LinkRecollection, take
from burnish.cc.refusals import too_small
from burnish.cc.requests import KeptReference
from burnish.core.errors import BurnishError, InputError
from burnish.files import write_atomically


def outcomes_of(build: Build) -> Iterator[tuple[Outcome, Path]]:
    """Put units into the objects that clang wrote, and make the program that it linked smaller.

    Yields:
        The outcome of each compilation that burnish refuses, and of the link, with the output file.
    """
    plan, written = build.plan, build.compiled.written
    refused, began = False, build.compiled.ended
    for job in plan.compilations:
        output = plan.output_with(job)
        if output not in written:
            continue
        if why := build.refusal(job):
            refused = True
            yield passed_through(job, why), output
        elif plan.reader(job) is None:
            try:
                _embed(build, job, output, began)
                began = build.compiled.clock.now()
            except (KeptReference, ValueError, InputError) as why:
                yield kept(job, f"the object has no unit: {why}"), output
    try:
        linker = GnuLink.of(plan.jobs[-1].command) if plan.gnu and plan.links else link_job_of(plan.jobs)
    except KeptReference as why:
        job = plan.jobs[-1]
        yield Outcome(_source(0), "", job.command, reason=str(why)), job.output_path
        return
    if linker and linker.output in written and not (refused and len(plan.compilations) == 1):
        yield _link(build, linker), linker.output


def _link(build: Build, linker: LinkJob) -> Outcome:
    """Return the outcome of a link whose objects may have units."""
    outcome = Outcome(_source(0), "", build.plan.jobs[-1].command)
    try:
        before = Sizes.of_linked(read_linked(linker.output))
    except InputError as error:
        return replace(outcome, reason=str(error))
    why_not = linker.why_not or too_small(before.text_bytes, program=True) or ""
    outcome = replace(outcome, before=before, reason=why_not)
    if why_not:
        return outcome
    try:
        objects = _compiled_again(build)
    except (KeptReference, OSError) as why:
        return outcome.unused(str(why))
    again = {index: (objects[word],) for index, word in enumerate(linker.command) if word in objects}
    job = linker.changed(again, linker.output, side_files=True)
    return _improve(build, job, outcome, before)


def _embed(build: Build, job: ClangJob, output: Path, began: float) -> None:
    """Write the unit of a job into the object that clang made; burnish's time for it counts from `began`."""
    front = build.workspace / "unit.bc"
    build.guard().run(job.silenced().front_end(front).command)
    module = front.read_bytes()
    if profile := profile_of(job):
        module = build.guard().step(lambda: profile.counted(front.read_bytes(), level_of_passes(job.level)))
    content = output.read_bytes()
    spent = build.compiled.clock.now() - began
    write_atomically(output, with_unit(content, module, job, build.clang_seconds, spent))


def _compiled_again(build: Build) -> dict[str, Path]:
    """Make the objects that clang linked and deleted again, with units; return them by name in the plan."""
    made: dict[str, Path] = {}
    for number, job in enumerate(build.plan.jobs[:-1]):
        if not job.output or build.plan.reader(job) is None:
            continue
        output = build.workspace / f"again-{number}" / Path(job.output).name
        output.parent.mkdir()
        again = build.plan.again(job).silenced().with_paths(made).with_output(output)
        build.guard().run(again.command)
        made[job.output] = output
        if job.compiles and not build.refusal(job):
            with contextlib.suppress(ValueError):
                _embed(build, job.with_output(output), output, build.compiled.clock.now())
    return made


def _improve(build: Build, job: LinkJob, outcome: Outcome, before: Sizes) -> Outcome:
    """Replace the program of a link by a smaller one, if there is one."""
    clock = build.compiled.clock
    start = clock.now()
    try:
        merged = merge(build, job)
        outcome = replace(outcome, source=_source(len(merged.units)), level=merged.level)
        outcome = _found(merged, outcome, before)
    except (KeptReference, BurnishError, OSError) as why:
        outcome = replace(outcome, reason=str(why))
    except Exception as error:  # burnish's boundary: its errors never make a build fail
        outcome = replace(outcome, reason=f"{type(error).__name__}: {error}")
    return replace(outcome, seconds=clock.now() - start)


def improve_again(build: Build) -> Outcome:
    """Link a program that the memory has once more, and search on for a smaller one.

    Raises:
        KeptReference, BurnishError, OSError: it does not link, or gives another program than before.
    """
    (job,) = build.plan.jobs
    linker = GnuLink.of(job.command) if build.plan.gnu else LinkJob(job.command)
    program = build.workspace / "linked" / linker.output.name
    program.parent.mkdir()
    again = linker.changed({}, program)
    again.run(build.guard().step_seconds)
    before = Sizes.of_linked(read_linked(program))
    merged = merge(build, again)
    outcome = Outcome(_source(len(merged.units)), merged.level, job.command, before=before)
    return _found(merged, outcome, before)


def _found(merged: Merged, unsearched: Outcome, before: Sizes) -> Outcome:
    """Return the outcome of an earlier build for the same units, or of a search.

    If the command writes a map, which must describe the program, the earlier build's trace is repeated.
    """
    build, job = merged.build, merged.job
    linked, inputs = job.output.read_bytes(), [path for _, path in input_paths(job.command)]
    content = linked, merged.bitcode, inputs
    recollection = LinkRecollection.of(build, unsearched, merged.clang_seconds, *content)
    known = recollection.known() if recollection else None
    if known and not (known.content and job.has_side_files):
        return take(job.output, known, unsearched)
    if recollection and not known and build.effort is None:
        merged = merged.shared(recollection.programs_of([unit.seal for unit in merged.units]))
    trials = ForeignProgramTrials if build.is_foreign else ProgramTrials
    trace = tuple(known.found["trace"]) if known else ()
    outcome = replace(trials(merged, before).run(unsearched, trace), recalled=bool(known))
    if not recollection:
        return outcome
    return recollection.keep(outcome, job.output, described=job.has_side_files)


def _source(units: int) -> str:
    return f"{units} units"
