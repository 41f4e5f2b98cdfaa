"""Attempts at one compilation, and what became of them: smaller, as clang made it, or never tried."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from burnish.cc import shares
from burnish.cc.build_log import Action, Record
from burnish.cc.file_budget import FileBudget
from burnish.cc.improve import Deadlines, Improved, ObjectSizes, improve, object_sizes
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.refusals import refusal
from burnish.cc.requests import (
    DEFAULT_OBJECTIVE,
    Compiled,
    DriverOptions,
    KeptReference,
    Optimizer,
    OptimizeRequest,
)
from burnish.cc.too_small import too_small

# What the front end's levels mean to the passes (clang/lib/Frontend/CompilerInvocation.cpp).
SYNONYMS = {"Og": "O1", "Ofast": "O3"}

# A search ends after so many evaluations without a gain: one for every few bytes that there are to lose.
LEAST_PATIENCE, BYTES_OF_PATIENCE = 32, 4


@dataclass(frozen=True)
class Build:
    """What every step of one command needs."""

    plan: ClangJobs
    options: DriverOptions
    optimizer: Optimizer
    waits: Deadlines
    workspace: Path
    compiled: Compiled

    @property
    def clang_seconds(self) -> float:
        """What clang took for one file, in processor time."""
        return self.compiled.clang_seconds / max(1, len(self.plan.compilations))

    def refusal(self, job: ClangJob) -> str | None:
        """Return why the compilation is left to clang."""
        return refusal(job, every_level=self.options.objective is not None)


@dataclass(frozen=True)
class Outcome:
    """What became of one compilation."""

    job: ClangJob
    action: Action
    reason: str = ""
    better: Improved | None = None  # where the action is "optimized"
    before: ObjectSizes | None = None  # of clang's object; None where nobody looked at it
    evaluations: int = 0
    crashes: int = 0  # of the compiler while it was searched
    seconds: float = 0.0


def passed_through(job: ClangJob, why: str, reference: Path | None = None) -> Outcome:
    """Return the outcome of a compilation that is clang's alone; `reference` is its object."""
    return Outcome(job, "passed through", why, before=sizes_of(reference, job) if reference else None)


def attempt(build: Build, job: ClangJob, reference: Path, workspace: Path) -> Outcome:
    """Try to make a smaller object than `reference`, which clang made by the job."""
    clock = build.compiled.clock
    start = clock.now()
    before = sizes_of(reference, job)
    unimproved = Outcome(job, "kept", before=before)
    if why_not := too_small(before.text_bytes if before else None):
        return replace(unimproved, reason=why_not)
    with _budget(build) as budget:
        if budget is None:
            return replace(unimproved, reason="the build's budget is used up")
        request = _request(build, job, before, budget, start)
        found = _improved(build, unimproved, reference, request, workspace)
        return replace(found, seconds=clock.now() - start)


@contextmanager
def _budget(build: Build) -> Iterator[FileBudget | None]:
    """Yield what a search may take; None where the build's budget is used up."""
    if build.options.build_seconds is None:
        yield build.options.budget
        return
    with shares.share(build.options, build.clang_seconds, build.compiled.clock) as seconds:
        yield FileBudget(seconds=seconds) if seconds else None


def _request(
    build: Build, job: ClangJob, before: ObjectSizes | None, budget: FileBudget, start: float
) -> OptimizeRequest:
    ended = build.compiled.ended if len(build.plan.compilations) == 1 else start
    options = build.options
    return OptimizeRequest(
        name=job.source,
        objective=options.objective or DEFAULT_OBJECTIVE,
        speed_limit=options.speed_limit,
        level=SYNONYMS.get(job.level, job.level),
        budget_seconds=budget.seconds,
        seed=options.seed,
        search=options.search,
        policy=options.policy,
        code_share=budget.code_share(build.clang_seconds) if options.searches_code else 0.0,
        inline_policy=options.inline_policy,
        memory=options.memory,
        evaluations=budget.evaluations,
        until=budget.until(build.clang_seconds, ended),
        remembered=budget.remembered,
        clock=build.compiled.clock,
        patience=max(LEAST_PATIENCE, before.text_bytes // BYTES_OF_PATIENCE) if before else None,
    )


def _improved(
    build: Build, unimproved: Outcome, reference: Path, request: OptimizeRequest, workspace: Path
) -> Outcome:
    try:
        better = improve(unimproved.job, reference, request, build.optimizer, build.waits, workspace)
    except KeptReference as why:
        return replace(unimproved, reason=str(why), evaluations=why.evaluations, crashes=why.crashes)
    except Exception as error:  # burnish's boundary to a build, which never fails because of it
        return replace(unimproved, reason=f"{type(error).__name__}: {error}")
    found = replace(unimproved, evaluations=better.evaluations, crashes=better.crashes)
    return replace(found, action="optimized", better=better)


def kept(outcome: Outcome, why: str) -> Outcome:
    """Return the outcome where a smaller object was found and could not be used."""
    return replace(outcome, action="kept", reason=why, better=None)


def record(outcome: Outcome, output: Path, version: str) -> Record:
    """Return the line of the build log."""
    better, before = outcome.better, outcome.before
    after = better.sizes if better else before
    return Record(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        directory=str(Path.cwd()),
        source=outcome.job.source,
        output=str(output),
        level=outcome.job.level,
        action=outcome.action,
        reason=outcome.reason,
        loaded_bytes_before=before.loaded_bytes if before else None,
        loaded_bytes=after.loaded_bytes if after else None,
        text_bytes_before=before.text_bytes if before else None,
        text_bytes=after.text_bytes if after else None,
        seconds=round(outcome.seconds, 3),
        trace=better.trace if better else (),
        evaluations=outcome.evaluations,
        compiler=f"clang {version}",
        command=outcome.job.command,
        crashes=outcome.crashes,
        saved_in_groups=better.saved_in_groups if better else {},
    )


def sizes_of(path: Path, job: ClangJob) -> ObjectSizes | None:
    """Return the sizes of an object, or of a program; None where it is neither."""
    try:
        return object_sizes(path, job)
    except (OSError, ValueError, ImportError):
        return None
