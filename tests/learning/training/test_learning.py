"""Every algorithm trains by a configuration, goes on to the same curve, and is exported with its card."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burnish.core.errors import InputError, UnknownName
from burnish.core.result import Result
from burnish.learning.training.algorithms import LEARNERS, open_training
from burnish.learning.training.checkpoint import load_checkpoint
from burnish.learning.training.config import Config, Expert, Source, config_of, read_config, shipped
from burnish.learning.training.expert import DEMONSTRATIONS
from burnish.learning.training.learning import PolicyTraining
from burnish.learning.training.loop import Listener, TrainingOutcome, train
from burnish.learning.training.track import EPISODES, LOG, TIMES, read_log
from burnish.learning.training.validation import SCORE
from burnish.policies.load import load_action_policy
from tests.conftest import children
from tests.waiting import wait_until

SETTINGS: dict[str, dict[str, Any]] = {
    "ppo": {"steps": 12, "minibatch": 16},
    "dd-ppo": {"steps": 12, "minibatch": 16},
    "sac": {"steps": 12, "batch": 16, "learning_starts": 30},
    "dqn": {"steps": 12, "batch": 16, "learning_starts": 30},
    "td": {"steps": 6, "breadth": 3},
    "tabular-q": {"steps": 12},
    "evolution": {"pairs": 2},
    "cloning": {"batch_size": 16, "validation_share": 0.3},
    "bc-max": {"explorations": 2, "epochs": 2, "minibatch": 16},
}
ALONE = [name for name, algorithm in LEARNERS.items() if not algorithm.of_actors]  # tests/cluster has others
COUNTS = {"ppo": 2, "dd-ppo": 2, "td": 2}  # environments
SMALL = {  # of a task: to learn from, to validate on
    "loop_nests": ("matmul:16x64x16", "matmul:24x48x8"),
    "mlir_schedules": ("relu:64", "matmul:8x32x16"),
}
OFTEN = ("ppo", "dqn")  # the others are slow tests: what is theirs is in tests/agents


def small(name: str, **changes: Any) -> Config:
    """Return a configuration that trains for some seconds."""
    config = read_config("smoke")
    actions = None if name == "cloning" else config.environment.actions
    parts: dict[str, Any] = {
        "algorithm": {"name": name, **SETTINGS[name]},
        "run": replace(config.run, iterations=3, validate_every=3, checkpoint_every=1),
        "environment": replace(config.environment, actions=actions, max_steps=8, count=COUNTS.get(name, 1)),
        "programs": (Source("random:0..3:200"),),
        "validation": (Source("random:1000..1001:200"),),
        "expert": Expert(evaluations=15),
        "track": replace(config.track, tensorboard=False),
    }
    return replace(config, **parts | changes)


def run(config: Config, folder: Path, iterations: int | None = None) -> TrainingOutcome:
    """Train, and stop politely after so many iterations of this call."""
    calls = iter(range(1, 1000))
    stop = (lambda: next(calls) >= iterations) if iterations else (lambda: False)
    return train(config, folder, open_training, Listener(stop=stop))


def curve(folder: Path) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in TIMES} for row in read_log(folder / LOG)]


def test_episodes_of_the_last_validation_are_results(tmp_path: Path) -> None:
    learning = open_training(small("ppo"), tmp_path, lambda text: None)
    assert isinstance(learning, PolicyTraining)
    try:
        ratios = [learning.validate()[SCORE] for _ in range(2)][1:]
    finally:
        learning.close()
    found = [Result.from_json(line) for line in (tmp_path / EPISODES).read_text().splitlines()]
    assert [one.program for one in found] == [held.program.name for held in learning.held]
    reference = learning.task.reference
    mean = math.exp(math.fsum(math.log(one.ratio(reference)) for one in found) / len(found))
    assert [mean] == pytest.approx(ratios)
    for one, held in zip(found, learning.held, strict=True):
        session = learning.task.open(held.program)
        session.replay(one.trace)
        assert session.measure(one.objective) == one.cost
        session.close()


def test_actions_that_are_left_out_are_not_learned() -> None:
    config = replace(small("ppo"), options={"without": ["loop-rotate*", "mergefunc"]})
    learning = open_training(config, Path("nowhere"), lambda text: None)
    assert isinstance(learning, PolicyTraining)
    try:
        named = config.environment.actions
        assert named
        assert learning.describe()["options"] == {"without": "loop-rotate*,mergefunc"}
        assert learning.actions == tuple(
            name for name in named if not name.startswith(("loop-rotate", "mergefunc"))
        )
    finally:
        learning.close()
    with pytest.raises(UnknownName, match="'no-such'"):
        open_training(replace(config, options={"without": "no-such"}), Path("nowhere"), lambda text: None)


@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in ALONE]
)
def test_an_interrupted_run_goes_on_to_the_same_curve(name: str, tmp_path: Path) -> None:
    before = children()
    config = small(name)
    outcome = run(config, tmp_path / "whole")
    run(config, tmp_path / "parts", iterations=1)
    checkpoint = load_checkpoint(tmp_path / "parts")
    assert checkpoint and checkpoint.iteration == 1
    run(config, tmp_path / "parts")
    rows = curve(tmp_path / "whole")
    assert len(rows) == 4
    assert curve(tmp_path / "parts") == rows
    assert children() == before
    assert outcome.policy
    check_export(outcome, config)


def check_export(outcome: TrainingOutcome, config: Config) -> None:
    """The exported file does on the validation programs what the network did."""
    assert outcome.policy and outcome.best
    card = json.loads(outcome.policy.with_suffix(".card.json").read_text())
    assert card["task"] == "llvm_passes-v1"
    assert card["observation"] == ["autophase", "opcode-counts"]
    assert card["validation"][0]["use"] == config.validation[0].use
    assert card["training"]["config"] == config.to_dict()
    assert card["exported"] == pytest.approx(outcome.best.metrics)
    assert set(card["ratios"]) == {"random:1000:200", "random:1001:200"}
    assert load_action_policy(outcome.policy).actions == tuple(card["actions"])


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_curve(tmp_path: Path) -> None:
    """The command is killed while it trains, and called again."""
    words = [sys.executable, "-m", "burnish.cli", "train", "smoke", "--set", "track.tensorboard=false"]
    words += ["--set", "run.checkpoint_every=2", "--set", "run.iterations=5", "--quiet", "--out"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    subprocess.run([*words, str(whole)], check=True, timeout=300)
    process = subprocess.Popen([*words, str(killed)])
    wait_until(lambda: lines_in(killed / LOG) >= 4, process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    subprocess.run([*words, str(killed)], check=True, timeout=300)
    assert curve(killed) == curve(whole)
    assert same_arrays(killed / "policy.npz", whole / "policy.npz")


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def same_arrays(one: Path, other: Path) -> bool:
    first, second = np.load(one), np.load(other)
    arrays = [name for name in first.files if first[name].dtype.kind == "f"]
    return bool(arrays) and all(np.array_equal(first[name], second[name]) for name in arrays)


def test_a_run_begins_with_the_best_policy_of_another(tmp_path: Path) -> None:
    first = run(small("cloning"), tmp_path / "cloning")
    warm = small("ppo", start_from=str(tmp_path / "cloning"))
    warm = replace(warm, environment=replace(warm.environment, actions=None))
    run(warm, tmp_path / "ppo", iterations=1)
    assert first.best
    assert curve(tmp_path / "ppo")[0][SCORE] == pytest.approx(first.best.metrics[SCORE])
    other = replace(warm, network={"kind": "mlp", "hidden": [8]})
    with pytest.raises(InputError, match=r"start_from: the policy of .*cloning has another network"):
        run(other, tmp_path / "other")
    with pytest.raises(InputError, match=r"start_from: .*nowhere has no trained policy"):
        run(replace(warm, start_from=str(tmp_path / "nowhere")), tmp_path / "no")


def test_gradients_that_are_not_finite_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def infinite(log_probs: torch.Tensor, *_: Any) -> torch.Tensor:
        return log_probs.sum() * math.inf

    monkeypatch.setattr("burnish.learning.agents.ppo.policy_loss", infinite)
    with pytest.raises(InputError, match="training diverged: a gradient is not finite; the last checkpoint"):
        run(small("ppo"), tmp_path)
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint and checkpoint.iteration == 0


def test_demonstrations_are_found_once_and_can_be_given(tmp_path: Path) -> None:
    config = small("cloning")
    run(config, tmp_path / "one", iterations=1)
    demonstrations = tmp_path / "one" / DEMONSTRATIONS
    found = demonstrations.read_text()
    assert len(found.splitlines()) == 4
    demonstrations.write_text(found[:-20])  # killed while it wrote the last line
    run(config, tmp_path / "one", iterations=1)
    assert demonstrations.read_text() == found
    given = replace(config, expert=Expert(demonstrations=str(demonstrations)))
    run(given, tmp_path / "two", iterations=1)
    assert curve(tmp_path / "two") == curve(tmp_path / "one")[:2]
    wrong = replace(given, objective="text-bytes")
    with pytest.raises(InputError, match=r"has no training program for text-bytes"):
        run(wrong, tmp_path / "three")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithm": {"name": "pppo"}}, r"mine: algorithm\.name: no algorithm named 'pppo'; .*'ppo'"),
        (
            {"algorithm": {"name": "ppo", "learning_rat": 1}},
            r"mine: algorithm: no key named 'learning_rat'; did you mean 'learning_rate'",
        ),
        ({"algorithm": {"name": "ppo", "clip": 2.0}}, r"mine: algorithm: PPOConfig\.clip: expected a number"),
        ({"algorithm": {"name": "ppo", "clip": "a"}}, r"mine: algorithm\.clip: expected a number, not 'a'"),
        ({"network": {"kind": "mpl"}}, r"mine: no kind of network named 'mpl'; did you mean 'mlp'"),
        ({"network": {"hiden": [3]}}, r"mine: no key of MLPConfig named 'hiden'; did you mean 'hidden'"),
        ({"policy": {"head": "flatt"}}, r"mine: policy\.head: no choice named 'flatt'; did you mean 'flat'"),
        ({"objective": "text-byte"}, "no objective named 'text-byte'; did you mean 'text-bytes'"),
        ({"task": "llvm_pass"}, "no task named 'llvm_pass'; did you mean 'llvm_passes'"),
        ({"environment": {"actions": ["gvnn"]}}, "no action named 'gvnn'; did you mean 'gvn'"),
        ({"environment": {"observation": "autophas"}}, "no observation named 'autophas'"),
        ({"validation": {"use": "corpus@nowhere:val"}}, r"validation\[0\]\.use: nowhere: no corpus there"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    table = {"algorithm": {"name": "ppo"}, "programs": {"use": "random:0"}, "run": {"iterations": 1}}
    config = config_of({**table, "validation": {"use": "random:1"}} | changes, "mine.toml")
    with pytest.raises((InputError, UnknownName), match=message):
        run(config, tmp_path / "run")


def test_a_learner_of_actors_names_the_function_that_begins_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"async-ppo learns from actors; .*training\.train_many"):
        run(read_config("async-ppo"), tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("curves")
@pytest.mark.parametrize("name", [n for n in shipped() if read_config(n).algorithm["name"] in ALONE])
def test_shipped_configurations_train(name: str, tmp_path: Path) -> None:
    """On small programs, those of LLVM random ones: whoever runs the tests may have no corpus."""
    changes = [
        "run.iterations=1",
        "run.standardize_steps=20",
        "expert.evaluations=20",
        "environment.count=2",
        "environment.deadline_seconds=60",  # a busy machine is no crash
    ]
    if name == "cloning":
        changes.append("algorithm.weighting=none")  # so few evaluations gain nothing
    config = read_config(name, changes)
    of_task = SMALL.get(config.task, ("random:0..3:100", "random:1000..1001:100"))
    programs, validation = ((Source(name),) for name in of_task)
    outcome = run(replace(config, programs=programs, validation=validation), tmp_path)
    assert outcome.policy and outcome.policy.exists()
    assert (tmp_path / "curves.png").exists()
