"""Evolution of a portfolio of sequences on many programs at once.

A sequence found on one program may gain nothing on the next. So a sequence is valued by its marginal gain per
time: what it adds, in the mean over programs, to the best of the sequences chosen before it (the marginal
contribution of Xu, Hoos and Leyton-Brown's Hydra, 2010). The sequences that add most are the parents of the
next candidates. Every other generation removes single entries, because sequences would only grow otherwise.
Candidates race (Maron and Moore 1994): only those best on a few programs are tried on all programs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.action import Action
from burnish.core.decoding import json_object
from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.guide import Prior
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.files import LineFile, read_json_lines, write_atomically
from burnish.learning.portfolio.costs import (
    CostsAndSeconds,
    log_ratios,
    measure_reference,
    measure_traces,
    relative_seconds,
)
from burnish.learning.portfolio.portfolio import MOST, OVERHEAD, Generation, Portfolio
from burnish.learning.training.collect import LIMITS
from burnish.search.mutation import cross, mutate
from burnish.workers.executor import IN_TURN, Executor, in_order, program_shard
from burnish.workers.worker import Worker

SURVIVORS = 24  # most candidates that are tried on all programs
SCREEN = 32  # programs that all candidates are tried on; the survivors are then tried on the others
CARRIED = 200  # most sequences that are tried on programs added later
CHUNK = 16  # programs that are checked together, until there are enough
CANDIDATES = 96  # of a generation; up to twice as many if entries are removed
TRIES = 50  # draws per candidate, to find sequences that were not tried yet
PARENTS = 64  # sequences of the portfolio that are varied, beside the reference
LONGEST = 14  # entries of a candidate
MOST_CHANGES = 2  # changed entries of a parent
UNIFORM = 0.1  # share of the uniform distribution in every row, so that no action has probability 0
PSEUDOCOUNT = 4.0  # weight of the unigram distribution in every row, in observations


@dataclass(frozen=True)
class PortfolioSetup:
    """Settings of the evolution and of its measurements."""

    task: Task
    objective: str
    count: int  # programs to evolve on: the first that can be opened and are not too slow
    slowest: float  # seconds that the reference may take on a program
    generations: int  # including those in the state file
    seed: int = 0  # of the candidates
    left_out: tuple[str, ...] = ()  # prefixes of actions that no sequence may have: they are for single sites
    do: Executor = IN_TURN  # measures the programs, a shard each

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions that sequences are made of."""
        return self.without([*self.task.actions])

    def without(self, entries: Sequence[str]) -> Trace:
        """Return the entries whose actions are not left out."""
        return tuple(text for text in entries if not text.startswith(self.left_out))

    def suitable(self, programs: Sequence[Program], count: int) -> list[tuple[str, float]]:
        """Return the first `count` programs whose reference is not too slow: (name, cost)."""
        found: list[tuple[str, float]] = []
        for begin in range(0, len(programs), CHUNK):
            if len(found) >= count:
                break
            part = programs[begin : begin + CHUNK]
            shards = [program_shard(_reference, self.task, program, self.objective) for program in part]
            for program, row in zip(part, in_order(self.do, shards), strict=True):
                if row and row[1] <= self.slowest:
                    found.append((program.name, row[0]))
        return found[:count]

    def measure(self, programs: Sequence[Program], traces: Sequence[Trace]) -> Generation:
        """Measure sequences on programs."""
        shards = [
            program_shard(_column, self.task, program, self.objective, tuple(traces)) for program in programs
        ]
        columns = list(in_order(self.do, shards))
        costs = [[math.inf if cost is None else cost[0] for cost, _ in column] for column in columns]
        seconds = [[seconds for _, seconds in column] for column in columns]
        return Generation(list(traces), np.array(costs).T, np.array(seconds).T)


def _reference(task: Task, program: Program, objective: str) -> tuple[float, float] | None:
    """Return the reference's cost, and the seconds of applying it; None if the compiler fails."""
    try:
        with closing(Worker(LIMITS)) as worker:
            (cost,), seconds = measure_reference(task, program, [objective], worker)
    except (CompilerCrash, ProgramError):
        return None
    return cost, seconds


def _column(task: Task, program: Program, objective: str, traces: Sequence[Trace]) -> list[CostsAndSeconds]:
    """Measure sequences on a program."""
    with closing(Worker(LIMITS)) as worker:
        return measure_traces(task, program, traces, [objective], worker)


