"""Demonstrations by an expert: traces that a search found for the training programs, to be imitated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from burnish.agents.demonstrations import Demonstration
from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.problem import Problem
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.worker import Limits
from burnish.files import LineFile
from burnish.search import Budget
from burnish.training.collect import Found, best_of, read_found
from burnish.training.config import Expert

DEMONSTRATIONS = "demonstrations.jsonl"


@dataclass(frozen=True)
class ExpertSetup:
    """Which search finds the demonstrations, and of what."""

    task: Task
    objective: str
    expert: Expert
    seed: int
    workers: int
    limits: Limits


def make_demonstrations(
    path: Path, programs: Sequence[Program], setup: ExpertSetup, note: Callable[[str], None]
) -> list[Demonstration]:
    """Search every program, and keep what is found in a file: a killed run searches only what is missing.

    The budget is in evaluations, so the same seed finds the same. Entries without which a trace costs no more
    are dropped.

    Args:
        path: Of the file, JSON lines as `burnish.training.collect` writes them.
        programs: To learn from.
        setup: Which search, and of what.
        note: Told how many are done.
    """
    known = {found.digest: found for found in read_found(path)}
    file = LineFile(path, keep=True)  # a line that was cut off when the run was killed is searched again
    demonstrations = []
    with closing(file):
        for number, program in enumerate(programs):
            note(f"{setup.expert.search} search of the training programs: {number} of {len(programs)}")
            try:
                found = known.get(program.digest) or best_of(
                    Problem(setup.task, program, setup.objective, limits=setup.limits),
                    Budget(evaluations=setup.expert.evaluations, workers=setup.workers),
                    method=setup.expert.search,
                    seed=setup.seed,
                )
            except (CompilerCrash, ProgramError):
                continue  # nothing to learn from
            if program.digest not in known:
                known[program.digest] = found
                file.append(found.to_json())
            demonstrations.append(demonstration_of(found, program))
    return demonstrations


def read_demonstrations(path: Path, programs: Sequence[Program], objective: str) -> list[Demonstration]:
    """Read what was found elsewhere, of the programs and the objective.

    Raises:
        InputError: there is no such file, or nothing of these programs and this objective in it.
    """
    if not path.exists():
        raise InputError(f"expert.demonstrations: {path}: there is no such file")
    known = {found.digest: found for found in read_found(path) if found.objective == objective}
    shown = [program for program in programs if program.digest in known]
    if not shown:
        raise InputError(f"expert.demonstrations: {path} has none of the training programs for {objective}")
    return [demonstration_of(known[program.digest], program) for program in shown]


def demonstration_of(found: Found, program: Program) -> Demonstration:
    """Return what was found for a program as a demonstration."""
    return Demonstration(program, found.trace, found.cost, found.reference)
