"""Collection of strong traces, file by file; each search begins with the best traces of earlier files.

The idea of a lifelong search is old (a portfolio grown greedily: Xu, Hoos and Leyton-Brown's Hydra, 2010;
for pass sequences, Purini and Jain 2013). Here it is one loop: search a file for some seconds, drop the
entries that its best trace does not need, and start the searches of the next files with that trace.

Under a noisy objective, comparing single costs drops entries that gain less than the noise, and keeps useless
ones. So `shorten_noisy` measures a shorter trace and the whole one alternately, and compares their least
costs, because other load on the machine makes a program slower, never faster. On a busy core the ratio of the
minima of five measurements varied by 1.5 %, the ratio of their medians by 30 %.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from burnish.core.decoding import decode
from burnish.core.errors import CompilerCrash, ProgramError
from burnish.core.guide import GuideFor
from burnish.core.program import Program
from burnish.core.reduce import shorten
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.walk import after, cost_after
from burnish.files import LineFile, read_json_lines
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.workers.executor import IN_TURN, Executor, Shard, in_order, name_of
from burnish.workers.worker import Limits, Worker

ROW = "a row of collected traces"
LIMITS = Limits(deadline_seconds=20)  # for everything that tries traces on many programs
RECENT = 12  # initial traces of a search from the latest files
STRONGEST = 8  # initial traces of a search from the files with the largest gains
WORTH_KEEPING = 1.005  # least reference / cost of a trace that is tried on other files
TURNS = 5
SAME = 1.01  # a shorter trace is as good up to this ratio of its least cost to the whole trace's
FAR = 3.0  # above this ratio a shorter trace is rejected without further turns


@dataclass(frozen=True)
class Found:
    """The best trace of one file."""

    program: str
    digest: str
    objective: str
    reference: float  # cost under the task's reference
    cost: float
    trace: Trace
    evaluations: int

    @property
    def ratio(self) -> float:
        """Reference / cost: above 1 is better."""
        return self.reference / self.cost

    def to_json(self) -> str:
        """Return the object as one line of JSON."""
        return json.dumps(asdict(self))


def problems_of(task: Task, programs: Iterable[Program], objectives: Sequence[str]) -> Iterator[Problem]:
    """Yield a problem for each program, with an objective chosen by the program's digest."""
    for program in programs:
        objective = objectives[_seed(program) % len(objectives)]
        yield Problem(task, program, objective, limits=LIMITS)


def collect(
    problems: Iterable[Problem],
    state: Path,
    *,
    budget: Budget,
    do: Executor = IN_TURN,
    together: int = 1,
    progress: Callable[[Found, int], None] | None = None,
) -> list[Found]:
    """Search every program that the state file lacks, append the best traces, and return all results.

    The programs are searched in rounds of `together`. A search begins with the best traces of earlier
    rounds. So under a budget in evaluations, the results depend neither on the executor nor on kills.

    The state file has a JSON line for each file searched, in the order of the programs. `progress` is called
    with each result and the number of results so far.

    Args:
        problems: The programs, with a task and an objective.
        state: The state file. A killed run continues with the missing programs.
        budget: The limit of each search, which has one process.
        do: Searches the programs of a round, a shard each.
        together: The programs of a round.
        progress: See above.
    """
    known = read_found(state)
    done = {found.program for found in known}
    left = iter(problems)
    with closing(LineFile(state, keep=True)) as file:  # drops a last line that a kill cut off
        while part := list(itertools.islice(left, together)):
            names = {problem.program.name for problem in part}
            earlier = [found for found in known if found.program not in names]
            shards = [
                _shard(problem, earlier, budget) for problem in part if problem.program.name not in done
            ]
            for line in in_order(do, shards):
                if line:
                    found = decode(Found, line, ROW)
                    known.append(found)
                    file.append(line)
                    if progress:
                        progress(found, len(known))
    return known


