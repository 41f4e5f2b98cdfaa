from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import IllegalAction, InputError, ReplayError, UnknownName
from burnish.envs.env import Env
from burnish.learning.agents.demonstrations import Demonstration, best_demonstrations, demonstrate, record
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.workers.worker import Limits
from tests.core.asking_task import TASK as ASKING
from tests.core.asking_task import calls
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task
from tests.core.splitting_task import TASK as SPLITTING
from tests.core.splitting_task import pieces
from tests.learning.agents.exhaustive import PASSES, pass_env
from tests.sources import program


def counting_env(*texts: str, max_steps: int = 7, **options: Any) -> Env:
    return Env(TASK, [counters(text) for text in texts], max_steps=max_steps, limits=None, **options)


def demonstration(text: str, *trace: str, cost: float, reference: float = 10.0) -> Demonstration:
    return Demonstration(counters(text), trace, cost, reference)


def test_a_demonstration_is_what_was_seen_before_each_action() -> None:
    env = counting_env("a=6")
    steps = demonstrate(env, demonstration("a=6", "halve", "subtract(3)", cost=1.0))
    assert [step.observation.tolist() for step in steps] == [[6, 0, 0, 0], [3, 0, 0, 0]]
    assert [step.mask.tolist() for step in steps] == [[True] * 4, [False, True, True, True]]
    assert [step.action for step in steps] == [0, 2]
    assert [step.to_go for step in steps] == pytest.approx([math.log(7), math.log(4)])
    assert {step.gain for step in steps} == {math.log(10)}


def test_the_returns_to_go_are_those_of_the_log_reward() -> None:
    env = counting_env("a=13")
    trace = ("subtract(1)", "halve", "halve", "subtract(3)")
    steps = demonstrate(env, demonstration("a=13", *trace, cost=1.0))
    env.reset()
    rewards = [env.step(step.action)[1] for step in steps]
    assert [step.to_go for step in steps] == pytest.approx(np.cumsum(rewards[::-1])[::-1].tolist())


def test_a_costly_objective_pays_at_the_end_only() -> None:
    env = counting_env("a=6 b=2", objective="largest")
    steps = demonstrate(env, demonstration("a=6 b=2", "halve", "subtract(1)", cost=3.0))
    assert [step.to_go for step in steps] == pytest.approx([math.log(7 / 3)] * 2)


def test_sites_are_numbered_as_at_the_beginning_of_the_episode() -> None:
    """The sites of a=4 b=9 are b, a; when b is 0, a keeps its number."""
    env = counting_env("a=4 b=9", sites=2)
    trace = ("b: subtract(3)", "b: halve", "b: subtract(3)", "a: halve")
    steps = demonstrate(env, demonstration("a=4 b=9", *trace, cost=3.0))
    assert [step.action for step in steps] == [4 + 2, 4 + 0, 4 + 2, 8 + 0]


def test_a_site_that_is_born_has_the_number_of_its_place() -> None:
    """1 is split into 1.0 in its place, and 1.1 in the next; where 1.0 was, there is 1.1.0 in the end."""
    env = Env(SPLITTING, pieces("4"), sites=2, limits=None)
    trace = ("1: split", "1.1: split", "1.0: split", "1.0.0: burn")
    shown = Demonstration(pieces("4"), trace, 4.0, 17.0)
    assert [step.action for step in demonstrate(env, shown)] == [4 + 2, 8 + 2, 4 + 2, 4 + 3]
    with pytest.raises(UnknownName, match=r"no site named '1\.1\.1'"):
        demonstrate(env, replace(shown, trace=(*trace[:2], "1.1.1: burn")))


def test_an_answer_is_an_action_on_the_whole_program() -> None:
    """The second one is at the first site's place: it is not what is asked."""
    source = calls("main 1: f g; f 9:; g 8:")
    env = Env(ASKING, source, sites=1, limits=None)
    shown = Demonstration(source, ("main > f #1: inline", "main > g #1: leave"), 21.0, 24.0)
    assert [step.action for step in demonstrate(env, shown)] == [1, 0]
    env = Env(ASKING, source, sites=2, limits=None)
    shown = replace(shown, trace=shown.trace[::-1])
    assert [step.action for step in demonstrate(env, shown)] == [2 * 3 + 0, 1]


