"""What an algorithm that imitates is shown: traces that a search found for the training programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from burnish.agents.demonstrations import Lesson
from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.worker import Limits
from burnish.files import whole_lines
from burnish.search import Budget
from burnish.training.collect import Found, best_of, read_found
from burnish.training.config import Teacher

LESSONS = "lessons.jsonl"


@dataclass(frozen=True)
class School:
    """Who teaches what."""

    task: Task
    objective: str
    teacher: Teacher
    seed: int
    workers: int
    limits: Limits


def make_lessons(
    path: Path, programs: Sequence[Program], school: School, note: Callable[[str], None]
) -> list[Lesson]:
    """Search every program, and keep what is found in a file: a killed run searches only what is missing.

    The budget is in evaluations, so the same seed finds the same. Entries without which a trace costs no more
    are dropped.

    Args:
        path: Of the file, JSON lines as `burnish.training.collect` writes them.
        programs: To learn from.
        school: Who teaches what.
        note: Told how many are done.
    """
    whole_lines(path)  # one that was cut off when the run was killed is searched again
    known = {found.digest: found for found in read_found(path)}
    lessons = []
    for number, program in enumerate(programs):
        note(f"{school.teacher.search} search of the training programs: {number} of {len(programs)}")
        try:
            found = known.get(program.digest) or best_of(
                school.task,
                program,
                school.objective,
                method=school.teacher.search,
                budget=Budget(evaluations=school.teacher.evaluations),
                seed=school.seed,
                workers=school.workers,
                limits=school.limits,
            )
        except (CompilerCrash, ProgramError):
            continue  # nothing to learn from
        if program.digest not in known:
            known[program.digest] = found
            with path.open("a") as file:
                file.write(json.dumps(asdict(found)) + "\n")
        lessons.append(lesson_of(found, program))
    return lessons


def read_lessons(path: Path, programs: Sequence[Program], objective: str) -> list[Lesson]:
    """Read what was found elsewhere, of the programs and the objective.

    Raises:
        InputError: there is no such file, or nothing of these programs and this objective in it.
    """
    if not path.exists():
        raise InputError(f"teacher.lessons: {path}: there is no such file")
    known = {found.digest: found for found in read_found(path) if found.objective == objective}
    shown = [program for program in programs if program.digest in known]
    if not shown:
        raise InputError(f"teacher.lessons: {path} has none of the training programs for {objective}")
    return [lesson_of(known[program.digest], program) for program in shown]


def lesson_of(found: Found, program: Program) -> Lesson:
    """Return what was found for a program as a lesson."""
    return Lesson(program, found.trace, found.cost, found.reference)
