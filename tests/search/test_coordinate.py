"""Coordinate descent on answers whose costs are known."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from burnish.core.trace import Trace
from burnish.search import Budget, search
from burnish.search.coordinate import TOGETHER, Change, changed, coordinate_descent
from burnish.search.problem import Problem
from burnish.search.space import Batch, Evaluation, SearchSpace
from burnish.tasks.llvm_inlining import TASK as INLINING
from tests.core.asking_task import TASK as ASKING
from tests.core.asking_task import calls, optimum
from tests.sources import program


def descend(
    cost: Callable[[set[str]], float], batches: int = 99, sites: str = "abcdefghij"
) -> list[tuple[Batch, list[Evaluation]]]:
    """Run the search on a cost by the sites that are answered, all of them with `no`.

    Return the batches, and what they were sent.
    """

    def evaluated(trace: Trace) -> Evaluation:
        answered = {text[0] for text in trace}
        legal = tuple(f"{site}: no" for site in sites if site not in answered)
        return Evaluation(trace, cost(answered), trace, legal=legal)

    space = SearchSpace(("no",), (), tuple(sites), (evaluated(()),), 99, by_state=True, asks=True)
    proposals = coordinate_descent(space, np.random.default_rng(0))
    seen: list[tuple[Batch, list[Evaluation]]] = []
    with suppress(StopIteration):
        batch = next(proposals)
        for _ in range(batches):
            seen.append((batch, [evaluated(trace) for trace in batch.traces]))
            batch = proposals.send(seen[-1][1])
    return seen


def best(seen: list[tuple[Batch, list[Evaluation]]]) -> Evaluation:
    return min((found for _, evaluations in seen for found in evaluations), key=lambda item: item.order)


def test_gains_are_kept_in_one_sweep() -> None:
    """Each site gains or loses alone: after one trial of each, and one of those that gain, it is done."""
    gains = {"a": 5, "c": 3, "f": 7, "i": 2}

    def cost(sites: set[str]) -> float:
        return 100.0 - sum(gains.get(site, -1) for site in sites)

    seen = descend(cost, batches=5)
    sizes = [len(batch.traces) for batch, _ in seen]
    assert sizes == [1, TOGETHER, 1, 2, 1]  # look; the first sites; their gains; the rest; look again
    assert best(seen[:4]).cost == 100 - sum(gains.values())


def test_gains_that_exclude_each_other_are_not_kept_together() -> None:
    def cost(sites: set[str]) -> float:
        return (
            100.0
            - 4 * ("a" in sites)
            - 5 * ("b" in sites)
            + 20 * ({"a", "b"} <= sites)
            + len(sites - {*"ab"})
        )

    assert best(descend(cost, batches=4)).trace == ("b: no",)


def test_an_answer_is_taken_back_where_a_later_one_makes_it_worse() -> None:
    """At first "a" gains; "j", which is not tried together with it, gains less with it than without."""
    known = {"": 100.0, "a": 90.0, "aj": 85.0, "j": 80.0}

    def cost(sites: set[str]) -> float:
        return known.get("".join(sorted(sites)), 200.0)

    assert best(descend(cost, batches=4)).trace == ("a: no", "j: no")
    assert best(descend(cost, batches=5)).trace == ("j: no",)


def test_two_changes_that_gain_together_only_are_found() -> None:
    def cost(sites: set[str]) -> float:
        return 100.0 + len(sites) - 30 * ({"b", "d"} <= sites)

    assert best(descend(cost, batches=60)).cost == cost({"b", "d"})


def test_it_ends_where_nothing_is_left_to_change() -> None:
    seen = descend(lambda sites: 100.0 + len(sites), sites="a")
    assert [len(batch.traces) for batch, _ in seen] == [1, 1]
    assert len(descend(lambda sites: 100.0, sites="")) == 1


def test_changed_appends_and_takes_back_the_last() -> None:
    trace = ("a: no", "b: no", "a: no")
    assert changed(trace, [Change("a: no", True), Change("c: no", False)]) == ("a: no", "b: no", "c: no")
    assert changed(trace, [Change("z: no", True)]) == trace


def test_the_optimum_of_an_asking_compiler_is_found_in_fewer_trials_than_greedy_takes() -> None:
    asking = calls("main 4: f g f; f 2: h; g 6: h h; h 5:")
    costs = {}
    for method in ("coordinate", "greedy"):
        problem = Problem(ASKING, asking)
        found = search(problem, Budget(evaluations=60, workers=1), method=method)
        costs[method] = found.cost
    assert costs["coordinate"] == optimum(asking) <= costs["greedy"]


def test_alternatives_are_the_other_answers_by_how_certain_the_heuristic_was() -> None:
    session = INLINING.open(program("classes.cpp"))
    columns = list(INLINING.observation("questions").columns)
    rows = dict(zip(session.sites(), session.observe("questions"), strict=True))
    margins = []
    for entry in session.alternatives():
        site, _, answer = entry.rpartition(": ")
        assert session.actions.index(answer) == 1 - rows[site][columns.index("inlined")]
        threshold = columns.index("threshold", columns.index("weighed"))  # the heuristic's; LLVM's is before
        margins.append(abs(int(rows[site][columns.index("cost_estimate")] - rows[site][threshold])))
    assert len(margins) == len(rows) > 0
    assert margins == sorted(margins)
    first = session.alternatives()[0]
    session.replay([first])
    assert first not in session.alternatives()
