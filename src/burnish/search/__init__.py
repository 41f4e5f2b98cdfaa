"""Searches: each a file, each works on every task."""

from __future__ import annotations

from typing import Any

from burnish.core.errors import UnknownName
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.search.annealing import annealing
from burnish.search.beam import beam
from burnish.search.budget import Budget
from burnish.search.genetic import genetic
from burnish.search.greedy import epsilon_greedy, greedy
from burnish.search.hill_climbing import hill_climbing
from burnish.search.mcts import mcts
from burnish.search.mixed import mixed, sites_first
from burnish.search.random import random_search
from burnish.search.run import Progress, Search, run
from burnish.search.sitewise import sitewise

SEARCHES: dict[str, Search] = {
    "random": random_search,
    "greedy": greedy,
    "epsilon-greedy": epsilon_greedy,
    "beam": beam,
    "hill-climbing": hill_climbing,
    "annealing": annealing,
    "genetic": genetic,
    "mcts": mcts,
    "sitewise": sitewise,
    "mixed": mixed,
}

DEFAULT = "mixed"

FIRST: dict[str, Search] = {"mixed": sites_first}
"""What comes before the adviser's choices."""

__all__ = ["DEFAULT", "SEARCHES", "Budget", "Progress", "search"]


def search(task: Task, program: Program, *, method: str = DEFAULT, **options: Any) -> Result:
    """Run one of SEARCHES by its name; see burnish.search.run.run for the options.

    Raises:
        UnknownName: there is no such search.
    """
    if method not in SEARCHES:
        raise UnknownName.among("search", method, SEARCHES)
    return run(method, SEARCHES[method], task, program, first=FIRST.get(method), **options)
