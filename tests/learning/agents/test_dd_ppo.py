"""DD-PPO: ranks learn what one rank learns from the same episodes, whatever happens to a rank."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from burnish.core.errors import InputError
from burnish.learning.agents.dd_ppo import DDPPOConfig
from burnish.learning.agents.ppo import PPO, PPOConfig
from tests.learning.agents import ranks
from tests.learning.agents.problems import assert_goes_on_alike, counting_envs, counting_policy
from tests.waiting import MOST_SECONDS


def assert_close(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Assert that parameters and metrics agree to 1e-6."""
    for name, value in expected["policy"].items():
        torch.testing.assert_close(found["policy"][name], value, rtol=0, atol=1e-6)
    for row, other in zip(found["metrics"], expected["metrics"], strict=True):
        assert row == pytest.approx(other, rel=1e-4, abs=1e-5)


def test_one_rank_learns_what_ppo_learns() -> None:
    settings = {key: ranks.CONFIG[key] for key in ("steps", "minibatch", "epochs")}
    ppo = PPO(counting_envs(4), counting_policy, PPOConfig(**settings), seed=7)
    alone = ranks.learner(4)
    for _ in range(3):
        assert alone.iterate() == ppo.iterate() | {"cut": 0.0}
    for mine, other in zip(alone.policy.parameters(), ppo.policy.parameters(), strict=True):
        assert torch.equal(mine, other)


@pytest.fixture(scope="module")
def of_two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Run works on two ranks; importing torch takes far longer than the works."""
    return ranks.results(("equal_shares", "unequal_shares", "drifted"), tmp_path_factory.mktemp("ranks"), 2)


def test_two_ranks_learn_what_one_learns(of_two: dict[str, list[Any]]) -> None:
    expected = ranks.learn(ranks.learner(ranks.ENVIRONMENTS))
    first, second = of_two["equal_shares"]
    assert_close(first, expected)
    assert first["metrics"] == second["metrics"]
    assert all(torch.equal(first["policy"][name], value) for name, value in second["policy"].items())


def test_unequal_shares_are_unbiased(of_two: dict[str, list[Any]]) -> None:
    expected = ranks.update_on(ranks.learner(ranks.ENVIRONMENTS), ranks.episodes())
    for found in of_two["unequal_shares"]:
        assert_close(found, expected)


def test_a_straggler_is_preempted_after_its_least_steps(tmp_path: Path) -> None:
    """Two ranks of three are done at once; the third plays 5 % of 56 steps, and learns with the others."""
    found = ranks.results(["straggler"], tmp_path, 3)["straggler"]
    assert found[0]["digest"] == found[1]["digest"] == found[2]["digest"]
    assert 2 * (56 + 56 + 3) <= found[0]["steps"] < 2 * (56 + 56 + 20)
    assert [row["cut"] for row in found[0]["metrics"]] == [1.0, 1.0]
    assert all(math.isfinite(row["return"]) for row in found[0]["metrics"])


def test_ranks_with_other_parameters_are_noticed(of_two: dict[str, list[Any]]) -> None:
    assert {row["error"] for row in of_two["drifted"]} == {
        "the parameters of rank 1 differ from those of rank 0"
    }


@pytest.mark.parametrize("where", ["rollout", "gradient"])
def test_a_killed_rank_is_noticed(tmp_path: Path, where: str) -> None:
    first, second = ranks.start(["killed"], tmp_path, 2, WHERE=where)
    assert second.wait(timeout=MOST_SECONDS) == -9
    _, errors = first.communicate(timeout=MOST_SECONDS)
    assert first.returncode == 0, errors
    assert torch.load(tmp_path / "killed.0.pt")["error"].startswith("a rank was lost: ")


def test_a_learner_goes_on_from_a_checkpoint() -> None:
    assert_goes_on_alike(lambda: ranks.learner(4), before=2, after=2)


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(InputError, match=r"DDPPOConfig\.preempt: expected a number from 0 to 1, not 1\.5"):
        DDPPOConfig(preempt=1.5)
    with pytest.raises(InputError, match=r"moving_average needs whole episodes; set preempt = 1"):
        DDPPOConfig(moving_average=0.9)
