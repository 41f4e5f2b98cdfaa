"""Commands that compile and link: improved objects, and the program linked from them."""

from __future__ import annotations

from pathlib import Path

from burnish.cc import processes
from burnish.cc.jobs import ClangJob
from burnish.cc.outcomes import Build, Outcome, attempt, kept, passed_through
from burnish.cc.requests import KeptReference
from burnish.core.errors import InputError
from burnish.files import write_atomically


def improve_program(build: Build, compilations: list[ClangJob], program: Path) -> list[Outcome]:
    """Replace the program that clang made by one of smaller objects.

    clang has deleted its own objects with its other temporary files, so they are compiled once more.
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
            return [kept(outcome, f"linking: {error}") if outcome.better else outcome for outcome in outcomes]
    return outcomes


def _object(build: Build, job: ClangJob, folder: Path) -> tuple[Outcome, Path]:
    """Compile as clang did, then improve the object; return the better one, or clang's."""
    reference = folder / Path(str(job.output)).name
    try:
        _repeat(build, job.with_output(reference), {})
    except (OSError, KeptReference) as error:
        return Outcome(job, "kept", f"compiling once more: {error}"), reference
    outcome = attempt(build, job, reference, folder)
    return outcome, outcome.better.object if outcome.better else reference


def _link(
    build: Build, made: list[ClangJob], link: ClangJob, objects: dict[str, Path], program: Path
) -> None:
    """Link once more, with the given objects; clang makes all others again."""
    for number, job in enumerate(made):
        if job.output and job.output not in objects and build.plan.reader(job) is not None:
            other = build.workspace / f"other-{number}-{Path(job.output).name}"
            _repeat(build, job.with_output(other), objects)
            objects = objects | {job.output: other}
    linked = build.workspace / "linked"
    _repeat(build, link.with_output(linked), objects)
    write_atomically(program, linked.read_bytes())


def _repeat(build: Build, job: ClangJob, paths: dict[str, Path]) -> None:
    processes.run_quietly(job.silenced().with_paths(paths).command, build.waits.step_seconds)
