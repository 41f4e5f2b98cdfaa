"""Searches that a policy of states guides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from burnish.core.guide import Guide, GuideFor, InitialTraces, Prediction, Prior, State, in_order
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.core.task import SearchHints
from burnish.core.trace import Trace
from burnish.search import SEARCHES, Budget, Progress, search
from burnish.search.beam import beam
from burnish.search.evaluator import Evaluator
from burnish.search.mcts import mcts
from burnish.search.prefix_tree import PolicyInputs, PrefixTree
from burnish.search.problem import Problem
from burnish.search.random import random_search
from burnish.search.run import INITIAL_SHARE, Method, Observer, run
from burnish.search.space import Ask, Batch, Evaluation, Proposals, SearchSpace
from burnish.workers.worker import GIB, Limits
from tests.core.counting_task import ACTIONS, OPTIMUM, TASK, counters, open_counters
from tests.core.failures import failing_task
from tests.search.guides import Misleading, Perfect, by, shortest

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMITS = Limits(deadline_seconds=20, memory_bytes=GIB)
PROGRAM = counters("a=24 b=7")
PROBLEM = Problem(TASK, PROGRAM, limits=LIMITS)
GUIDED = pytest.mark.parametrize("method", ["beam", "mcts"])


def guided(
    method: str,
    guide_for: GuideFor,
    budget: int,
    problem: Problem = PROBLEM,
    workers: int = 1,
    **options: Any,
) -> Result:
    limit = Budget(evaluations=budget, workers=workers)
    return search(problem, limit, method=method, guide_for=guide_for, **options)


@GUIDED
@pytest.mark.parametrize("critic", [False, True])
def test_perfect_policy_leads_straight_to_the_optimum(method: str, critic: bool) -> None:
    """The two initial traces, the better one of them once more, and then a trace for each step."""
    way = shortest((12, 7))
    seen: list[Progress] = []
    run(
        Method(method, beam if method == "beam" else partial(mcts, exploration=1.25, rollout=0)),
        Problem(replace(TASK, hints=SearchHints((("halve",),))), PROGRAM),
        Budget(evaluations=3 + len(way), workers=1),
        guide_for=by(Perfect(critic=critic)),
        observer=Observer(seen.append),
    )
    assert seen[-1].best.cost == OPTIMUM
    assert seen[-1].best.trace == ("halve", *way)
    assert seen[-2].best.cost > OPTIMUM


def test_each_better_trace_is_observed_at_once() -> None:
    costs: list[float] = []
    seen: list[tuple[str, ...]] = []
    found = run(
        Method("beam", beam),
        Problem(TASK, PROGRAM),
        Budget(evaluations=40, workers=1),
        guide_for=by(Perfect()),
        observer=Observer(
            lambda progress: costs.append(progress.best.cost), lambda _evaluator, trace: seen.append(trace)
        ),
    )
    assert seen[-1] == found.trace and found.cost == costs[-1] == OPTIMUM
    assert len(seen) == len(set(seen)) > 1


@GUIDED
def test_misleading_policy_leads_to_the_optimum_in_the_end(method: str) -> None:
    assert guided(method, by(Misleading()), 12).cost > OPTIMUM
    assert guided(method, by(Misleading()), 500).cost == OPTIMUM


@GUIDED
@pytest.mark.parametrize("policy", [Perfect(0.5), Perfect(0.5, critic=True), Misleading(0.5)])
def test_result_depends_on_the_seed_alone(method: str, policy: Perfect) -> None:
    one, two = (guided(method, by(policy), 60, workers=workers, seed=3) for workers in (1, 2))
    assert (one.trace, one.cost, one.evaluations) == (two.trace, two.cost, two.evaluations)


@GUIDED
def test_search_survives_crashes(method: str) -> None:
    """The policy does not know the action that crashes, and a search tries what it does not know, too."""
    seen: list[Progress] = []
    problem = replace(PROBLEM, task=failing_task(TASK, "give-up"), program=counters("a=7"))
    guided(method, by(Perfect(0.5)), 40, problem, progress=seen.append)
    assert seen[-1].crashes > 0
    assert seen[-1].best.cost == OPTIMUM
    assert "give-up" not in seen[-1].best.trace


class Crashing(Perfect):
    """Is sure of what kills the compiler."""

    def of(self, state: State) -> Prediction:
        return Prediction(np.log(np.array([0.01, 0.01, 0.01, 0.01, 0.96])))


@GUIDED
def test_policy_that_kills_the_compiler_is_survived(method: str) -> None:
    policy = Crashing(actions=(*ACTIONS, "be-killed"))
    problem = replace(PROBLEM, task=failing_task(TASK, "be-killed"))
    assert guided(method, by(policy), 25, problem).cost < 1 + 31


@pytest.mark.parametrize("method", SEARCHES)
def test_every_search_takes_a_guide_with_everything(method: str) -> None:
    def guide_for(session: Session) -> Guide:
        prior = Prior(ACTIONS, np.full((5, 4), 0.25))
        return Guide(in_order([("halve",), ("subtract(1)",)]), (("halve",),), prior, Perfect())

    result = guided(method, guide_for, 60)
    assert result.cost < 32


def test_initial_traces_are_sent_what_they_cost() -> None:
    sent: list[float | None] = []

    def guide_for(session: Session) -> Guide:
        def initial_traces() -> InitialTraces:
            for trace in (("halve",), ("halve", "halve"), ("be-killed",), ("subtract(1)",)):
                sent.append((yield trace))

        return Guide(initial_traces=initial_traces())

    result = guided("random", guide_for, 20, replace(PROBLEM, task=failing_task(TASK, "be-killed")))
    assert sent[2] == math.inf and sent[3] is not None
    for cost, trace in zip(sent[:2], (("halve",), ("halve", "halve")), strict=True):
        session = TASK.open(PROGRAM)
        session.replay(trace)
        assert session.measure("total") == cost
    assert result.cost <= min(cost for cost in sent if cost)


def test_what_the_first_suffixes_find_at_sites_is_behind_every_later_start() -> None:
    """After the task's own trace 12 and 7 are left, then 6 and 6; what another gains beside that is told."""
    sent: list[float | None] = []
    seen: list[Progress] = []

    def guide_for(session: Session) -> Guide:
        def initial_traces() -> InitialTraces:
            sent.append((yield ("subtract(1)",)))
            sent.append(len(seen))
            sent.append((yield ("subtract(3)",)))

        return Guide(initial_traces=initial_traces(), suffixes=(("halve",), ("subtract(1)",)))

    result = guided("mixed", guide_for, 20, progress=seen.append)
    assert sent[0] == 1 + 23 + 6
    # the task's initial trace and that one, the better one with its sites' costs, the suffixes, both joined
    assert sent[1] == 1 + 1 + 1 + 2 + 1
    joined = seen[5].best
    assert (joined.trace, joined.cost) == (("halve", "a: halve", "b: subtract(1)"), 1 + 6 + 6)
    after = 1 + (24 - 3) + (7 - 3 - 1)  # "a: halve" is illegal there
    assert sent[2] == pytest.approx(after * (1 + 12 + 7) / (1 + 6 + 6))
    assert result.cost < joined.cost


