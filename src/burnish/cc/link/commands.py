"""One command of a drop-in compiler with --whole-program, after clang: first the units, then the link."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from burnish.cc import build_log, processes
from burnish.cc.improve import limits
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.link.embedding import Costs, embed
from burnish.cc.link.link_job import LinkJob, link_job_of
from burnish.cc.link.merging import Link
from burnish.cc.link.one_link import LinkOutcome, improve_link, look
from burnish.cc.outcomes import passed_through, record
from burnish.cc.refusals import refusal
from burnish.cc.requests import Compiled, DriverOptions, KeptReference, Optimizer
from burnish.core.errors import InputError
from burnish.files import write_atomically


@dataclass(frozen=True)
class Whole:
    """One command, as clang ran it."""

    plan: ClangJobs
    compiled: Compiled
    options: DriverOptions
    optimizer: Optimizer
    workspace: Path

    @property
    def step_seconds(self) -> float:
        """The most seconds for one step of clang: a step that takes longer hangs."""
        return limits(self.compiled.clang_seconds, 0.0).step_seconds

    @property
    def unit_seconds(self) -> float:
        """The processor time of clang for one unit, on average."""
        return self.compiled.clang_seconds / max(1, len(self.plan.compilations))


def improve_whole(plan: ClangJobs, compiled: Compiled, options: DriverOptions, optimizer: Optimizer) -> None:
    """Embed units into the objects that clang wrote, make its program smaller, and log both.

    A full disk or a log that cannot be written is not an error.
    """
    with contextlib.suppress(OSError), tempfile.TemporaryDirectory(prefix="burnish-") as workspace:
        whole = Whole(plan, compiled, options, optimizer, Path(workspace))
        for line in _lines(whole):
            with contextlib.suppress(OSError):
                build_log.append(options.log or build_log.default_log(), line)


def _lines(whole: Whole) -> Iterator[build_log.Record]:
    """Do the work, and yield the lines of the build log."""
    plan, written = whole.plan, whole.compiled.written
    refused, began = False, whole.compiled.ended
    for job in plan.compilations:
        output = job.output_path if plan.reader(job) is None else plan.jobs[-1].output_path
        if output not in written:
            continue
        if why := _refusal(whole, job):
            refused = True
            yield record(passed_through(job, why), output, plan.version)
        elif plan.reader(job) is None:
            with contextlib.suppress(KeptReference, ValueError, InputError):
                _embed(whole, job, output, began)
                began = whole.compiled.clock.now()
    linker = link_job_of(plan.jobs)
    if linker and linker.output in written and not (refused and len(plan.compilations) == 1):
        yield _record(whole, _link(whole, linker), linker.output)


def _link(whole: Whole, linker: LinkJob) -> LinkOutcome:
    outcome = look(linker)
    if outcome.reason:
        return outcome
    try:
        objects = _compiled_again(whole)
    except (KeptReference, OSError) as why:
        return replace(outcome, reason=str(why))
    again = {index: (objects[word],) for index, word in enumerate(linker.command) if word in objects}
    return improve_link(
        Link(
            linker.changed(again, linker.output, side_files=True),
            linker.output,
            whole.options,
            whole.optimizer,
            whole.workspace,
            whole.compiled,
        ),
        outcome,
    )


def _refusal(whole: Whole, job: ClangJob) -> str | None:
    return refusal(job, every_level=whole.options.objective is not None)


def _embed(whole: Whole, job: ClangJob, output: Path, began: float) -> None:
    """Embed the unit of a compilation into the object that clang made.

    Args:
        whole: The command.
        job: clang's compilation.
        output: The object, which is replaced.
        began: The time on the clock when burnish's work for the unit began.
    """
    costs = Costs(whole.unit_seconds, began, whole.compiled.clock)
    content = embed(job, output.read_bytes(), costs, whole.workspace, whole.step_seconds)
    write_atomically(output, content)


def _compiled_again(whole: Whole) -> dict[str, Path]:
    """Compile again, with units, the objects that clang linked and deleted; return them by plan name."""
    made: dict[str, Path] = {}
    for number, job in enumerate(whole.plan.jobs[:-1]):
        if not job.output or whole.plan.reader(job) is None:
            continue
        output = whole.workspace / f"again-{number}" / Path(job.output).name
        output.parent.mkdir()
        again = job.silenced().with_paths(made).with_output(output)
        processes.run_quietly(again.command, whole.step_seconds)
        made[job.output] = output
        if job.compiles and not _refusal(whole, job):
            with contextlib.suppress(ValueError):
                _embed(whole, job.with_output(output), output, whole.compiled.clock.now())
    return made


def _record(whole: Whole, outcome: LinkOutcome, program: Path) -> build_log.Record:
    before, after = outcome.before, outcome.after or outcome.before
    return build_log.Record(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        directory=str(Path.cwd()),
        source=f"{outcome.units} units",
        output=str(program),
        level=outcome.level,
        action="optimized" if outcome.after else "kept",
        reason=outcome.reason,
        loaded_bytes_before=before.loaded_bytes if before else None,
        loaded_bytes=after.loaded_bytes if after else None,
        text_bytes_before=before.of_kind("code") if before else None,
        text_bytes=after.of_kind("code") if after else None,
        seconds=round(outcome.seconds, 3),
        trace=outcome.trace,
        evaluations=outcome.evaluations,
        compiler=f"clang {whole.plan.version}",
        command=whole.plan.jobs[-1].command,
    )
