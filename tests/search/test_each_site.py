"""Sites that do not touch each other are searched at once, each by trials of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import CompilerCrash
from burnish.core.objective import Objective, Observation
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.task import SearchHints, Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed
from burnish.search import SEARCHES, Budget
from burnish.search.each_site import each_site
from burnish.search.problem import Problem
from burnish.search.run import run
from burnish.search.space import Batch, Evaluation, SearchSpace
from burnish.workers.worker import GIB, Limits

pytestmark = pytest.mark.usefixtures("nothing_left")

SITES = tuple(f"s{number}" for number in range(12))
SWITCHES = tuple(f"on({number})" for number in range(20))
SHRINK = "shrink"  # of the program only
COST, SAVED = 100, 10


def wanted(site: str) -> tuple[int, int]:
    """Return the two switches that a site is cheaper with; of the others each costs."""
    number = SITES.index(site)
    return number % 20, (number * 7 + 3) % 20


class SwitchSession(Session):
    """Sites with switches: two save, the others cost; `on(19)` crashes where the program says so."""

    def __init__(self, program: Program) -> None:
        super().__init__((*SWITCHES, SHRINK))
        self.program = program
        self.on: dict[str, set[int]] = {site: set() for site in SITES}
        self.shrunk = False

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        return np.array([True] * len(SWITCHES) + [site == WHOLE_PROGRAM])

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        self.check_legal(action, site)
        if self.actions[action] == SHRINK:
            self.shrunk = True
        elif action == 19 and self.program.content == b"fragile" and site == SITES[1]:
            raise CompilerCrash("on(19)")
        else:
            for one in [site] if site else SITES:
                self.on[one].add(action)
        self.record(action, site)
        return True

    def observe(self, space: str) -> Observed:
        return np.zeros(1, dtype=np.int64)

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        if site == WHOLE_PROGRAM:
            return sum(self.cost(objective, one) for one in SITES) - 50 * self.shrunk
        right = self.on[site] & {*wanted(site)}
        return COST - SAVED * len(right) + len(self.on[site] - right)

    def sites(self) -> tuple[str, ...]:
        return SITES

    def digest(self) -> str:
        return f"{self.on}{self.shrunk}"

    def fork(self) -> Session:
        copy = SwitchSession(self.program)
        copy.on = {site: set(on) for site, on in self.on.items()}
        copy.shrunk, copy.trace = self.shrunk, list(self.trace)
        return copy


TASK = Task(
    name="switches",
    version=0,
    language="switches",
    actions=(*SWITCHES, SHRINK),
    observations={"nothing": Observation("nothing", "Nothing", shape=(1,))},
    objectives={"total": Objective("total", "units", "What it costs", dense=False)},
    open=SwitchSession,
    baselines={"off": SwitchSession},
    reference="off",
    max_steps=10,
    hints=SearchHints(independent_sites=True),
)


def hinted(**hints: Any) -> Task:
    """Return the task with further hints."""
    return replace(TASK, hints=replace(TASK.hints, **hints))


PROGRAM = Program("switches", "switches", b"plain")
OPTIMUM = len(SITES) * (COST - 2 * SAVED) - 50 + 2 * SAVED * (wanted("s9")[0] == wanted("s9")[1])


def searched(
    method: str, evaluations: int, task: Task = TASK, program: Program = PROGRAM, seed: int = 0
) -> Result:
    """Return what a search comes to."""
    problem = Problem(task, program, limits=Limits(deadline_seconds=20, memory_bytes=GIB))
    return run(SEARCHES[method], problem, Budget(evaluations=evaluations, workers=1), seed=seed)


def test_every_site_comes_to_its_own_best() -> None:
    assert all(len({*wanted(site)}) == 2 for site in SITES)
    found = searched("each-site", 200)
    assert found.cost == OPTIMUM
    session = SwitchSession(PROGRAM)
    session.replay(found.trace)
    assert session.cost("total") == found.cost
    assert {site: {*wanted(site)} for site in SITES} == session.on
    assert searched("sitewise", 120).cost > OPTIMUM + 50


def test_the_default_search_does_it_where_sites_are_apart() -> None:
    assert searched("mixed", 200).cost == OPTIMUM
    assert searched("mixed", 120, replace(TASK, hints=SearchHints())).cost > OPTIMUM


def test_same_seed_gives_the_same_result_on_any_number_of_workers() -> None:
    problem = Problem(TASK, PROGRAM)
    one, two = (
        run(SEARCHES["each-site"], problem, Budget(evaluations=40, workers=workers), seed=3)
        for workers in (1, 2)
    )
    assert (one.trace, one.cost) == (two.trace, two.cost)
    assert one.trace != searched("each-site", 40, seed=4).trace


def test_what_actions_were_worth_before_comes_first() -> None:
    good = {SWITCHES[number]: 1.0 for site in SITES[:2] for number in wanted(site)}
    two_sites = {"s0", "s1"}

    def right(result: Result) -> int:
        session = SwitchSession(PROGRAM)
        session.replay(result.trace)
        return sum(len(session.on[site] & {*wanted(site)}) for site in two_sites)

    assert right(searched("each-site", 14, hinted(prior_gains=good))) > right(searched("each-site", 14))


def test_what_gained_elsewhere_is_tried_at_every_site_first() -> None:
    """Twenty sets of two switches: each is right at the sites that want it."""
    sets = tuple(dict.fromkeys(tuple(SWITCHES[number] for number in wanted(site)) for site in SITES))
    found = searched("each-site", len(sets) + 6, hinted(suffixes=sets))
    assert found.cost == OPTIMUM
    assert searched("each-site", len(sets) + 6).cost > OPTIMUM
    unknown = (("on(99)",), ("on(99)", *sets[0]))  # of another version of the task
    assert searched("each-site", 5, hinted(suffixes=unknown)).cost < searched("each-site", 1).cost


def test_a_trial_that_crashes_says_nothing_and_ends_nothing() -> None:
    assert wanted("s1") == (1, 10)
    assert searched("each-site", 200, program=replace(PROGRAM, content=b"fragile")).cost <= OPTIMUM + SAVED


def evaluation(trace: tuple[str, ...], room: float) -> Evaluation:
    """Return what a trace costs at one site: it saves 3, and shares 1 more at a price of 4."""
    entries = len(trace)
    free, shared = 100.0 - 3 * min(entries, 1), 4.0 * min(entries, 1)
    return Evaluation(
        trace,
        free,
        trace,
        site_costs={"s": free + shared},
        unpriced={"s": free},
        room=room if entries else 1.0,
    )


@pytest.mark.parametrize(("room", "entries"), [(1.0, 1), (-3.0, 0)])
def test_what_sites_share_is_free_while_there_is_room(room: float, entries: int) -> None:
    space = SearchSpace(("a", "b"), ("a", "b"), ("s",), (evaluation((), 1.0),), 10, independent_sites=True)
    search = each_site(space, np.random.default_rng(0))
    batch = next(search)
    joined: list[Batch] = []
    for _ in range(8):
        batch = search.send([evaluation(tuple(trace), room) for trace in batch.traces])
        joined.append(batch)
    assert len(joined[-1].traces[0]) == entries


def test_a_program_without_sites_is_left_to_others() -> None:
    space = SearchSpace(("a",), (), (), (evaluation((), 1.0),), 10)
    assert not [*each_site(space, np.random.default_rng(0))]
