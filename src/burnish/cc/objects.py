"""Improvement of the objects of one command, or of the program that it compiled and linked at once."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from burnish.cc import stack_usage
from burnish.cc.improve import improve
from burnish.cc.jobs import ClangJob
from burnish.cc.outcomes import Build, Outcome, kept, passed_through, sizes_of
from burnish.cc.recalling import DEPENDENCIES, Recollection
from burnish.cc.refusals import too_small
from burnish.cc.requests import KeptReference
from burnish.core.errors import InputError
from burnish.files import write_atomically


def outcomes_of(build: Build) -> Iterator[tuple[Outcome, Path]]:
    """Improve the files that clang wrote; yield the outcome of each compilation, and its output file."""
    written = build.compiled.written
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
                yield passed_through(job, refused) if refused else kept(job, why), program
            return
        for outcome in _improve_program(build, linked, program):
            yield outcome, program


def _improve_object(build: Build, job: ClangJob) -> Outcome:
    """Replace one object that clang wrote by a smaller one, if there is one."""
    if why := build.refusal(job):
        return passed_through(job, why, job.output_path)
    outcome = _improved(build, job, job.output_path, build.workspace)
    if outcome.better:
        try:
            code = outcome.better.read_bytes()
            stack_usage.rewrite(job, code)
            write_atomically(job.output_path, code)
        except (OSError, InputError) as error:
            return outcome.unused(f"the object could not be replaced: {error}")
    return outcome


def _improved(build: Build, job: ClangJob, reference: Path, folder: Path) -> Outcome:
    """Take an object from the memory if no file has changed since an earlier build; else improve it."""
    start = build.compiled.clock.now()
    if recollection := Recollection.of(build, job, folder / DEPENDENCIES):
        with contextlib.suppress(InputError, OSError):  # the object is searched, then
            unsearched = kept(job, before=sizes_of(reference, job))
            if known := recollection.same_files(reference.read_bytes(), unsearched):
                return replace(known, seconds=build.compiled.clock.now() - start)
    return improve(build, job, reference, folder)


def _improve_program(build: Build, compilations: list[ClangJob], program: Path) -> list[Outcome]:
    """Replace the program that clang made by one with smaller objects.

    clang has deleted its objects with its other temporary files, so they are compiled once more.
    """
    *made, link = build.plan.jobs
    if link.belongs_to_clang or not link.output or not all(job.belongs_to_clang for job in made):
        return [passed_through(job, "more than one linker follows the compiler") for job in compilations]
    outcomes: list[Outcome] = []
    objects: dict[str, Path] = {}  # by their names in the plan
    for number, job in enumerate(compilations):
        if why := build.refusal(job):
            outcomes.append(passed_through(job, why))
            continue
        folder = build.workspace / str(number)
        folder.mkdir()
        outcome, objects[str(job.output)] = _object(build, job, folder)
        outcomes.append(outcome)
    if any(outcome.better for outcome in outcomes):
        try:
            _link(build, made, link, objects, program)
        except (OSError, InputError, KeptReference) as error:
            why = f"linking: {error}"
            return [outcome.unused(why) if outcome.better else outcome for outcome in outcomes]
    return outcomes


def _object(build: Build, job: ClangJob, folder: Path) -> tuple[Outcome, Path]:
    """Compile as clang did, improve the object, and return the better object, or else clang's."""
    reference = folder / Path(str(job.output)).name
    try:
        _repeat(build, build.plan.again(job).with_output(reference), {})
    except (OSError, KeptReference) as error:
        return kept(job, f"compiling once more: {error}"), reference
    outcome = _improved(build, job, reference, folder)
    return outcome, outcome.better or reference


def _link(
    build: Build, made: list[ClangJob], link: ClangJob, objects: dict[str, Path], program: Path
) -> None:
    """Link once more with the given objects, and make all other objects as clang does."""
    for number, job in enumerate(made):
        if job.output and job.output not in objects and build.plan.reader(job) is not None:
            other = build.workspace / f"other-{number}-{Path(job.output).name}"
            _repeat(build, build.plan.again(job).with_output(other), objects)
            objects = objects | {job.output: other}
    linked = build.workspace / "linked"
    _repeat(build, link.with_output(linked), objects)
    write_atomically(program, linked.read_bytes())


def _repeat(build: Build, job: ClangJob, paths: dict[str, Path]) -> None:
    build.guard().run(job.silenced().with_paths(paths).command)
