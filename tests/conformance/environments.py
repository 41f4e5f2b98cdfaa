"""What any task must do: inherit TaskConformance and give it `task` and `programs`."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.env import Env
from burnish.core.errors import CompilerCrash, IllegalAction, InputError, ProgramError, UnknownName
from burnish.core.program import Program
from burnish.core.reward import rewards
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.vector import VectorEnv
from burnish.core.worker import GIB, Limits
from tests.conftest import OpenSandbox
from tests.core.failures import FAILURES, failing_task
from tests.walks import NEAR, assert_same, play, snapshot, wander

IMPATIENT = Limits(deadline_seconds=4.0, memory_bytes=GIB)
PATIENT = replace(IMPATIENT, deadline_seconds=60.0)  # other tests may take the cores meanwhile


class TaskConformance:
    """The contract, as tests. `programs` are two or more, small, with different first costs."""

    steps = 8  # of a random walk

    @pytest.fixture(scope="class")
    @classmethod
    def task(cls) -> Task:
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def programs(cls) -> Sequence[Program]:
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def shared_env(cls, task: Task, programs: Sequence[Program]) -> Iterator[Env]:
        env = Env(task, programs, sites=NEAR)
        yield env
        env.close()

    # The task itself.

    def test_action_texts_are_identities(self, task: Task) -> None:
        assert len(set(task.actions)) == len(task.actions)
        assert not any(": " in action or not action.strip() for action in task.actions)

    def test_names_are_the_keys(self, task: Task) -> None:
        assert all(name == item.name for name, item in task.observations.items())
        assert all(name == item.name for name, item in task.objectives.items())
        assert task.reference in task.baselines

    def test_baselines_have_costs(self, task: Task, programs: Sequence[Program]) -> None:
        for opener in task.baselines.values():
            session = opener(programs[0])
            assert all(session.measure(objective) > 0 for objective in task.exact_objectives)

    def test_starts_are_legal(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox
    ) -> None:
        for start in task.initial_traces:
            open_sandbox(task.open, programs[0]).replay(start)

    def test_another_language_is_refused(self, task: Task, programs: Sequence[Program]) -> None:
        with pytest.raises(InputError, match="Esperanto"):
            Env(task, Program("a", "Esperanto", programs[0].content))

    def test_unreadable_program_is_program_error(self, task: Task, open_sandbox: OpenSandbox) -> None:
        for content in (b"\xff\x00 is not a program \x00", b"BC\xc0\xde", b"="):
            with pytest.raises(ProgramError):
                task.open(Program("broken", task.language, content))
            with pytest.raises(ProgramError):
                open_sandbox(task.open, Program("broken", task.language, content))

    def test_unknown_names_are_errors(self, task: Task, programs: Sequence[Program]) -> None:
        session = task.open(programs[0])
        for call in (session.observe, session.measure, session.site_costs, session.index):
            with pytest.raises(UnknownName):
                call("no such name")

    # Sessions.

    def test_same_trace_gives_same_state(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox
    ) -> None:
        for seed, program in enumerate(programs):
            first = open_sandbox(task.open, program)
            wander(first, np.random.default_rng(seed), self.steps)
            second, here, again = open_sandbox(task.open, program), task.open(program), task.open(program)
            for session in (second, here, again):
                session.replay(first.trace)
                assert snapshot(task, session) == snapshot(task, first)

    def test_mask_is_honest(self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox) -> None:
        session = open_sandbox(task.open, programs[0])
        wander(session, np.random.default_rng(1), self.steps)
        before = snapshot(task, session)
        for site in (WHOLE_PROGRAM, *session.sites()[:NEAR], "no such site"):
            legal = session.legal(site)
            assert legal.dtype == bool
            assert legal.shape == (len(task.actions),)
            for action in (*np.flatnonzero(~legal), -1, len(task.actions)):
                with pytest.raises(IllegalAction):
                    session.apply(int(action), site)
        assert not session.legal("no such site").any()
        assert snapshot(task, session) == before

    def test_every_action_at_every_site_is_as_the_mask_says(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox
    ) -> None:
        root = open_sandbox(task.open, programs[0])
        for site in (WHOLE_PROGRAM, *root.sites()[:1]):
            for action in np.flatnonzero(root.legal(site)):
                session = root.fork()
                with contextlib.suppress(CompilerCrash):  # which a mask does not exclude
                    session.apply(int(action), site)
                session.close()

    def test_costs_are_those_of_the_sites(self, task: Task, programs: Sequence[Program]) -> None:
        for program in programs:
            session = task.open(program)
            for objective in task.exact_objectives:
                costs = session.site_costs(objective)
                assert session.measure(objective) > 0
                assert all(cost >= 0 for cost in costs.values())
                assert all(session.measure(objective, site) == cost for site, cost in costs.items())

    def test_fork_continues_as_the_original_would(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox
    ) -> None:
        original = open_sandbox(task.open, programs[-1])
        wander(original, np.random.default_rng(2), self.steps)
        before = snapshot(task, original)
        fork, other = original.fork(), original.fork()
        assert snapshot(task, fork) == before
        wander(fork, np.random.default_rng(3), self.steps)
        assert snapshot(task, original) == before
        wander(original, np.random.default_rng(3), self.steps)
        assert snapshot(task, original) == snapshot(task, fork)
        assert snapshot(task, other) == before
        fork.close()
        assert snapshot(task, other) == before

    # Failures.

    @pytest.mark.parametrize("failure", FAILURES)
    def test_session_survives(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox, failure: str
    ) -> None:
        failing = failing_task(task)
        limits = IMPATIENT if failure == "hang" else PATIENT
        session = open_sandbox(failing.open, programs[0], limits)
        wander(session, np.random.default_rng(4), 3, avoid=len(FAILURES))
        sibling = session.fork()
        before, pid = snapshot(task, session), session.pid
        with pytest.raises(FAILURES[failure]) as caught:
            session.apply(session.index(failure))
        assert type(caught.value) is FAILURES[failure]
        assert session.pid is None
        assert snapshot(task, session) == before
        assert session.pid not in (None, pid)
        assert snapshot(task, sibling) == before
        wander(session, np.random.default_rng(5), 3, avoid=len(FAILURES))

    def test_session_survives_a_kill_between_calls(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox
    ) -> None:
        session = open_sandbox(task.open, programs[0])
        wander(session, np.random.default_rng(6), 3)
        before = snapshot(task, session)
        assert session.pid is not None
        os.kill(session.pid, signal.SIGKILL)
        with pytest.raises(CompilerCrash, match="SIGKILL"):
            session.digest()
        assert snapshot(task, session) == before

    def test_crash_ends_the_episode_with_the_failure_reward(
        self, task: Task, programs: Sequence[Program], nothing_left: None
    ) -> None:
        env = Env(failing_task(task), programs, failure_reward=-3.0, limits=IMPATIENT)
        observed, _ = env.reset()
        for failure in ("be-killed", "hang"):
            action = env.task.actions.index(failure)
            last, reward, terminated, truncated, info = env.step(action)
            assert (reward, terminated, truncated) == (-3.0, True, False)
            assert info["error"] and not info["mask"].any()
            assert_same(last, observed)
            observed, info = env.reset()
            assert info["mask"].any()
        env.close()

    def test_episode_begins_after_a_kill_between_episodes(
        self, task: Task, programs: Sequence[Program], nothing_left: None
    ) -> None:
        env = Env(task, programs[0])
        observed, _ = env.reset()
        os.kill(env.session.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        again, _ = env.reset()
        assert_same(again, observed)
        env.close()

    # The environment.

    def test_gymnasium_accepts_the_environment(
        self, task: Task, programs: Sequence[Program], nothing_left: None
    ) -> None:
        for observation in (*task.observations, tuple(task.observations)):
            env = Obliging(task, programs, observation=observation, render_mode="ansi")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check_env(env, skip_close_check=True)
            env.close()

    def test_episodes_repeat_for_a_seed(
        self, task: Task, programs: Sequence[Program], shared_env: Env
    ) -> None:
        episodes = []
        for _ in range(2):
            seen = [shared_env.reset(seed=5), shared_env.reset()]
            episodes.append(seen)
        for (first, info), (second, again) in zip(*episodes, strict=True):
            assert info["program"] == again["program"]
            assert_same(first, second)

    @pytest.mark.parametrize("dense", [True, False])
    def test_return_telescopes(
        self, task: Task, programs: Sequence[Program], nothing_left: None, dense: bool
    ) -> None:
        for objective in task.exact_objectives:
            env = Env(task, programs, objective=objective, dense=dense, max_steps=self.steps, sites=1)
            _, info = env.reset()
            start = info["cost"]
            rewards = [reward for *_, reward, _ in play(env, np.random.default_rng(7))]
            assert math.isclose(
                sum(rewards), math.log(start / env.session.measure(objective)), rel_tol=0, abs_tol=1e-9
            )
            assert dense or not any(rewards[:-1])
            env.close()

    def test_every_form_of_reward_telescopes(
        self, task: Task, programs: Sequence[Program], nothing_left: None
    ) -> None:
        for name, form in rewards(task).items():
            env = Env(task, programs[0], reward=name, max_steps=self.steps)
            _, info = env.reset()
            start, costs = info["cost"], info.get("baselines", {})
            unit = form.unit([costs[item] for item in form.baselines])
            total = sum(reward for _, reward, _ in play(env, np.random.default_rng(9)))
            assert math.isclose(total, form.of(start, env.cost, unit), rel_tol=0, abs_tol=1e-9)
            env.close()

    def test_vector_does_what_single_environments_do(
        self, task: Task, programs: Sequence[Program], nothing_left: None
    ) -> None:
        several = VectorEnv(partial(Env, task, programs, max_steps=3), 2)
        single = [Env(task, programs, max_steps=3, limits=None) for _ in range(2)]
        rng = np.random.default_rng(10)
        observed, _ = several.reset(seed=0)
        for i, env in enumerate(single):
            assert_same(observed[i], env.reset(seed=i)[0])
        for _ in range(3):
            actions = [int(rng.choice(np.flatnonzero(mask))) for mask in several.action_masks()]
            observed, rewards_seen, *_ = several.step(np.array(actions))
            for i, env in enumerate(single):
                alone, reward, *_ = env.step(actions[i])
                assert_same(observed[i], alone)
                assert rewards_seen[i] == reward
        several.close()

    def test_trade_offs_telescope(self, task: Task, programs: Sequence[Program], nothing_left: None) -> None:
        first, *others = task.exact_objectives
        second = (others or [first])[0]
        text = f"{first}^0.75*{second}^0.25" if others else f"{first}^1"
        env = Env(task, programs, objective=text, max_steps=self.steps)
        env.reset()
        start = {name: env.session.measure(name) for name in (first, second)}
        rewards = [reward for *_, reward, _ in play(env, np.random.default_rng(9))]
        parts = {name: math.log(cost / env.session.measure(name)) for name, cost in start.items()}
        assert math.isclose(sum(rewards), 0.75 * parts[first] + 0.25 * parts[second], abs_tol=1e-9)
        costs = env.session.site_costs(text)
        assert all(env.session.measure(text, site) == cost for site, cost in costs.items())
        env.close()

    def test_step_limit_truncates(self, task: Task, programs: Sequence[Program], nothing_left: None) -> None:
        env = Env(task, programs, max_steps=2)
        env.reset()
        (*_, first), (*_, second) = list(play(env, np.random.default_rng(8)))
        assert (first, second) == (False, True)
        env.close()

    def test_illegal_step_changes_nothing(self, task: Task, programs: Sequence[Program]) -> None:
        env = Env(task, programs, sites=50, limits=None)
        _, info = env.reset()
        before = env.session.digest()
        for action in (*np.flatnonzero(~info["mask"])[-3:], -1, len(info["mask"])):
            with pytest.raises(IllegalAction):
                env.step(int(action))
        assert (env.session.digest(), list(env.trace)) == (before, [])

    @settings(max_examples=8)
    @given(turn=st.integers(0, 1), choices=st.lists(st.integers(0, 10**6), max_size=8))
    def test_any_episode_holds_its_promises(
        self, task: Task, programs: Sequence[Program], shared_env: Env, turn: int, choices: list[int]
    ) -> None:
        env = shared_env
        observed, info = env.reset(options={"program": programs[turn]})
        cost = info["cost"]
        for choice in choices:
            assert observed in env.observation_space
            assert gymnasium.spaces.Discrete(len(info["mask"])) == env.action_space
            assert (info["mask"] == env.action_masks()).all()
            legal = np.flatnonzero(info["mask"])
            observed, reward, terminated, truncated, info = env.step(legal[choice % len(legal)])
            if not info.get("error"):
                assert math.isclose(reward, math.log(cost / info["cost"]), abs_tol=1e-12)
                cost = info["cost"]
            if terminated or truncated:
                break
        again = task.open(programs[turn])
        again.replay(env.trace)
        assert snapshot(task, again) == snapshot(task, env.session)


class Obliging(Env):
    """An environment that takes any number for a legal action: Gymnasium's checker knows no masks."""

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        legal = np.flatnonzero(self.action_masks())
        return super().step(int(legal[int(action) % len(legal)]))
