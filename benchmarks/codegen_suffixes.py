"""Search for the code-generation decisions to try first at every function: suffixes in prior_gains.json.

    python benchmarks/codegen_suffixes.py --folder CORPUS [--gains GAINS.json] > suffixes.json

Each set of decisions is tried at all functions of programs of the train split, after the passes that a short
search finds. A set's gain at a function counts if the function is expected to be slower by no more than
--slowdown. Each round keeps the sets with the largest joint gain, where each function takes its best set, and
adds variations of them. At the end, decisions that a set does not need are removed from it. --from-shipped
begins with those of x86, each also with every learned order, instead of single decisions. --gains is
what `codegen.py worth` prints for the corpus, of another machine for example; default: those of x86.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from burnish.cc.requests import SPEED_LIMIT
from burnish.core.errors import BurnishError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.learning.portfolio.portfolio import greedy_cover
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.modules.objectives import within_limits
from burnish.policies import find as policies
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.search.stages import stage_after
from burnish.tasks.llvm_codegen.actions import ACTIONS, ORDERS, PRIORITIES
from burnish.tasks.llvm_codegen.prior_gains import prior_gains
from burnish.tasks.llvm_passes import TASK as PASS_ORDERING
from burnish.tasks.llvm_passes_and_codegen import TASK as STAGED

OBJECTIVE = within_limits("loaded-bytes", SPEED_LIMIT, 1.0)
OF_A_PROJECT = 4  # programs at most
LEAST_BYTES = 24  # size above which a function is considered
SEEDS = 8  # of each random order of allocation
PARENTS = 20
BATCH = 24  # new sets in a round
NEEDED = 0.995  # share of the joint gain that must remain when decisions are removed
ORDERED = (  # of allocation
    *(f"{kind}({seed})" for kind in ("allocate", "noise") for seed in range(SEEDS)),
    *(f"order({number})" for number in range(len(ORDERS))),
)
SINGLE = tuple(text for text in ACTIONS if text.partition("(")[0] in ("skip", "flat", "set"))
TRIES = 50  # of each new set, where a machine has few decisions
LEAST_WORTH = 0.02  # per cent: the least prior gain of an action, also of unknown ones

Floats = NDArray[np.float64]


class Measured:
    """Programs after their passes, and the gains of sets of decisions at each of their functions."""

    def __init__(self, programs: Iterable[Program], slowdown: float) -> None:
        self._slowdown = slowdown
        self._sessions: list[Session] = []
        self._before: list[tuple[list[str], Floats, Floats]] = []  # functions, bytes, expected run times
        self._known: dict[Trace, Floats] = {}
        shares: list[Floats] = []
        for program in programs:
            try:
                session = _behind_passes(program)
                costs, times = session.site_costs("loaded-bytes"), session.site_costs("slowdown")
            except BurnishError as error:
                print(f"{program.name}: left out: {error}", file=sys.stderr)
                continue
            sites = [site for site, cost in costs.items() if cost > LEAST_BYTES]
            self._sessions.append(session)
            self._before.append((sites, _values(costs, sites, 0.0), _values(times, sites, 1.0)))
            shares.append(np.full(len(sites), 1 / sum(costs.values())))
            print(f"{len(shares)}: {program.name}, {len(sites)} functions", file=sys.stderr, flush=True)
        self.shares = np.concatenate(shares) / len(shares)
        first = self._sessions[0]
        self.legal = {ACTIONS[i] for i in np.flatnonzero(first.legal(first.sites()[0]))}

    def gains(self, sets: Iterable[Trace]) -> Floats:
        """Return float64[sets, functions]: gains as shares of the function's program, over all programs."""
        return np.array([self._gained(one) for one in sets]) * self.shares

    def _gained(self, decisions: Trace) -> Floats:
        if decisions not in self._known:
            parts = [self._at(*pair, decisions) for pair in zip(self._sessions, self._before, strict=True)]
            self._known[decisions] = np.concatenate(parts)
        return self._known[decisions]

    def _at(self, session: Session, before: tuple[list[str], Floats, Floats], decisions: Trace) -> Floats:
        sites, costs, times = before
        other = session.fork()
        other.replay(decisions)
        saved = costs - _values(other.site_costs("loaded-bytes"), sites, 0.0)
        slower = _values(other.site_costs("slowdown"), sites, 1.0) > self._slowdown * times
        return np.where(slower, 0.0, saved.clip(0))


def evolve(
    measured: Measured, pool: Iterable[Trace], prior: Mapping[str, float], options: argparse.Namespace
) -> list[Trace]:
    """Return the sets with the largest joint gain, the best first.

    Args:
        pool: The sets of the first round; without decisions that are illegal for the programs.
        prior: The expected gains of single decisions.
    """
    rng, rounds, size = np.random.default_rng(options.seed), options.rounds, options.size
    prior = {text: gain for text, gain in prior.items() if text in measured.legal}
    others = [text for text in SINGLE if text in measured.legal]
    orders = [text for text in ORDERED if text in measured.legal]  # WebAssembly has none
    likely = np.array([max(prior.get(text, 0.0), LEAST_WORTH) for text in others])
    pool = dict.fromkeys(tuple(text for text in one if text in measured.legal) for one in pool)
    pool.pop((), None)
    for number in range(rounds + 1):
        sets = list(pool)
        rows, added = greedy_cover(measured.gains(sets), size)
        found = ", ".join(f"{100 * gain:.2f}" for gain in np.cumsum(added)[:12])
        print(f"round {number}, {len(sets)} sets: {found} % by the first ones", file=sys.stderr, flush=True)
        chosen = [sets[row] for row in rows]
        if number < rounds:
            for _ in range(TRIES * BATCH):
                if len(pool) < len(sets) + BATCH:
                    pool[_varied(chosen[:PARENTS], others, likely / likely.sum(), orders, rng)] = None
    return chosen


