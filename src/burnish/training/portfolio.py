"""A portfolio of sequences, bred on many programs at once.

What a search finds on one program may be worth nothing on the next. Here a sequence is worth what it adds, on
the mean over programs, to the best of those chosen before it (the marginal contribution of Xu, Hoos and
Leyton-Brown's Hydra, 2010), by the time that it takes. Those that add most have the most offspring, and every
other generation is they themselves without one of their entries: sequences grow otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.guide import Prior
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.worker import Worker
from burnish.files import whole_lines
from burnish.training.costs import LIMITS, Measured, measure_reference, measure_traces
from burnish.training.prior import fit_prior
from burnish.training.tails import greedy_cover

OFFSPRING = 32  # of a generation
PARENTS = 64  # sequences of the portfolio that breed
LONGEST = 14  # entries
CHUNK = 16  # programs that are looked at together, until there are enough
MOST = 0.5  # log ratio: what is gained beyond it does not count, or one program would outweigh many
LEAST_GAIN = 1e-5  # of the mean log ratio: what adds less is not in the portfolio
OVERHEAD = 0.5  # times what the reference takes: what trying a sequence costs beside applying it


@dataclass
class Portfolio:
    """Sequences, and what they gain on some programs.

    Attributes:
        programs: Their names.
        references: float64[P], what the task's reference costs.
        traces: N of them; the reference is the first.
        costs: float64[N, P], infinite where one fails.
        seconds: float64[N, P], of applying it.
        generations: How many made them.
    """

    programs: list[str]
    references: NDArray[np.float64]
    traces: list[Trace]
    costs: NDArray[np.float64]
    seconds: NDArray[np.float64]
    generations: int = 0

    def chosen(self, size: int) -> tuple[list[Trace], list[float]]:
        """Choose greedily, by gain for time: sequences, and what each adds to the mean log ratio."""
        with np.errstate(divide="ignore"):  # 0 where a sequence fails
            log_ratios = np.log(self.references / self.costs.clip(min=1e-9))
        order, added = by_gain_for_time(log_ratios, self.seconds / self.seconds[0].clip(min=1e-9), size)
        return [self.traces[i] for i in order], added

    def add(self, traces: Sequence[Trace], costs: NDArray[np.float64], seconds: NDArray[np.float64]) -> None:
        """Take in sequences: costs and seconds are float64[n, P]."""
        self.traces += traces
        self.costs = np.vstack([self.costs, costs])
        self.seconds = np.vstack([self.seconds, seconds])
        self.generations += 1


def by_gain_for_time(
    log_ratios: NDArray[np.float64], seconds: NDArray[np.float64], size: int
) -> tuple[list[int], list[float]]:
    """Choose sequences greedily: their numbers, and what each adds to the mean log ratio.

    Args:
        log_ratios: [N, P], log(reference / cost) of N sequences on P programs.
        seconds: [N, P], of applying them, in units of what the reference takes there.
        size: How many at most.
    """
    gains = log_ratios.clip(0, MOST) / log_ratios.shape[1]
    return greedy_cover(gains, size, time=OVERHEAD + seconds.mean(axis=1), least=LEAST_GAIN)


def breed(
    task: Task,
    programs: Sequence[Program],
    first: Sequence[Trace],
    state: Path,
    *,
    objective: str,
    count: int,
    slowest: float,
    generations: int,
    jobs: int,
    seed: int,
) -> Iterator[Portfolio]:
    """Apply some sequences to some programs, then breed; yield the same portfolio after every generation.

    A killed run goes on after its last generation. Two runs differ where the time of a sequence decides.

    Args:
        task: Whose actions.
        programs: Of the training split.
        first: The first generation, the reference before all others.
        state: JSON lines: what is known of the programs, then one of each generation.
        objective: What to gain in.
        count: How many of the programs: the first that can be opened, and on which
        slowest: the reference takes no more seconds.
        generations: How many, those of the state file counted in.
        jobs: Programs at a time.
        seed: Of what is bred.

    Raises:
        InputError: the state file is of other programs or another objective.
    """
    lines = [json.loads(line) for line in whole_lines(state)]
    if not lines:
        names, references = _suitable(task, programs, objective, count, slowest, jobs)
        lines = [{"objective": objective, "programs": names, "references": references}]
        _append(state, lines[0])
    head, *rows = lines
    if head["objective"] != objective:
        raise InputError(f"{state}: bred for {head['objective']}, expected {objective}; choose another file")
    chosen = _named(programs, head["programs"], state)
    shape = (0, len(head["programs"]))
    portfolio = Portfolio(
        head["programs"], np.array(head["references"]), [], np.zeros(shape), np.zeros(shape)
    )
    for row in rows:
        portfolio.add(*_read(row))
    if rows:
        yield portfolio
    for generation in range(len(rows), generations):
        traces = list(dict.fromkeys(first)) if generation == 0 else _offspring(task, portfolio, seed)
        row = _measured(task, chosen, traces, objective, jobs)
        _append(state, row)
        portfolio.add(*_read(row))
        yield portfolio


def _named(programs: Sequence[Program], names: Sequence[str], state: Path) -> list[Program]:
    """Return the programs of some names."""
    wanted, found = set(names), dict[str, Program]()
    for program in programs:
        if program.name in wanted:
            found[program.name] = program
        if len(found) == len(wanted):
            return [found[name] for name in names]
    missing = next(name for name in names if name not in found)
    raise InputError(f"{state}: bred on {missing}, which is not there any more; choose another file")


def _suitable(
    task: Task, programs: Sequence[Program], objective: str, count: int, slowest: float, jobs: int
) -> tuple[list[str], list[float]]:
    """Return the names of the first programs that will do, and what the reference costs there."""

    def one(program: Program) -> tuple[str, float] | None:
        try:
            with closing(Worker(LIMITS)) as worker:
                (cost,), seconds = measure_reference(task, program, [objective], worker)
        except (CompilerCrash, ProgramError):
            return None
        return (program.name, cost) if seconds <= slowest else None

    found: list[tuple[str, float]] = []
    with ThreadPoolExecutor(jobs) as pool:
        for begin in range(0, len(programs), CHUNK):
            found += [item for item in pool.map(one, programs[begin : begin + CHUNK]) if item]
            if len(found) >= count:
                break
    if not found:
        raise InputError(f"on none of the programs does {task.reference} take {slowest:g} s or less")
    return [name for name, _ in found[:count]], [cost for _, cost in found[:count]]


def _measured(
    task: Task, programs: Sequence[Program], traces: list[Trace], objective: str, jobs: int
) -> dict[str, Any]:
    """Return a generation's line: its traces, and [N, P] costs, None where one fails, and seconds."""

    def one(program: Program) -> list[Measured]:
        with closing(Worker(LIMITS)) as worker:
            return measure_traces(task, program, traces, [objective], worker)

    with ThreadPoolExecutor(jobs) as pool:
        columns = list(pool.map(one, programs))
    rows = list(zip(*columns, strict=True))
    return {
        "traces": traces,
        "costs": [[cost[0] if cost else None for cost, _ in row] for row in rows],
        "seconds": [[round(seconds, 5) for _, seconds in row] for row in rows],
    }


