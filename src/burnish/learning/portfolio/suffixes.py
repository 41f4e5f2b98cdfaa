"""Learning of suffixes: short traces to try on every function after the whole program was optimized.

A function's actions change the cost of that function only. So one evaluation of a suffix on a program is an
independent experiment on each of its functions, which makes thousands of experiments an hour. Suffixes that
gained more than all others somewhere are tried on the next programs, and varied.
"""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from burnish.core.action import Action
from burnish.core.decoding import json_object
from burnish.core.errors import BurnishError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import Trace, entry
from burnish.files import LineFile, read_json_lines
from burnish.learning.portfolio.portfolio import greedy_cover
from burnish.learning.training.collect import LIMITS
from burnish.search.evaluator import Evaluator
from burnish.search.mutation import draw_suffix
from burnish.search.problem import Problem
from burnish.search.space import Ask, Batch
from burnish.workers.executor import IN_TURN, Executor, in_order, program_shard

POOL = 32  # the best suffixes so far that are tried on every program
NEW = 32  # variations and random suffixes that are tried on a program in every round
ROUNDS = 3  # rounds per program; each starts from the best state of the round before
KEPT = 8  # most suffixes of a round that are credited
LONGEST = 6  # entries of a suffix
RANDOM = 0.3  # share of random suffixes among the new ones
LONGEST_RANDOM = 4  # entries of a random suffix


@dataclass(frozen=True)
class SuffixSetup:
    """Settings of the learning of suffixes."""

    task: Task
    objective: str
    prefixes: tuple[Trace, ...]
    """Traces of the whole program; suffixes follow the best of these on each program."""
    actions: tuple[str, ...]  # legal at a single site
    always: tuple[Trace, ...] = ()
    """Suffixes that are tried on every program, beside the best so far."""


def learn_suffixes(
    setup: SuffixSetup,
    programs: Sequence[Program],
    state: Path,
    *,
    seed: int,
    do: Executor = IN_TURN,
    together: int = 1,
    progress: Callable[[str, float, int], None] | None = None,
) -> dict[Trace, float]:
    """Try suffixes on program after program: {suffix: credit}, the best first.

    The credit is the sum, over programs, of the share of the program's cost that the suffix saved beyond the
    savings of better suffixes of the same round. A killed run continues with the missing programs.

    The programs are tried in rounds of `together`, a shard each, with the best suffixes of earlier rounds. So
    the credits depend neither on the executor `do` nor on kills.

    The state file has a JSON line for each program, in their order. `progress` gets a program's name, the
    share of its cost saved, and the number of rows so far.
    """
    rows = read_json_lines(state, json_object, appended=True)
    done = {row["program"] for row in rows}
    left = iter(programs)
    with closing(LineFile(state, keep=True)) as file:
        while part := list(itertools.islice(left, together)):
            names = {program.name for program in part}
            best = credits_of([row for row in rows if row["program"] not in names])
            pool = tuple(dict.fromkeys([*setup.always, *list(best)[:POOL]]))
            more = setup.objective, setup.prefixes, setup.actions, pool, seed
            missing = [program for program in part if program.name not in done]
            shards = [program_shard(_tried, setup.task, program, *more) for program in missing]
            for made in in_order(do, shards):
                if made:
                    rows.append(made)
                    file.append(json.dumps(made))
                    if progress:
                        progress(made["program"], made["saved"], len(rows))
    return credits_of(rows)


def credits_of(rows: Sequence[dict[str, Any]]) -> dict[Trace, float]:
    """Return {suffix: credit} over all rows, the best first."""
    total: dict[Trace, float] = defaultdict(float)
    for row in rows:
        for suffix, share in row["credits"]:
            total[tuple(suffix)] += share
    return dict(sorted(total.items(), key=lambda item: (-item[1], item[0])))


def _tried(
    task: Task,
    program: Program,
    objective: str,
    prefixes: Sequence[Trace],
    actions: Sequence[str],
    pool: Sequence[Trace],
    seed: int,
) -> dict[str, Any] | None:
    """Try suffixes on a program; return its row of the state file, or None if it cannot be compiled."""
    rng = np.random.default_rng((seed, int(program.digest[:8], 16)))
    evaluator = Evaluator(Problem(task, program, objective, limits=LIMITS), workers=1)

    def evaluate(traces: Sequence[Trace]) -> list[Any]:
        batch = Batch(list(traces), Ask.SITE_COSTS)
        for _ in evaluator.evaluate(batch, most=None, end=None):
            pass
        return evaluator.known(batch)

    try:
        current = min(evaluate(prefixes), key=lambda item: item.order)
        begin = current.cost
        credited: list[tuple[Trace, float]] = []
        for _ in range(ROUNDS):
            drawn = [
                draw_suffix(actions, pool, rng, longest=LONGEST_RANDOM, fresh=RANDOM, join=True)
                for _ in range(NEW)
            ]
            suffixes = list(dict.fromkeys([*pool, *(suffix[:LONGEST] for suffix in drawn)]))
            tried = evaluate([current.path + suffix for suffix in suffixes])
            sites = list(current.site_costs)
            before = np.array([current.site_costs[site] for site in sites])
            costs = np.array(
                [
                    [item.site_costs.get(site, cost) for site, cost in zip(sites, before, strict=True)]
                    for item in tried
                ]
            )
            order, gains = greedy_cover((before - costs).clip(min=0), KEPT)
            if not order:
                break
            credited += [(suffixes[i], gain / begin) for i, gain in zip(order, gains, strict=True)]
            joined = current.path
            for at, site in enumerate(sites):
                best = int(costs[:, at].argmin())
                if costs[best, at] < before[at]:
                    joined += tuple(entry(action, site) for action in suffixes[best])
            (candidate,) = evaluate([joined])
            current = min(candidate, *tried, current, key=lambda item: item.order)
    except BurnishError:
        return None
    finally:
        evaluator.close()
    return {"program": program.name, "cost": begin, "saved": 1 - current.cost / begin, "credits": credited}


def attributes_first(suffixes: Iterable[Trace], left: Collection[Trace]) -> tuple[Trace, ...]:
    """Return suffixes in another order: first, for each pass, the first suffix that is in `left`.

    `left` has the single actions that only sites may have. They are tried before anything else, because they
    cost no more than code generation.
    """
    every, passes = tuple(suffixes), dict[str, Trace]()
    for suffix in every:
        if suffix in left:
            passes.setdefault(Action.parse(suffix[0]).kind, suffix)
    return tuple(dict.fromkeys([*passes.values(), *every]))
