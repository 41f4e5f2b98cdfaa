"""Search methods: one file each; every method works on every task.

The rows of LoopTune's table (Grubisic et al. 2023) are greedy, greedy-2, beam-2-dfs, beam-4-dfs, beam-2-bfs,
beam-4-bfs and random.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from burnish.core.errors import UnknownName
from burnish.core.guide import GuideFor
from burnish.core.result import Result
from burnish.search.annealing import annealing
from burnish.search.beam import beam, beam_tree
from burnish.search.budget import Budget
from burnish.search.coordinate import coordinate_descent
from burnish.search.each_site import each_site
from burnish.search.genetic import genetic
from burnish.search.greedy import epsilon_greedy, greedy
from burnish.search.hill_climbing import hill_climbing
from burnish.search.mcts import mcts
from burnish.search.mixed import mixed, sites_first
from burnish.search.problem import Problem
from burnish.search.random import random_search
from burnish.search.run import Method, Observer, Progress, run
from burnish.search.sitewise import sitewise

LOOKAHEADS = (2, 3)  # of greedy-2, which looks two steps ahead; greedy looks one
WIDTHS = (2, 4)  # of beam-2-dfs and beam-2-bfs, which extend the two best children of each state

SEARCHES: dict[str, Method] = {
    method.name: method
    for method in (
        Method("random", random_search),
        Method("greedy", greedy),
        *(Method(f"greedy-{steps}", partial(greedy, lookahead=steps)) for steps in LOOKAHEADS),
        Method("epsilon-greedy", epsilon_greedy),
        Method("beam", beam),
        *(
            Method(f"beam-{width}-{order}", partial(beam_tree, width=width, depth_first=order == "dfs"))
            for width in WIDTHS
            for order in ("dfs", "bfs")
        ),
        Method("hill-climbing", hill_climbing),
        Method("annealing", annealing),
        Method("coordinate", coordinate_descent),
        Method("genetic", genetic),
        Method("mcts", mcts),
        Method("sitewise", sitewise),
        Method("each-site", each_site),
        Method("mixed", mixed, first=sites_first),
    )
}

DEFAULT = "mixed"

__all__ = ["DEFAULT", "SEARCHES", "Budget", "Method", "Problem", "Progress", "search"]


def search(
    problem: Problem,
    budget: Budget,
    *,
    method: str = DEFAULT,
    seed: int = 0,
    guide_for: GuideFor | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Run one of SEARCHES by its name; see burnish.search.run.run.

    Raises:
        UnknownName: there is no such search.
        ProgramError: the program cannot be read.
    """
    if method not in SEARCHES:
        raise UnknownName.among("search", method, SEARCHES)
    return run(SEARCHES[method], problem, budget, seed=seed, guide_for=guide_for, observer=Observer(progress))