def shortened(measured: Measured, sets: list[Trace]) -> list[Trace]:
    """Remove decisions that the sets do not need, one after the other, from the last set first."""
    least = NEEDED ** (1 / len(sets))
    for i in reversed(range(len(sets))):
        for text in sets[i]:
            without = tuple(one for one in sets[i] if one != text)
            others = [*sets[:i], *([without] if without else []), *sets[i + 1 :]]
            if _together(measured, others) >= least * _together(measured, sets) and without:
                sets = others
    return list(dict.fromkeys(sets))


def _together(measured: Measured, sets: list[Trace]) -> float:
    return float(measured.gains(sets).max(axis=0).sum())


def _varied(
    parents: list[Trace],
    others: Sequence[str],
    likely: Floats,
    orders: Sequence[str],
    rng: np.random.Generator,
) -> Trace:
    """Return another set: the union of two, or one with up to three decisions added, removed or changed."""
    decisions = set(parents[rng.integers(len(parents))])
    if rng.random() < 0.3:
        decisions |= set(parents[rng.integers(len(parents))])
    else:
        for _ in range(1 + rng.integers(3)):
            edit = rng.random()
            if edit < 0.25 and len(decisions) > 1:
                decisions.discard(sorted(decisions)[rng.integers(len(decisions))])
            elif edit < 0.45 and orders:
                decisions = {text for text in decisions if not is_order(text)}
                decisions.add(orders[int(rng.integers(len(orders)))])
            else:
                decisions.add(others[rng.choice(len(others), p=likely)])
    further = [text for text in ACTIONS if text in decisions and is_order(text)][1:]
    return tuple(text for text in ACTIONS if text in decisions and text not in further)


def is_order(text: str) -> bool:
    """Return whether a decision orders the register allocator's live ranges; a function has one such."""
    return text.partition("(")[0] in PRIORITIES


def _single(prior: Mapping[str, float]) -> Iterator[Trace]:
    """Yield single decisions, and of each kind of order only the first."""
    yield from ((text,) for text in prior if text in SINGLE)
    yield from ((f"{kind}(0)",) for kind in PRIORITIES)


def _shipped() -> Iterator[Trace]:
    """Yield the sets of x86, each also with every learned order."""
    for decisions in prior_gains().suffixes:
        yield decisions
        others = [text for text in decisions if text in SINGLE]
        yield from ((*others, f"order({number})") for number in range(len(ORDERS)))


def _behind_passes(program: Program) -> Session:
    guide_for = policies.find_guide(policies.DEFAULT, PASS_ORDERING, OBJECTIVE)
    assert guide_for
    problem = Problem(PASS_ORDERING, program, OBJECTIVE)
    found = search(problem, Budget(evaluations=10, workers=1), guide_for=guide_for[0])
    return stage_after(STAGED, found.trace).open(program)


def _values(costs: dict[str, float], sites: list[str], otherwise: float) -> Floats:
    return np.array([costs.get(site, otherwise) for site in sites])


def programs_of(folder: Path, count: int, most: int, of_project: int = OF_A_PROJECT) -> list[Program]:
    """Return programs of the train split with up to `most` instructions, at most so many of each project."""
    corpus = open_corpus(folder).split("train")
    fitting = corpus.where(lambda row: 150 <= row.instructions <= most).shuffled(1)
    counts: Counter[str] = Counter()
    chosen: list[Program] = []
    for program in fitting:
        project = program.name.partition("/")[0]
        counts[project] += 1
        if counts[project] <= of_project:
            chosen.append(program)
        if len(chosen) == count:
            break
    return chosen


def main() -> None:
    """Search for sets, and print them with what they gain together."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="the corpus; default: a cache")
    parser.add_argument("--programs", type=int, default=70)
    parser.add_argument("--most", type=int, default=4000, help="instructions of a program")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument(
        "--from-shipped", action="store_true", help="begin with the sets of x86 and learned orders"
    )
    parser.add_argument("--size", type=int, default=16, help="sets that are kept")
    parser.add_argument("--slowdown", type=float, default=SPEED_LIMIT)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gains", type=Path, help="of single decisions")
    options = parser.parse_args()
    prior = json.loads(options.gains.read_text()) if options.gains else prior_gains().gains
    programs = programs_of(options.folder or default_folder(), options.programs, options.most)
    measured = Measured(programs, options.slowdown)
    pool = _shipped() if options.from_shipped else _single(prior)
    sets = shortened(measured, evolve(measured, pool, prior, options))
    rows, added = greedy_cover(measured.gains(sets), len(sets))
    Console(stderr=True).print(f"together {100 * sum(added):.2f} % of loaded bytes", highlight=False)
    json.dump([[*sets[row]] for row in rows], sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
