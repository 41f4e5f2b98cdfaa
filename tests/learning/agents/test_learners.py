"""What holds for every learner that plays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from burnish.core.errors import InputError
from burnish.envs.env import Env
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.bc_max import BCMax, BCMaxConfig
from burnish.learning.agents.dqn import DQN, DQNConfig
from burnish.learning.agents.evolution import Evolution, EvolutionConfig
from burnish.learning.agents.learner import Learner, check_ranges, first_program, move_towards
from burnish.learning.agents.policy import Policy
from burnish.learning.agents.ppo import PPO, PPOConfig
from burnish.learning.agents.sac import SAC, SACConfig
from burnish.learning.agents.tabular import TabularQ, TabularQConfig
from burnish.learning.agents.td import TD, TDConfig
from burnish.learning.networks.encoder import Encoder
from burnish.learning.training.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from burnish.workers.worker import Limits
from tests.core.counting_task import ACTIONS, TASK, counters
from tests.core.failures import failing_task
from tests.learning.agents.problems import counting_envs, counting_policy, small_policy

SMALL: dict[str, Any] = {"steps": 12, "learning_starts": 12, "batch": 16, "updates_per_step": 0.5}
MAKE: dict[str, Callable[..., Learner]] = {
    "ppo": lambda envs, policy, **more: PPO(envs, policy, PPOConfig(steps=12, minibatch=16, **more), seed=5),
    "dqn": lambda envs, policy, **more: DQN(envs, policy, DQNConfig(**SMALL, **more), seed=5),
    "sac": lambda envs, policy, **more: SAC(envs, policy, SACConfig(**SMALL, **more), seed=5),
    "td": lambda envs, policy, act_together=1: TD(envs, policy, TDConfig(steps=12, minibatch=16), seed=5),
    "tabular": lambda envs, policy, act_together=1: TabularQ(envs, policy, TabularQConfig(steps=12), seed=5),
    "evolution": lambda envs, policy, act_together=1: Evolution(
        envs, policy, EvolutionConfig(pairs=2, sample=True), seed=5
    ),
    "bc-max": lambda envs, policy, act_together=1: BCMax(envs, policy, BCMaxConfig(explorations=2), seed=5),
}
PROGRAMS = [counters(text) for text in ("a=64", "a=9 b=2", "a=7", "a=1 b=1 c=1 d=1")]


def metrics(learner: Learner, iterations: int = 2) -> list[dict[str, float]]:
    found = [learner.iterate() for _ in range(iterations)]
    learner.envs.close()
    return found


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("together", [1, 2])
def test_a_seed_leads_to_the_same_metrics_with_workers_and_without(name: str, together: int) -> None:
    found = [
        metrics(MAKE[name](envs, counting_policy, act_together=together))
        for envs in (counting_envs(3, programs=PROGRAMS, limits=limits) for limits in (None, Limits()))
    ]
    assert found[0] == found[1]
    assert found[0][0]["return"] != found[0][1]["return"]


class Mean(Encoder):
    """A mean over the elements of sequences, or the nodes of graphs: batches are no tensors."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.width = 16
        self.layer = nn.Sequential(nn.Linear(features, 16), nn.Dropout(0.1), nn.ReLU())

    def collate(self, observations: Any) -> list[Tensor]:
        rows = [getattr(seen, "nodes", seen) for seen in observations]
        return [torch.tensor(np.asarray(row), dtype=torch.float32) for row in rows]

    def forward(self, batch: list[Tensor]) -> Tensor:
        means = [rows.mean(dim=0) if len(rows) else torch.zeros(rows.shape[1]) for rows in batch]
        vectors: Tensor = self.layer(torch.stack(means) / 100)
        return vectors


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("observation", ["order", "shares-of-each"])
def test_observations_need_not_be_vectors(name: str, observation: str) -> None:
    """And dropout is seeded."""

    def make() -> Learner:
        envs = counting_envs(2, programs=PROGRAMS, observation=observation)
        return MAKE[name](envs, lambda: Policy(Mean(2), ACTIONS))

    found = metrics(make())
    assert found == metrics(make())
    assert np.isfinite([value for row in found for value in row.values()]).all()


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("observation", ["order", "shares-of-each"])
def test_a_learner_goes_on_from_a_file(name: str, observation: str, tmp_path: Path) -> None:
    """Graphs and sequences, empty ones too, are in the replay, and no code of the file is run."""

    def make() -> Learner:
        envs = counting_envs(2, programs=PROGRAMS, observation=observation)
        return MAKE[name](envs, lambda: Policy(Mean(2), ACTIONS))

    first, second = make(), make()
    first.iterate()
    save_checkpoint(tmp_path, Checkpoint({}, 1, 0, 0.0, 0, 0, first.state_dict()))
    kept = load_checkpoint(tmp_path)
    assert kept is not None
    second.load_state_dict(kept.state)
    assert metrics(first) == metrics(second)


@pytest.mark.parametrize("name", MAKE)
def test_torchs_own_generator_is_left_alone(name: str) -> None:
    before = torch.get_rng_state()
    metrics(MAKE[name](counting_envs(2), counting_policy))
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("name", MAKE)
def test_a_compiler_that_crashes_does_not_stop_a_training(name: str) -> None:
    task = failing_task(TASK, "segfault")
    several = VectorEnv(partial(Env, task, counters("a=900"), max_steps=12), 2)
    found = metrics(MAKE[name](several, lambda: small_policy(4, len(task.actions))), 1)
    assert sum(row["crashes"] for row in found) > 1
    assert np.isfinite([value for row in found for value in row.values()]).all()


def test_programs_come_in_turn_over_iterations() -> None:
    """With three environments and an episode of each, an iteration begins where the last one stopped."""
    begun = [(first_program(0, episodes) - first_program(0, 0)) % 4 for episodes in (0, 3, 6)]
    assert begun == [0, 3, 2]
    assert first_program(0, 0) != first_program(1, 0)


def test_buffers_of_a_target_are_copied() -> None:
    slow, fast = nn.BatchNorm1d(1), nn.BatchNorm1d(1)
    assert fast.running_mean is not None and slow.running_mean is not None
    fast.running_mean.fill_(8.0)
    move_towards(slow, fast, 0.25)
    assert slow.running_mean.item() == 8


def test_ranges() -> None:
    with pytest.raises(InputError, match=r"SACConfig.tau: expected a number from 0 to 1, not 2"):
        SACConfig(tau=2)
    with pytest.raises(InputError, match=r"DQNConfig.n_step: expected a number at least 1, not 0"):
        DQNConfig(n_step=0)
    check_ranges(PPOConfig(target_kl=None), target_kl=(1, 2))