def evolve(
    setup: PortfolioSetup, programs: Sequence[Program], first: Sequence[Trace], state: Path
) -> Iterator[Portfolio]:
    """Measure a first generation of sequences, then evolve; yield one growing portfolio every generation.

    A killed run continues after its last generation. If the state file has fewer programs than
    `setup.count`, its best sequences are the first generation on all programs. Two runs may differ, because
    choices depend on measured times.

    `first` begins with the reference. The state file has a JSON line with the programs and their references,
    then one for each generation.

    Raises:
        InputError: the state file has other programs or another objective.
    """
    known = read_json_lines(state, json_object, appended=True)
    head, *rows = known or [{"count": 0, "programs": []}]
    if (evolved_for := head.get("objective", setup.objective)) != setup.objective:
        raise InputError(
            f"{state}: evolved for {evolved_for}, expected {setup.objective}; choose another file"
        )
    if head["count"] < setup.count:
        head, rows = _widened(setup, head, rows, programs)
        lines = [json.dumps(line) + "\n" for line in (head, *rows)]
        write_atomically(state, "".join(lines).encode())
    chosen = _named(programs, head["programs"], state)
    portfolio = _portfolio(head, rows)
    if rows:
        yield portfolio
    for number in range(len(rows), setup.generations):
        if number == 0:
            generation = setup.measure(chosen, list(dict.fromkeys(map(setup.without, first))))
        else:
            generation = _race(setup, portfolio, chosen, np.random.default_rng((setup.seed, number)))
        with closing(LineFile(state, keep=True)) as file:
            file.append(json.dumps(generation.line()))
        portfolio.add(generation)
        yield portfolio