def test_what_a_policy_knows_and_the_task_does_not_have_is_left_out() -> None:
    """The initial traces are the same without it, and so are the suffixes; equal ones are evaluated once."""
    sent: list[float | None] = []

    def guide_for(session: Session) -> Guide:
        def initial_traces() -> InitialTraces:
            for trace in (
                ("foreign", "halve"),
                ("halve", "foreign"),
                ("foreign",),
                ("foreign", "subtract(1)"),
            ):
                sent.append((yield trace))

        return Guide(initial_traces(), (("foreign",), ("halve", "foreign")))

    seen: list[SearchSpace] = []

    def looks(space: SearchSpace, rng: np.random.Generator) -> Proposals:
        seen.append(space)
        return random_search(space, rng)

    found = run(Method("looks", looks), PROBLEM, Budget(evaluations=10, workers=1), guide_for=guide_for)
    assert sent[0] == sent[1] and None not in sent
    initial_traces = {item.trace for item in seen[0].initial}
    assert initial_traces == {("halve",), ("subtract(1)",), ()} | set(TASK.hints.initial_traces)
    assert set(seen[0].suffixes) <= {("halve",)}
    assert "foreign" not in found.trace


@pytest.mark.parametrize("guided_by", [None, lambda session: Guide(in_order([("halve",), ("subtract(3)",)]))])
def test_least_budget_is_the_policy_alone(guided_by: GuideFor | None) -> None:
    task = replace(TASK, hints=SearchHints((("halve",),)))
    least = Budget(seconds=1e-9, workers=1)
    found = run(SEARCHES["mixed"], Problem(task, PROGRAM), least, guide_for=guided_by)
    assert found.evaluations == (2 if guided_by else 1)
    session = TASK.open(PROGRAM)
    session.replay(found.trace)
    assert session.measure("total") == found.cost < math.inf


def test_initial_traces_are_made_as_they_are_asked_for() -> None:
    made: list[int] = []

    def guide_for(session: Session) -> Guide:
        def initial_traces() -> Any:
            for number in range(100):
                made.append(number)
                copy = session.fork()
                copy.apply(0)
                yield ("halve",) * number
                copy.close()

        return Guide(initial_traces=initial_traces())

    result = guided("random", guide_for, 20)
    assert result.evaluations == 20
    assert INITIAL_SHARE * 20 < len(made) <= INITIAL_SHARE * 20 + 2


