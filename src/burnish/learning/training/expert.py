"""Expert demonstrations: traces that a search found for the training programs, for imitation."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from burnish.core.decoding import decode
from burnish.core.errors import CompilerCrash, InputError, ProgramError, UnknownName
from burnish.core.guide import GuideFor
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import Trace, split_entry
from burnish.files import LineFile
from burnish.learning.agents.demonstrations import Demonstration
from burnish.learning.training.collect import ROW, Found, best_of, read_found
from burnish.learning.training.config import Expert
from burnish.policies import find as policies
from burnish.search import SEARCHES, Budget
from burnish.search.problem import Problem
from burnish.workers.executor import IN_TURN, Executor, Shard, in_order, name_of
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits, Worker

DEMONSTRATIONS = "demonstrations.jsonl"


@dataclass(frozen=True)
class ExpertSetup:
    """Settings of the search that finds the demonstrations."""

    task: Task
    objective: str
    expert: Expert
    seed: int
    workers: int
    limits: Limits


def open_search(expert: Expert, task: Task, objective: str) -> tuple[str, GuideFor | None]:
    """Return the name of the expert's search and its guide: `mixed@shipped` names both.

    Raises:
        UnknownName: there is no such search or policy.
        InputError: the policy is for another task, or no policy is shipped for this task.
    """
    method, at, policy = expert.search.partition(policies.AT)
    if method not in SEARCHES:
        raise UnknownName.among("search", expert.search, SEARCHES)
    if not at:
        return method, None
    found = policies.find_guide(policy, task, objective)
    if found is None and policy != policies.NONE:
        raise InputError(f"no policy is shipped for {objective} of {task.id}; leave @{policy} out")
    return method, found[0] if found else None


def check_expert(expert: Expert, task: Task, objective: str, where: str) -> None:
    """Check all names of an expert before anything is computed; `where` is the configuration's name.

    Raises:
        UnknownName, InputError: see `open_search`; or an idle action is unknown.
    """
    for name in expert.idle:
        if name not in task.actions:
            raise UnknownName(f"{where}: expert.idle: {UnknownName.among('action', name, task.actions)}")
    if expert.demonstrations:
        return
    try:
        open_search(expert, task, objective)
    except (UnknownName, InputError) as error:
        raise type(error)(f"{where}: expert.search: {error}") from None


def make_demonstrations(
    path: Path,
    programs: Sequence[Program],
    setup: ExpertSetup,
    note: Callable[[str], None],
    do: Executor = IN_TURN,
) -> list[Demonstration]:
    """Search every program, and append each result to a file, so a restarted run searches only the rest.

    The budget is in evaluations, so the same seed finds the same traces, whatever executor does the searches,
    a shard each. Entries without which a trace costs no more are dropped.

    `path` has the format of burnish.learning.training.collect. `note` is called with a text that reports how
    many programs are done.

    Raises:
        UnknownName, InputError: see `open_search`.
    """
    task, objective = setup.task, setup.objective
    known = {found.digest: found.to_json() for found in read_found(path)}
    shards = []
    for program in programs:
        line = known.get(program.digest, "")
        parts = task.id, dict(task.options), objective, setup.expert, setup.seed, program.name, program.key
        shards.append(Shard(name_of("demonstration", *parts, line), _demonstrated, (setup, program, line)))
    demonstrations = []
    with closing(LineFile(path, keep=True)) as file:  # drops a last line that a kill cut off
        made = in_order(do, shards)
        for number, program in enumerate(programs):
            note(f"{setup.expert.search} search of the training programs: {number} of {len(programs)}")
            if not (one := next(made)):
                continue  # nothing to learn from
            line, trace = one
            if program.digest not in known:
                known[program.digest] = line
                file.append(line)
            found = replace(decode(Found, line, ROW), trace=tuple(trace))
            demonstrations.append(demonstration_of(found, program, setup.expert.idle))
    return demonstrations


def _demonstrated(setup: ExpertSetup, program: Program, known: str) -> tuple[str, Trace] | None:
    """Search a program: its line of the file, `known` or a new one, and the trace that is demonstrated.

    Return None if the compiler fails.
    """
    method, guide_for = open_search(setup.expert, setup.task, setup.objective)
    try:
        found = (
            decode(Found, known, ROW)
            if known
            else best_of(
                Problem(setup.task, program, setup.objective, limits=setup.limits),
                Budget(evaluations=setup.expert.evaluations, workers=setup.workers),
                method=method,
                seed=setup.seed,
                guide_for=guide_for,
            )
        )
        if setup.task.max_steps is None:  # the compiler asks questions: demonstrate every answer
            return found.to_json(), completed(setup.task, program, found.trace, setup.limits)
    except (CompilerCrash, ProgramError):
        return None
    return found.to_json(), found.trace


def read_demonstrations(setup: ExpertSetup, programs: Sequence[Program]) -> list[Demonstration]:
    """Read an expert's file, and return its demonstrations for the given programs and objective.

    The file has collected traces, or the task's own decisions. If the compiler asks questions, its own
    answers complete a trace. Programs on which the compiler fails are left out.

    Raises:
        InputError: there is no such file, or it has no such demonstration.
    """
    task, objective, expert = setup.task, setup.objective, setup.expert
    path = Path(expert.demonstrations)
    if not path.exists():
        raise InputError(f"expert.demonstrations: {path}: there is no such file")
    decided = pkgutil.resolve_name(task.policies.decided)(path) if task.policies.decided else None
    rows: list[Found] = read_found(path) if decided is None else decided
    known = {found.digest: found for found in rows if found.objective == objective}
    shown = [program for program in programs if program.digest in known]
    if not shown:
        raise InputError(f"expert.demonstrations: {path} has no training program for {objective}")
    demonstrations = []
    for program in shown:
        found = known[program.digest]
        if task.max_steps is None:
            try:
                found = replace(found, trace=completed(task, program, found.trace, setup.limits))
            except (CompilerCrash, ProgramError):
                continue
        demonstrations.append(demonstration_of(found, program, expert.idle))
    return demonstrations


def demonstration_of(found: Found, program: Program, idle: tuple[str, ...] = ()) -> Demonstration:
    """Return the trace that was found for a program as a demonstration, followed by idle actions."""
    return Demonstration(program, found.trace, found.cost, found.reference, idle=idle)


def completed(task: Task, program: Program, trace: Trace, limits: Limits) -> Trace:
    """Return a trace of the answers to all questions, in the compiler's order, given a trace of some answers.

    The compiler itself answers questions that a search leaves open; a policy must learn these answers, too.

    Raises:
        ProgramError, CompilerCrash: see Session.replay.
        InputError: the task does not provide the compiler's own answers.
    """
    worker = Worker(limits)
    try:
        session = Sandbox(task.open, program, worker=worker)
        session.replay(trace)
        others = {split_entry(text) for text in session.alternatives()}
        answers = dict(split_entry(text) for text in trace)
        for site in session.sites():
            legal = (session.actions[i] for i in np.flatnonzero(session.legal(site)))
            given = [action for action in legal if (site, action) not in others]
            if len(given) != 1:
                raise InputError(f"{task.id}: has no record of the compiler's own answer at {site}")
            answers[site] = given[0]
        session.close()
        session = Sandbox(task.open, program, worker=worker)
        entries: list[str] = []
        while site := session.question():
            session.apply(session.index(answers[site]))
            entries.append(session.trace[-1])
        return tuple(entries)
    finally:
        worker.close()