@pytest.mark.parametrize("objective", ["ir-instructions", "text-bytes"])
def test_the_actions_of_what_a_search_found_reach_its_cost(objective: str) -> None:
    source = program("strings.c")
    problem = Problem(LLVM, source, objective)
    found = search(problem, Budget(evaluations=40, workers=1), method="random")
    env = Env(LLVM, source, objective=objective, max_steps=60)
    steps = demonstrate(env, Demonstration(source, found.trace, found.cost, 2 * found.cost))
    env.reset()
    for step in steps:
        assert step.mask[step.action]
        env.step(step.action)
    assert env.session.measure(objective) == found.cost
    assert env.trace == found.trace
    env.close()


@pytest.mark.parametrize(
    ("trace", "error", "message"),
    [
        (("halved",), UnknownName, "did you mean 'halve'"),
        (("a: halve",), UnknownName, "no site named 'a'"),
        (("subtract(3)", "halve"), IllegalAction, "'halve' is illegal"),
        (("add(1)",) * 8, InputError, "8 entries does not fit into an episode of 7 steps"),
        (("halve",), ReplayError, "the trace ends at 4 units, not at the demonstration's 1"),
    ],
)
def test_what_cannot_be_replayed_says_why(
    trace: tuple[str, ...], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message.replace("(", r"\(")):
        demonstrate(counting_env("a=6"), demonstration("a=6", *trace, cost=1.0))


@pytest.mark.usefixtures("nothing_left")
def test_demonstrations_that_fail_are_left_out_and_the_others_stay_in_order() -> None:
    demonstrations = [demonstration(f"a={n}", *["subtract(1)"] * n, cost=1.0) for n in range(1, 8)]
    demonstrations[3] = replace(demonstrations[3], cost=2.0)
    envs = [Env(TASK, counters("a=1"), max_steps=7, limits=Limits()) for _ in range(3)]
    done: list[int] = []
    recording = record(envs, demonstrations, done.append)
    assert done == list(range(1, 8))
    assert list(recording.failures) == ["a=4"]
    assert "not at the demonstration's 2" in recording.failures["a=4"]
    expected = [counters(f"a={n}").key for n in (1, 2, 3, 5, 6, 7) for _ in range(n)]
    assert [step.program for step in recording.steps] == expected
    for env in envs:
        env.close()


@pytest.mark.usefixtures("nothing_left")
def test_a_crash_on_the_way_is_a_failure_and_the_next_one_is_replayed() -> None:
    env = Env(failing_task(TASK, "be-killed"), counters("a=6"))
    crash = demonstration("a=6", "halve", "be-killed", cost=4.0)
    recording = record([env], [crash, replace(crash, program=counters("a=7"), trace=("add(1)",), cost=9.0)])
    assert "SIGKILL" in recording.failures["a=6"]
    assert [step.program for step in recording.steps] == [counters("a=7").key]
    env.close()


def test_nothing_to_imitate_is_an_error_with_the_first_reason() -> None:
    with pytest.raises(
        InputError, match=r"nothing to imitate in 1 demonstrations: .* not at the demonstration's 5"
    ):
        record([counting_env("a=6")], [demonstration("a=6", "halve", cost=5.0)])
    with pytest.raises(InputError, match="there is no demonstration"):
        record([counting_env("a=6")], [])


def test_the_best_expert_of_each_program_is_kept() -> None:
    dear = demonstration("a=6", "halve", cost=4.0)
    long = demonstration("a=6", "halve", "subtract(1)", "subtract(1)", "subtract(1)", cost=1.0)
    short = demonstration("a=6", "subtract(3)", "subtract(3)", cost=1.0)
    first = demonstration("a=6", "halve", "subtract(3)", cost=1.0)
    other = demonstration("a=3", "subtract(1)", cost=3.0)
    assert best_demonstrations([dear, other, long, short, first]) == (first, other)


def test_a_program_can_be_named() -> None:
    env = pass_env("strings.c", "recursion.c")
    steps = demonstrate(env, Demonstration("recursion.c", PASSES[:1], 91.0, 100.0))
    assert len(steps) == 1