def test_no_suffix_without_a_policy_costs_what_its_end_costs() -> None:
    evaluator = Evaluator(PROBLEM, workers=1)
    traces: list[Trace] = [("halve", "add(1)"), ()]
    ends, lowest = Batch(traces, Ask.PREDICTION), Batch(traces)
    for batch in (ends, lowest):
        assert len(list(evaluator.evaluate(batch, most=None, end=None))) == 2
    assert [item.cost for item in evaluator.known(ends)] == [1 + 13 + 8, 1 + 31]
    assert [item.cost for item in evaluator.known(lowest)] == [1 + 12 + 7, 1 + 31]
    assert [item.prediction for item in evaluator.known(ends)] == [None, None]
    evaluator.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_predictions_are_of_the_state_at_the_end(workers: int) -> None:
    policy = Perfect(critic=True)
    evaluator = Evaluator(PROBLEM, workers=workers)
    evaluator.policy = policy
    traces: list[Trace] = [("subtract(3)",) * n for n in range(7)]
    batch = Batch(traces, Ask.PREDICTION)
    list(evaluator.evaluate(batch, most=None, end=None))
    for trace, found in zip(traces, evaluator.known(batch), strict=True):
        session = open_counters(PROGRAM)
        session.replay(trace)
        expected = policy.of(State((session.observe("values"),), session.legal()))
        assert found.state is None
        assert found.prediction is not None
        np.testing.assert_array_equal(found.prediction.log_probs, expected.log_probs)
        assert found.prediction.value == expected.value
    evaluator.close()


def test_state_that_was_looked_at_is_gone_on_from() -> None:
    session = open_counters(PROGRAM)
    tree = PrefixTree(session)
    goal = TASK.objective()
    trace = ("halve",) * 3
    inputs = PolicyInputs(("values",))
    list(tree.evaluate(trace, goal, Ask.PREDICTION, inputs, keep=0))
    kept = tree._kept.get((trace, False))
    assert kept and kept.session.trace == list(trace)
    *_, (found, _) = tree.evaluate((*trace, "subtract(1)"), goal, Ask.PREDICTION, inputs, keep=0)
    assert kept.session.trace == list(trace)
    assert found.state is not None
    assert found.cost == 1 + sum(found.state.observed[0])


SPACE = SearchSpace(("a", "b", "c"), (), (), (Evaluation((), 9.0),), 10)


def shares(space: SearchSpace, log_probs: Sequence[float], uniform: float = 0.0) -> list[float]:
    state = Evaluation(("b",), 1.0, prediction=Prediction(np.array(log_probs)))
    return [float(share) for share in space.probabilities(state, uniform)]


def test_probabilities_without_learning_are_alike() -> None:
    assert SPACE.probabilities(Evaluation((), 1.0)).tolist() == pytest.approx([1 / 3] * 3)


def test_probabilities_of_a_prior_are_those_after_the_last_action() -> None:
    rows = np.array([[0.2, 0.3, 0.5], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    space = replace(SPACE, prior=Prior(("a", "b", "c"), rows))
    assert space.probabilities(Evaluation((), 1.0)).tolist() == pytest.approx([0.2, 0.3, 0.5])
    assert space.probabilities(Evaluation(("c", "site: b"), 1.0)).tolist() == [0, 1, 0]
    assert space.probabilities(Evaluation(("b",), 1.0), 0.3).tolist() == pytest.approx([0.1, 0.8, 0.1])


def test_probabilities_of_a_policy_are_those_of_its_actions() -> None:
    """It chooses among c, x and a, of which x is none here; b it does not know."""
    space = replace(SPACE, policy=Perfect(actions=("c", "x", "a")))
    log = np.log
    assert shares(space, [log(0.2), log(0.5), log(0.3)]) == pytest.approx([0.6, 0, 0.4])
    assert shares(space, [log(0.2), log(0.5), log(0.3)], 0.3) == pytest.approx([0.52, 0.1, 0.38])
    assert shares(space, [-np.inf, log(0.5), log(0.5)], 0.3) == pytest.approx([0.85, 0.15, 0])
    assert shares(space, [-np.inf, log(1), -np.inf]) == [0, 1, 0]  # nothing that it would do is legal


def test_unguided_searches_do_not_change_with_a_policy_they_do_not_ask() -> None:
    plain = guided("genetic", lambda session: Guide(), 60, seed=5)
    told = guided("genetic", by(Perfect()), 60, seed=5)
    assert (plain.trace, plain.cost) == (told.trace, told.cost)


def test_widths_grow_until_no_action_is_left_out() -> None:
    """Of a policy that is sure of nothing, every state's every action is tried in the end."""
    result = run(
        Method("beam", partial(beam, patience=3)),
        Problem(TASK, counters("a=3")),
        Budget(evaluations=5000, workers=1),
        guide_for=by(Misleading()),
    )
    assert result.cost == OPTIMUM
    assert result.evaluations < 5000
