"""What the configurations for linalg programs train: seconds of it, on ops of a few elements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.errors import CompilerCrash, InputError, Miscompiled
from burnish.core.registry import load_task
from burnish.envs.env import Env
from burnish.envs.env_spaces import ActionSpace
from burnish.envs.reward import failure_rewards
from burnish.learning.agents.policy import HEADS
from burnish.learning.networks.build_encoder import build_encoder
from burnish.learning.training.algorithms import open_training, settings_of
from burnish.learning.training.checkpoint import load_checkpoint
from burnish.learning.training.config import Config, Source, read_config
from burnish.learning.training.configured import task_of
from burnish.learning.training.learning import offered_actions
from burnish.learning.training.loop import Listener, TrainingOutcome, train
from burnish.policies.guiding import load_guide, rollout
from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.kernel import LoweringFailed
from burnish.tasks.mlir_schedules.payload import TransformFailed
from burnish.tasks.mlir_schedules.writing.sets import is_held_out
from burnish.workers.sandbox import Sandbox

TASK = load_task("mlir_schedules")
NAMES = ("mlir-ppo", "mlir-ppo-published")
OPS = (Source("matmul:16x32x16"), Source("relu:64"))

needs_mlir = pytest.mark.skipif(not bindings.version(), reason="MLIR's wheel is not installed")


def small(name: str, *changes: str) -> Config:
    """Return a configuration that trains for seconds."""
    always = ["run.standardize_steps=12", "run.validate_every=2", "track.tensorboard=false", "run.threads=1"]
    always.append("environment.deadline_seconds=60")  # a busy machine is no crash
    config = read_config(name, [*always, *changes])
    return replace(config, programs=OPS, validation=(Source("matmul:8x32x16"),))


def trained(config: Config, folder: Path, iterations: int | None = None) -> TrainingOutcome:
    """Train, and stop politely after so many iterations of this call."""
    calls = iter(range(1, 1000))
    stop = (lambda: next(calls) >= iterations) if iterations else (lambda: False)
    return train(config, folder, open_training, Listener(stop=stop))


@pytest.mark.parametrize("name", NAMES)
def test_all_that_a_configuration_names_is_there(name: str) -> None:
    config = read_config(name)
    settings_of(config)
    environment = config.environment
    space = ActionSpace(TASK, offered_actions(config, TASK), environment.sites)
    assert "next" in space.names and "tile(3, 32)" in space.names and "done" not in space.names
    build_encoder(config.network, TASK, environment.observation)
    failure_rewards(environment.failure_reward)
    assert config.policy["head"] in HEADS
    task_of(config)  # reads its options
    assert (config.task, config.objective) == (TASK.name, "seconds")
    uses = [[source.use for source in part] for part in (config.programs, config.validation)]
    learned, held = ({program for use in part for program in TASK.source().expand(use)} for part in uses)
    assert learned and held and not learned & held


def test_the_published_one_is_as_published() -> None:
    config = read_config("mlir-ppo-published")
    algorithm, run = config.algorithm, config.run
    assert {key: algorithm[key] for key in ("discount", "gae_lambda", "clip", "epochs", "episodes")} == {
        "discount": 1.0,
        "gae_lambda": 0.95,
        "clip": 0.2,
        "epochs": 4,
        "episodes": 64,
    }
    assert algorithm["entropy_coefficient"] == 0.01
    assert (run.checkpoint_every, run.validate_every) == (5, 100)
    assert (config.environment.reward, config.environment.dense) == ("log", False)
    reward = failure_rewards(config.environment.failure_reward)
    failures = [TransformFailed(""), LoweringFailed(""), Miscompiled(""), CompilerCrash("")]
    assert [reward(failure) for failure in failures] == [-5, -20, -20, -20]


def test_shapes_to_validate_on_are_held_out() -> None:
    config = read_config("mlir-ppo")
    assert all(is_held_out(source.use) for source in config.validation)
    assert not any(is_held_out(source.use) for source in config.programs)


def test_a_star_stands_for_any_text() -> None:
    config = read_config("mlir-ppo", ['environment.actions=["tile(*, 32)", "next", "tile(1, *)", "h*t"]'])
    found = offered_actions(config, TASK)
    assert found
    tiles = [action for action in TASK.actions if action.startswith("tile(")]
    by_32 = tuple(action for action in tiles if action.endswith(", 32)"))
    assert found[: len(by_32) + 1] == (*by_32, "next")
    assert set(found[len(by_32) + 1 : -1]) == {a for a in tiles if a.startswith("tile(1,")} - set(by_32)
    assert found[-1] == "hoist"
    with pytest.raises(InputError, match=r"mlir-ppo: environment.actions: 'tile\(9\*' matches no action"):
        offered_actions(read_config("mlir-ppo", ['environment.actions=["tile(9*"]']), TASK)


@needs_mlir
def test_failures_cost_by_their_class(monkeypatch: pytest.MonkeyPatch) -> None:
    program = TASK.source().load("matmul:8x32x16").program
    table = read_config("mlir-ppo-published").environment
    env = Env(TASK, program, dense=True, failure_reward=table.failure_reward, limits=None)
    for kind, method, cost in ((TransformFailed, "apply", -5), (LoweringFailed, "cost", -20)):
        env.reset()

        def fail(*_: object, kind: type[CompilerCrash] = kind) -> float:
            raise kind("no")

        with monkeypatch.context() as patch:
            patch.setattr(type(env.session), method, fail)
            _, reward, terminated, _, info = env.step(TASK.actions.index("tile(1, 8)"))
        assert (reward, terminated, info["failure"]) == (cost, True, kind.__name__)


@needs_mlir
def test_ppo_learns_goes_on_and_its_policy_proposes(tmp_path: Path) -> None:
    config = small("mlir-ppo", "run.iterations=2", "algorithm.steps=6", "environment.count=1")
    trained(config, tmp_path, iterations=1)
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint and checkpoint.iteration == 1
    outcome = trained(config, tmp_path)
    assert outcome.policy == tmp_path / "policy.npz"
    session = TASK.open(TASK.source().load("matmul:24x32x16").program)
    trace = rollout(session, load_guide(outcome.policy, TASK).steps(session.actions))
    session.replay(trace)
    assert len(session.trace) == len(trace) > 0


@pytest.mark.slow
@needs_mlir
def test_the_published_one_trains(tmp_path: Path) -> None:
    changes = ["run.iterations=1", "algorithm.episodes=3", "environment.count=1", "environment.max_steps=8"]
    changes += ["network.width=16", "network.parts.neighbours.width=8", "network.parts.history.hidden=[8]"]
    outcome = trained(small("mlir-ppo-published", *changes), tmp_path)
    assert outcome.policy == tmp_path / "policy.onnx"
    session = Sandbox(TASK.open, TASK.source().load("matmul:24x32x16").program)
    try:
        guide = load_guide(outcome.policy, TASK)(session)  # in the order of its training, without settings
        traces = list(guide.initial_traces)
        assert [trace[0].partition("(")[0] for trace in traces] == ["matmul#1: interchange"] * len(traces)
        session.replay(traces[0])
    finally:
        session.shutdown()


@needs_mlir
@pytest.mark.parametrize(
    ("observation", "network"),
    [
        ("neighbours", {"kind": "lstm", "width": 8}),
        ("neighbours", {"kind": "transformer", "width": 8, "heads": 2}),
        ("ops", {"kind": "lstm", "width": 8}),
        ("ops", {"kind": "transformer", "width": 8, "heads": 2}),
        ("graph", {"kind": "gatv2", "width": 8, "heads": 2}),
        ("graph", {"kind": "gine", "width": 8}),
    ],
)
def test_networks_see_where_the_cursor_is(observation: str, network: dict[str, object]) -> None:
    encoder = build_encoder(network, TASK, observation)
    program = TASK.source().load("matmul-relu:8x32x16").program
    env = Env(TASK, program, observation=observation, limits=None)
    before = env.reset()[0]
    after = env.step(TASK.actions.index("next"))[0]
    vectors = encoder(encoder.collate([before, after]))
    assert vectors.isfinite().all()
    assert not vectors[0].equal(vectors[1])
