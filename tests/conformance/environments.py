"""What environments of a task must do."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.errors import IllegalAction
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.envs.env import Env
from burnish.envs.reward import rewards
from burnish.envs.vector import VectorEnv
from tests.conformance.claims import Claims
from tests.walks import assert_same, play, snapshot


class EnvironmentClaims(Claims):
    """The contract of environments. They have a site: there may be nothing to do on the whole program."""

    def test_gymnasium_accepts_the_environment(
        self, task: Task, programs: Sequence[Program], nothing_left: None
    ) -> None:
        for observation in (None, tuple(task.observations)):  # the task's first, and all as one dict
            env = Obliging(task, programs, observation=observation, sites=1, render_mode="ansi")
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
        self,
        task: Task,
        programs: Sequence[Program],
        objectives: Sequence[Objective],
        nothing_left: None,
        dense: bool,
    ) -> None:
        for objective in objectives:
            options: dict[str, Any] = {"dense": dense, "max_steps": self.steps, "sites": 1}
            env = Env(task, programs, objective=objective.name, **options)
            _, info = env.reset()
            start = info["cost"]
            rewards = [reward for *_, reward, _ in play(env, np.random.default_rng(7))]
            assert len(rewards) > 1
            final = env.session.measure(objective.name)
            tolerance = 1e-9 + self.tolerance(objective)
            assert math.isclose(sum(rewards), math.log(start / final), rel_tol=0, abs_tol=tolerance)
            assert dense or not any(rewards[:-1])
            env.close()

    def test_every_form_of_reward_telescopes(
        self, task: Task, programs: Sequence[Program], nothing_left: None
    ) -> None:
        forms = rewards(task)
        assert {"log", "difference", f"over-{task.reference}"} <= {*forms}
        for name, form in forms.items():
            env = Env(task, programs[0], reward=name, max_steps=self.steps, sites=1)
            _, info = env.reset()
            start, costs = info["cost"], info.get("baselines", {})
            unit = form.unit([costs[item] for item in form.baselines])
            total = sum(reward for _, reward, _ in play(env, np.random.default_rng(9)))
            assert math.isclose(total, form.of(start, env.cost, unit), rel_tol=0, abs_tol=1e-9)
            env.close()

    def test_vector_does_what_single_environments_do(
        self, task: Task, programs: Sequence[Program], objectives: Sequence[Objective], nothing_left: None
    ) -> None:
        options: dict[str, Any] = {"max_steps": 3, "sites": 1, "objective": objectives[0].name}
        several = VectorEnv(partial(Env, task, programs, **options), 2)
        single = [Env(task, programs, limits=None, **options) for _ in range(2)]
        rng = np.random.default_rng(10)
        observed, _ = several.reset(seed=0)
        for i, env in enumerate(single):
            assert_same(observed[i], env.reset(seed=i)[0])
        tolerance = 2 * self.tolerance(objectives[0])
        for _ in range(3):
            actions = [int(rng.choice(np.flatnonzero(mask))) for mask in several.action_masks()]
            observed, rewards_seen, *_ = several.step(np.array(actions))
            for i, env in enumerate(single):
                alone, reward, *_ = env.step(actions[i])
                assert_same(observed[i], alone)
                assert math.isclose(rewards_seen[i], reward, rel_tol=0, abs_tol=tolerance)
        several.close()

    def test_trade_offs_telescope(
        self, task: Task, programs: Sequence[Program], objectives: Sequence[Objective], nothing_left: None
    ) -> None:
        first, second = objectives[0], objectives[:2][-1]
        text = f"{first.name}^1"
        weights = {first: 1.0}
        if first is not second:
            text = f"{first.name}^0.75*{second.name}^0.25"
            weights = {first: 0.75, second: 0.25}
        env = Env(task, programs, objective=text, max_steps=self.steps, sites=1)
        env.reset()
        start = {objective: env.session.measure(objective.name) for objective in weights}
        rewards = [reward for *_, reward, _ in play(env, np.random.default_rng(9))]
        expected = math.fsum(
            weight * math.log(start[objective] / env.session.measure(objective.name))
            for objective, weight in weights.items()
        )
        tolerance = 1e-9 + 2 * max(self.tolerance(objective) for objective in weights)
        assert math.isclose(sum(rewards), expected, abs_tol=tolerance)
        costs = env.session.site_costs(text)
        for site, cost in costs.items():
            self.assert_cost(task.objective(text), env.session.measure(text, site), cost)
        assert bool(costs) or not all(objective.by_site and env.session.sites() for objective in weights)
        env.close()

    def test_step_limit_truncates(self, task: Task, programs: Sequence[Program], nothing_left: None) -> None:
        env = Env(task, programs, max_steps=2, sites=1)
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
        assert info["mask"].any()
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
    """An environment as Gymnasium's checker wants it: it knows no masks, and no measurements.

    Any number is a legal action, and what is measured is left out, or 0, where it is another every time.
    """

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        observed, info = super().reset(seed=seed, options=options)
        return self._seen(observed), self._alike(info)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        legal = np.flatnonzero(self.action_masks())
        observed, reward, *over, info = super().step(int(legal[int(action) % len(legal)]))
        return self._seen(observed), 0.0 if self.objective.noisy else reward, *over, self._alike(info)

    def _seen(self, observed: Any) -> Any:
        if isinstance(self.observation_space, gymnasium.spaces.Dict):
            return {name: self._still(name, value) for name, value in observed.items()}
        return self._still(self._observations.names[0], observed)

    def _still(self, name: str, value: Any) -> Any:
        return np.zeros_like(value) if self.task.observations[name].noisy else value

    def _alike(self, info: dict[str, Any]) -> dict[str, Any]:
        measured = ("cost",) if self.objective.noisy else ()
        return {name: value for name, value in info.items() if name not in measured}
