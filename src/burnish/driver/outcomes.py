"""What became of one compilation: smaller, as clang made it, or never tried."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from burnish.driver.build_log import Action, Record
from burnish.driver.improve import Improved, Limits, improve, text_bytes
from burnish.driver.jobs import Job, Plan
from burnish.driver.refusals import refusal
from burnish.driver.requests import Optimizer, OptimizeRequest, Options, Unimproved

# What the front end's levels mean to the passes (clang/lib/Frontend/CompilerInvocation.cpp).
SYNONYMS = {"Og": "O1", "Ofast": "O3"}


@dataclass(frozen=True)
class Build:
    """What every step of one command needs."""

    plan: Plan
    options: Options
    optimizer: Optimizer
    waits: Limits
    workspace: Path

    def refusal(self, job: Job) -> str | None:
        """Return why the compilation is left to clang."""
        return refusal(job, every_level=self.options.objective is not None)


@dataclass(frozen=True)
class Outcome:
    """What became of one compilation."""

    job: Job
    action: Action
    reason: str = ""
    better: Improved | None = None  # where the action is "optimized"
    text_bytes_before: int | None = None
    evaluations: int = 0
    seconds: float = 0.0


def passed_through(job: Job, why: str, reference: Path | None = None) -> Outcome:
    """Return the outcome of a compilation that is clang's alone; `reference` is its object."""
    return Outcome(job, "passed through", why, text_bytes_before=_size(reference) if reference else None)


def attempt(build: Build, job: Job, reference: Path, workspace: Path) -> Outcome:
    """Try to make a smaller object than `reference`, which clang made by the job."""
    request = OptimizeRequest(
        name=job.source,
        objective=build.options.objective or "text-bytes",
        level=SYNONYMS.get(job.level, job.level),
        budget_seconds=build.options.budget_seconds,
        seed=build.options.seed,
        search=build.options.search,
        policy=build.options.policy,
        memory=build.options.memory,
    )
    start = time.monotonic()
    before = _size(reference)
    try:
        better = improve(job, reference, request, build.optimizer, build.waits, workspace)
    except Unimproved as why:
        seconds = time.monotonic() - start
        return Outcome(job, "kept", str(why), None, before, why.evaluations, seconds)
    except Exception as error:  # burnish's boundary to a build, which never fails because of it
        why_not = f"{type(error).__name__}: {error}"
        return Outcome(job, "kept", why_not, None, before, 0, time.monotonic() - start)
    return Outcome(job, "optimized", "", better, before, better.evaluations, time.monotonic() - start)


def kept(outcome: Outcome, why: str) -> Outcome:
    """Return the outcome where a smaller object was found and could not be used."""
    return Outcome(
        outcome.job, "kept", why, None, outcome.text_bytes_before, outcome.evaluations, outcome.seconds
    )


def record(outcome: Outcome, output: Path, version: str) -> Record:
    """Return the line of the build log."""
    better = outcome.better
    return Record(
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        directory=os.getcwd(),  # noqa: PTH109 - cheaper, and a build has thousands
        source=outcome.job.source,
        output=str(output),
        level=outcome.job.level,
        action=outcome.action,
        reason=outcome.reason,
        text_bytes_before=outcome.text_bytes_before,
        text_bytes=better.text_bytes if better else outcome.text_bytes_before,
        seconds=round(outcome.seconds, 3),
        trace=better.trace if better else (),
        evaluations=outcome.evaluations,
        compiler=f"clang {version}",
        command=outcome.job.command,
    )


def _size(path: Path) -> int | None:
    try:
        return text_bytes(path)
    except (OSError, ValueError, ImportError):
        return None
