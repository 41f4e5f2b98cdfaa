"""A training begins with the weights of an earlier policy, or names the network that it would need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burnish.core.errors import InputError
from burnish.core.registry import load_task
from burnish.learning.agents.dqn import DQN
from burnish.learning.agents.export import from_arrays, to_arrays
from burnish.learning.agents.policy import FlatHead, Head, Policy
from burnish.learning.networks.build_encoder import build_encoder
from burnish.learning.networks.mlp import MLP
from burnish.learning.training.algorithms import open_training
from burnish.learning.training.config import config_of
from burnish.learning.training.start import load_start
from burnish.policies.arrays import save_arrays
from burnish.policies.find import shipped
from burnish.policies.load import load_action_policy
from tests.learning.agents.problems import counting_envs

TASK = load_task("llvm_inlining")
SHIPPED = "llvm_inlining-loaded-bytes"
ROWS = np.random.default_rng(0).integers(-40, 400, (64, 38))
ALL = np.ones((len(ROWS), 2), dtype=bool)


def made(head: Head = "flat", **network: Any) -> Policy:
    torch.manual_seed(3)
    encoder = build_encoder({"hidden": [78, 64, 32], **network}, TASK, "inlining-features")
    return Policy(encoder, TASK.actions, head=head)


def log_probs(policy: Policy) -> np.ndarray[Any, np.dtype[np.float32]]:
    with torch.no_grad():
        found = policy.log_probs(policy.collate(list(ROWS)), torch.from_numpy(ALL))
    return np.asarray(found)


@pytest.mark.parametrize("where", [SHIPPED, str(shipped()[SHIPPED])])
def test_a_shipped_policy_is_a_start(where: str) -> None:
    policy = made()
    load_start(policy, where)
    expected = load_action_policy(shipped()[SHIPPED]).log_probs(list(ROWS), ALL)
    np.testing.assert_allclose(log_probs(policy), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "network", [{}, {"layer_norm": True}, {"scale": "quantiles", "quantiles": 9}, {"scale": "none"}]
)
def test_a_file_has_the_weights_that_were_exported(network: dict[str, Any], tmp_path: Path) -> None:
    policy, other = made(**network), made(**network)
    assert isinstance(policy.encoder, MLP)
    policy.encoder.standardize(list(ROWS))
    torch.nn.init.normal_(policy.get_parameter("head.logits.weight"))
    save_arrays(to_arrays(policy), tmp_path / "policy.npz")
    load_start(other, str(tmp_path / "policy.npz"))
    assert np.array_equal(log_probs(other), log_probs(policy))
    assert other.started
    assert not policy.started


def test_the_temperature_divides_the_logits() -> None:
    plain, sharp = made(), made()
    load_start(plain, SHIPPED)
    load_start(sharp, SHIPPED, temperature=0.25)
    difference = [np.diff(log_probs(policy), axis=1) for policy in (plain, sharp)]
    np.testing.assert_allclose(difference[1], 4 * difference[0], rtol=1e-3)


@pytest.mark.parametrize(
    ("network", "what"),
    [
        ({"hidden": [64, 32]}, r"encoder\.layers\.0\.weight is \[78, 38\], here \[64, 38\]"),
        ({"hidden": [78, 64]}, r"head\.logits\.weight is \[2, 32\], here \[2, 64\]"),
        ({"hidden": [78, 64, 32, 8]}, r"encoder\.layers\.6\.weight is none, here \[8, 32\]"),
        ({"scale": "none"}, r"the scale of its features is 'log1p', here 'none'"),
    ],
)
def test_another_network_is_refused_with_the_settings_of_the_start(
    network: dict[str, Any], what: str
) -> None:
    settings = r"network\.hidden = \[78, 64, 32\], network\.scale = 'log1p'"
    message = rf"start_from: the policy of {SHIPPED} has another network: .*{what}; .* settings: .*{settings}"
    with pytest.raises(InputError, match=message):
        load_start(made(**network), SHIPPED)


def test_a_policy_that_is_not_a_perceptron_is_refused(tmp_path: Path) -> None:
    factorised = to_arrays(made(head="factorised"))
    with pytest.raises(InputError, match="only a perceptron of relu with a flat head"):
        from_arrays(factorised)
    with pytest.raises(
        InputError, match=r"start_from: .* has no trained policy; expected the folder of a run"
    ):
        load_start(made(), str(tmp_path))


def test_the_first_values_of_dqn_are_the_logits_of_its_start() -> None:
    policies = []

    def start() -> Policy:
        policies.append(made())
        load_start(policies[-1], SHIPPED, temperature=100)
        return policies[-1]

    learner = DQN(counting_envs(1), start, seed=0)
    rows = torch.from_numpy(ROWS[:8]).float()
    head = policies[0].head
    assert isinstance(head, FlatHead)
    with torch.no_grad():
        logits = head.logits(policies[0].encoder(rows))
        assert torch.equal(learner.q(rows), logits)
        assert torch.equal(learner.target(rows), logits)
    assert learner.policy.act(list(ROWS), ALL).tolist() == policies[0].act(list(ROWS), ALL).tolist()

    def factorised() -> Policy:
        policy = made(head="factorised")
        policy.started = True
        return policy

    with pytest.raises(InputError, match="dqn begins with a flat head"):
        DQN(counting_envs(1), factorised, seed=0)


@pytest.mark.parametrize("name", ["tabular-q", "sequence-values"])
def test_a_training_without_initial_weights_refuses_a_start(name: str) -> None:
    table = {
        "algorithm": {"name": name},
        "programs": {"use": "random:0"},
        "run": {"iterations": 1},
        "start_from": "runs/other",
    }
    with pytest.raises(InputError, match=f"mine: start_from: {name} begins without a policy; leave"):
        open_training(config_of(table, "mine.toml"), Path("nowhere"), lambda _: None)


def test_a_temperature_is_above_zero() -> None:
    table = {"algorithm": {"name": "ppo"}, "programs": {"use": "random:0"}, "run": {"iterations": 1}}
    with pytest.raises(InputError, match="start_temperature is 0"):
        config_of({**table, "start_temperature": 0.0}, "mine.toml")
