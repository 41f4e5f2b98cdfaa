"""What the configurations for loop nests train: seconds of it, on products of a few elements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.registry import load_task
from burnish.envs.env_spaces import ActionSpace
from burnish.learning.networks.build_encoder import build_encoder
from burnish.learning.training.algorithms import LEARNERS, open_training, settings_of
from burnish.learning.training.config import Config, Source, read_config, shipped
from burnish.learning.training.expert import DEMONSTRATIONS, check_expert
from burnish.learning.training.loop import TrainingOutcome, train
from burnish.policies.find import SHIPPED
from burnish.policies.guiding import load_guide, rollout
from burnish.tasks.loop_nests.policy.proposals import load_for

TASK = load_task("loop_nests")
NAMES = [name for name in shipped() if name.startswith("loops-")]
PRODUCTS = (Source("matmul:16x64x16"), Source("matmul:8x48x24"))


def small(name: str, *changes: str) -> Config:
    """Return a configuration that trains for seconds."""
    always = ["run.standardize_steps=12", "run.validate_every=2", "track.tensorboard=false"]
    config = read_config(name, [*always, *changes])
    return replace(config, programs=PRODUCTS, validation=(Source("matmul:24x32x16"),))


def trained(config: Config, folder: Path) -> TrainingOutcome:
    return train(config, folder, open_training)


def test_there_is_one_for_every_method_of_the_table() -> None:
    algorithms = {read_config(name).algorithm["name"] for name in NAMES}
    assert algorithms == {"ppo", "dqn", "td", "tabular-q", "cloning"} <= set(LEARNERS)


@pytest.mark.parametrize("name", NAMES)
def test_all_that_a_configuration_names_is_there(name: str) -> None:
    config = read_config(name)
    settings_of(config)
    environment = config.environment
    ActionSpace(TASK, environment.actions, environment.sites)
    build_encoder(config.network, TASK, environment.observation)
    check_expert(config.expert, TASK, "seconds", name)
    assert (config.task, config.objective) == (TASK.name, "seconds")
    assert [source.use for source in (*config.programs, *config.validation)] == [
        "matmul:train",
        "matmul:test",
    ]
    assert config.run.seconds or config.run.iterations


def test_ppo_learns_from_products(tmp_path: Path) -> None:
    outcome = trained(small("loops-ppo", "run.iterations=2", "algorithm.steps=18"), tmp_path)
    assert outcome.policy and outcome.best
    session = TASK.open(TASK.source().load("matmul:24x32x16").program)
    guide_for = load_guide(outcome.policy, TASK)
    trace = rollout(session, guide_for.steps(session.actions))
    session.replay(trace)
    assert len(trace) == read_config("loops-ppo").environment.max_steps


def test_the_shipped_policys_schedules_are_cloned(tmp_path: Path) -> None:
    changes = ["run.iterations=2", "expert.evaluations=2", "algorithm.validation_share=0"]
    outcome = trained(small("loops-cloning", *changes), tmp_path)
    assert outcome.policy
    assert len((tmp_path / DEMONSTRATIONS).read_text().splitlines()) == len(PRODUCTS)


@pytest.mark.parametrize("extents", ["64x64x64", "112x208x80", "256x256x256", "240x64x176"])
def test_demonstrations_fit_into_the_episodes_of_cloning(extents: str) -> None:
    """What the shipped policy proposes first is short enough, and at sites that can be acted on."""
    environment = read_config("loops-cloning").environment
    session = TASK.open(TASK.source().load(f"matmul:{extents}").program)
    propose = load_for(SHIPPED / "loop_nests-seconds-avx2.npz", TASK)
    traces = iter(propose(session).initial_traces)
    for _ in range(4):
        fork = session.fork()
        fork.replay(next(traces))
        assert len(fork.trace) < (environment.max_steps or 0)
        assert len(fork.sites()) <= environment.sites