def _read(row: dict[str, Any]) -> tuple[list[Trace], NDArray[np.float64], NDArray[np.float64]]:
    costs = np.array(row["costs"], dtype=np.float64)  # None becomes nan
    return (
        [tuple(trace) for trace in row["traces"]],
        np.where(np.isnan(costs), np.inf, costs),
        np.array(row["seconds"]),
    )


def _append(state: Path, line: dict[str, Any]) -> None:
    with state.open("a") as file:
        file.write(json.dumps(line) + "\n")


def _offspring(task: Task, portfolio: Portfolio, seed: int) -> list[Trace]:
    """Return sequences that nobody has tried, from those that add most."""
    parents, added = portfolio.chosen(PARENTS)
    if not parents:  # nothing is better than the reference yet
        parents = portfolio.traces[-PARENTS:]
        added = [1.0] * len(parents)
    known = set(portfolio.traces)
    if portfolio.generations % 2:
        shorter = dict.fromkeys(trace[:at] + trace[at + 1 :] for trace in parents for at in range(len(trace)))
        if born := [trace for trace in shorter if trace and trace not in known]:
            return born[: 2 * OFFSPRING]
    rng = np.random.default_rng((seed, len(portfolio.traces)))
    prior = fit_prior(task.actions, zip(parents, added, strict=True))
    shares = np.array(added) + 0.03 * max(added)
    shares /= shares.sum()
    born = []
    while len(born) < OFFSPRING:
        mother, father = (parents[i] for i in rng.choice(len(parents), size=2, p=shares))
        child = _child(mother, father, prior, rng)[:LONGEST]
        if child and child not in known:
            known.add(child)
            born.append(child)
    return born


def _child(mother: Trace, father: Trace, prior: Prior, rng: np.random.Generator) -> Trace:
    """Cross two sequences, join them, or change one or two entries of the one."""
    kind = rng.random()
    if kind < 0.1:
        return mother + father
    if kind < 0.4:
        crossed = mother[: int(rng.integers(len(mother) + 1))] + father[int(rng.integers(len(father) + 1)) :]
        return crossed if rng.random() < 0.6 else _mutant(crossed, prior, rng)
    return _mutant(mother, prior, rng)


def _mutant(trace: Trace, prior: Prior, rng: np.random.Generator) -> Trace:
    """Insert, remove, replace or move an entry, or choose another of the same pass; once or twice."""
    entries = list(trace)

    def other(at: int) -> str:
        if rng.random() < 0.5:
            return prior.draw(entries[at - 1] if at else "", rng)
        return prior.actions[int(rng.integers(len(prior.actions)))]

    for _ in range(int(rng.integers(1, 3))):
        at = int(rng.integers(len(entries))) if entries else 0
        match rng.choice(["insert", "insert", "remove", "replace", "move", "parameters"]):
            case "remove" if entries:
                entries.pop(at)
            case "replace" if entries:
                entries[at] = other(at)
            case "move" if entries:
                moved = entries.pop(at)
                entries.insert(int(rng.integers(len(entries) + 1)), moved)
            case "parameters" if entries:
                name = entries[at].partition("<")[0]
                alike = [action for action in prior.actions if action.partition("<")[0] == name]
                entries[at] = alike[int(rng.integers(len(alike)))]
            case _:
                at = int(rng.integers(len(entries) + 1))
                entries.insert(at, other(at))
    return tuple(entries)