def _shard(problem: Problem, earlier: Sequence[Found], budget: Budget) -> Shard:
    """Return the search of a program, from the best traces of earlier ones."""
    task, program, objective = problem.task, problem.program, problem.goal.name
    traces = _initial_traces(task, earlier, objective)
    problem = replace(problem, task=replace(task, hints=replace(task.hints, initial_traces=traces)))
    name = name_of(task.id, dict(task.options), program.name, program.key, objective, budget, traces)
    return Shard(name, _searched, (problem, budget))


def _searched(problem: Problem, budget: Budget) -> str | None:
    """Search a program; return its line of the state file, or None if the compiler fails on it."""
    try:
        found = best_of(problem, budget, method="genetic", seed=_seed(problem.program))
    except (CompilerCrash, ProgramError):
        return None  # nothing to learn from
    return found.to_json()


def best_of(
    problem: Problem, budget: Budget, *, method: str, seed: int, guide_for: GuideFor | None = None
) -> Found:
    """Search one program, in one process by default, and shorten the best trace.

    Raises:
        ProgramError: the program cannot be read.
        CompilerCrash: the compiler crashes on it under the reference or the best trace.
    """
    budget = replace(budget, workers=budget.workers or 1)
    found = search(problem, budget, method=method, seed=seed, guide_for=guide_for)
    program, objective = problem.program, problem.goal.name
    worker = Worker(problem.limits)
    try:
        reference = problem.open_baseline(problem.task.reference, worker).measure(objective)
        root = problem.open(worker)
        if problem.goal.noisy:
            trace, cost = shorten_noisy(root, found.trace, objective)
        else:
            trace, cost = shorten(found.trace, lambda part: cost_after(root, part, objective))
    finally:
        worker.close()
    return Found(program.name, program.digest, objective, reference, cost, trace, found.evaluations)


def _seed(program: Program) -> int:
    return int(program.digest[:8], 16)


def _initial_traces(task: Task, known: Sequence[Found], objective: str) -> tuple[Trace, ...]:
    """Return the reference, the latest good traces for this objective, and the strongest for any."""
    good = [found for found in known if found.ratio >= WORTH_KEEPING]
    recent = [found.trace for found in good if found.objective == objective][-RECENT:]
    strongest = sorted(good, key=lambda found: -found.ratio)[:STRONGEST]
    return tuple(
        dict.fromkeys([task.hints.first_trace, *reversed(recent), *(found.trace for found in strongest)])
    )


def read_found(state: Path) -> list[Found]:
    """Read the results that `collect` has written so far; none if there is no such file.

    Raises:
        InputError: a line has another form.
    """
    read = partial(decode, Found, what=ROW)
    return read_json_lines(state, read, appended=True)


def shorten_noisy(root: Session, trace: Trace, objective: str) -> tuple[Trace, float]:
    """Remove the entries without which a trace costs no more, the last first: (trace, cost).

    Every shorter trace is compared with the whole one, not with the previous one, so small losses do not add
    up. The returned trace is legal: entries of `trace` that are illegal at their position are dropped.

    The cost is the least of the measured ones. In `root`, nothing is applied yet.

    Raises:
        CompilerCrash: the compiler crashes on the whole trace.
    """
    with after(root, trace, skip_illegal=True) as whole:
        kept = tuple(whole.trace)
        cost = min(whole.measure(objective) for _ in range(TURNS))
        for position in reversed(range(len(kept))):
            try:
                with after(root, kept[:position] + kept[position + 1 :], skip_illegal=True) as part:
                    found = _cost_if_same(whole, part, objective)
                    if found is not None:
                        kept, cost = tuple(part.trace), found
            except CompilerCrash:
                continue  # the entry is needed
    return kept, cost


def _cost_if_same(whole: Session, part: Session, objective: str) -> float | None:
    """Return the least cost of a part, or None if that is more than SAME times the whole's."""
    of_whole = of_part = math.inf
    for _ in range(TURNS):
        of_whole = min(of_whole, whole.measure(objective))
        of_part = min(of_part, part.measure(objective))
        if of_part > FAR * of_whole:
            return None
    return of_part if of_part <= SAME * of_whole else None