def _widened(
    setup: PortfolioSetup,
    head: dict[str, Any],
    rows: Sequence[dict[str, Any]],
    programs: Sequence[Program],
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the lines of a state file with more programs, on which the best sequences so far are tried."""
    others = [program for program in programs if program.name not in head["programs"]]
    found = setup.suitable(others, setup.count - len(head["programs"]))
    if not head["programs"] and not found:
        raise InputError(
            f"on none of the programs does {setup.task.reference} take {setup.slowest:g} s or less"
        )
    wider = {
        "objective": setup.objective,
        "count": setup.count,
        "programs": head["programs"] + [name for name, _ in found],
        "references": head.get("references", []) + [cost for _, cost in found],
    }
    if not rows or not found:
        return wider, list(rows)
    before = _portfolio(head, rows)
    carried = [before.traces[0], *before.chosen(CARRIED)[0]]
    at = [before.traces.index(trace) for trace in carried]
    here = setup.measure([program for program in others if program.name in dict(found)], carried)
    left = [trace for trace in before.traces if trace not in carried]
    generation = Generation(
        carried,
        np.hstack([before.costs[at], here.costs]),
        np.hstack([before.seconds[at], here.seconds]),
        left,
    )
    return wider, [generation.line()]


def _portfolio(head: dict[str, Any], rows: Sequence[dict[str, Any]]) -> Portfolio:
    """Return the portfolio that a state file's lines hold."""
    nothing = np.zeros((0, len(head["programs"])))
    portfolio = Portfolio(head["programs"], np.array(head["references"]), [], nothing, nothing)
    for row in rows:
        portfolio.add(Generation.read(row, len(portfolio.programs)))
    return portfolio


def _named(programs: Sequence[Program], names: Sequence[str], state: Path) -> list[Program]:
    """Return the programs with the given names."""
    wanted, found = set(names), dict[str, Program]()
    for program in programs:
        if program.name in wanted:
            found[program.name] = program
        if len(found) == len(wanted):
            return [found[name] for name in names]
    missing = next(name for name in names if name not in found)
    raise InputError(f"{state}: evolved on {missing}, which no longer exists; choose another file")


def _race(
    setup: PortfolioSetup, portfolio: Portfolio, programs: Sequence[Program], rng: np.random.Generator
) -> Generation:
    """Measure candidates on some of the programs, and the best candidates on the others."""
    parents_of, candidates = next_candidates(setup.actions, portfolio, rng)
    if len(programs) <= SCREEN:
        return setup.measure(programs, candidates)
    order = rng.permutation(len(programs))
    few, others = order[:SCREEN], order[SCREEN:]
    tried = setup.measure([programs[i] for i in few], candidates)
    worth = _worth(portfolio, tried, parents_of, few)
    kept = [int(i) for i in np.argsort(-worth, kind="stable")[:SURVIVORS] if worth[i] > 0]
    survivors = [candidates[i] for i in kept]
    rest = setup.measure([programs[i] for i in others], survivors)
    back = np.argsort(order)
    return Generation(
        survivors,
        np.hstack([tried.costs[kept], rest.costs])[:, back],
        np.hstack([tried.seconds[kept], rest.seconds])[:, back],
        [trace for trace in candidates if trace not in survivors],
    )


def _worth(
    portfolio: Portfolio, tried: Generation, parents_of: Sequence[int], few: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the larger of n sequences' marginal gains per time, as an addition or in the parent's place.

    In the parent's place, the parent's own marginal gain per time is subtracted. The sequences were
    tried on the programs with the indices `few`; `parents_of` are the parents' numbers in the portfolio.
    """
    known = portfolio.log_ratios[:, few].clip(0, MOST)
    time = OVERHEAD + portfolio.relative_seconds[:, few].mean(axis=1)
    gains = log_ratios(portfolio.references[few], tried.costs).clip(0, MOST)
    reference = [portfolio.traces[0], *tried.traces]
    seconds = np.vstack([portfolio.seconds[:1, few], tried.seconds])
    times = OVERHEAD + relative_seconds(reference, seconds, seconds[0])[1:].mean(axis=1)
    order, _ = portfolio.numbers(PARENTS)
    best = known[order].max(axis=0, initial=0)
    worth: NDArray[np.float64] = np.maximum(gains - best, 0).sum(axis=1) / times
    for i, parent in enumerate(parents_of):
        others = known[[number for number in order if number != parent]].max(axis=0, initial=0)
        own = np.maximum(known[parent] - others, 0).sum() / time[parent]
        worth[i] = max(worth[i], np.maximum(gains[i] - others, 0).sum() / times[i] - own)
    return worth


def next_candidates(
    actions: Sequence[str], portfolio: Portfolio, rng: np.random.Generator
) -> tuple[list[int], list[Trace]]:
    """Return the parents' numbers in the portfolio, and untried sequences that vary those parents.

    Parents are the sequences that add most, and the reference, because sequences that begin with the
    reference take little time.
    """
    numbers, added = portfolio.numbers(PARENTS)
    numbers, added = [0, *numbers], [max(added, default=1.0), *added]
    parents = [portfolio.traces[i] for i in numbers]
    known = {*portfolio.traces, *portfolio.dropped, ()}
    parents_of, candidates = [], []

    def add(child: Trace, parent: int) -> None:
        if child not in known:
            known.add(child)
            parents_of.append(numbers[parent])
            candidates.append(child)

    if portfolio.generations % 2:
        for parent, trace in enumerate(parents):
            for at in range(len(trace)):
                add(trace[:at] + trace[at + 1 :], parent)
        if candidates:
            return parents_of[: 2 * CANDIDATES], candidates[: 2 * CANDIDATES]
    variation = Variation(fit_prior(actions, zip(parents, added, strict=True)), rng)
    shares = np.array(added) + 0.03 * max(added)
    shares /= shares.sum()
    for _ in range(TRIES * CANDIDATES):  # few actions and short parents may not have enough variations
        if len(candidates) == CANDIDATES:
            break
        parent, other = rng.choice(len(parents), size=2, p=shares)
        add(variation.candidate(parents[parent], parents[other])[:LONGEST], parent)
    return parents_of, candidates


@dataclass(frozen=True)
class Variation:
    """Random variation of sequences, with a prior over successive actions."""

    prior: Prior
    rng: np.random.Generator

    @cached_property
    def by_kind(self) -> dict[str, list[str]]:
        """The actions of each kind."""
        kinds: dict[str, list[str]] = {}
        for action in self.prior.actions:
            kinds.setdefault(Action.parse(action).kind, []).append(action)
        return kinds

    def candidate(self, parent: Trace, other: Trace) -> Trace:
        """Cross or join two sequences, or change one or two entries of `parent`."""
        kind = self.rng.random()
        if kind < 0.1:
            return parent + other
        if kind < 0.4:
            crossed = cross(parent, other, self.rng)
            return crossed if self.rng.random() < 0.6 else self.mutant(crossed)
        return self.mutant(parent)

    def mutant(self, trace: Trace) -> Trace:
        """Insert, remove, replace or move an entry, or choose another action of its kind; once or twice."""
        longest = len(trace) + MOST_CHANGES
        return mutate(trace, self._draw, self.rng, longest=longest, most=MOST_CHANGES, by_kind=self.by_kind)

    def _draw(self, before: Sequence[str]) -> str:
        if self.rng.random() < 0.5:
            return self.prior.draw(before[-1] if before else "", self.rng)
        return self.prior.actions[int(self.rng.integers(len(self.prior.actions)))]


def fit_prior(actions: Sequence[str], traces: Iterable[tuple[Trace, float]]) -> Prior:
    """Fit a bigram model, smoothed by the unigrams and these by the uniform distribution.

    (Dirichlet smoothing: MacKay and Peto 1995, equation 22.)

    Args:
        actions: The n actions.
        traces: Each with its weight, such as its log ratio. The mean weight counts as one observation; traces
            with a weight of 0 or below are ignored.
    """
    index = {action: i for i, action in enumerate(actions)}
    kept = [(trace, weight) for trace, weight in traces if weight > 0]
    mean = sum(weight for _, weight in kept) / max(len(kept), 1)
    counts = np.zeros((1 + len(actions), len(actions)))
    for trace, weight in kept:
        before = 0
        for action in trace:
            counts[before, index[action]] += weight / mean
            before = 1 + index[action]
    alone = counts.sum(axis=0) + 1 / len(actions)
    alone /= alone.sum()
    rows = (counts + PSEUDOCOUNT * alone) / (counts.sum(axis=1, keepdims=True) + PSEUDOCOUNT)
    return Prior(tuple(actions), (1 - UNIFORM) * rows + UNIFORM / len(actions))
