"""Exported policies say what the trained ones say, without torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burnish.core.errors import InputError
from burnish.core.objective import GraphArrays
from burnish.learning.agents.export import export_policy, to_arrays
from burnish.learning.agents.export_onnx import export_onnx
from burnish.learning.agents.policy import HEADS, Critic, Head, Policy
from burnish.learning.networks.elements import Numbers, Vectors
from burnish.learning.networks.encoder import Encoder
from burnish.learning.networks.graph_encoder import GraphConfig, GraphEncoder
from burnish.learning.networks.mixture import Mixture
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.learning.networks.sequence import LSTM, LSTMConfig, Transformer, TransformerConfig
from burnish.llvm.representations.graph import PROGRAM_COLUMNS
from burnish.policies.arrays import load_arrays
from burnish.policies.choose import ActionPolicy, choose
from burnish.policies.load import load_action_policy
from burnish.policies.onnx import OnnxPolicy, load_onnx
from tests.learning.networks import observed as shared

ACTIONS = ("gvn", "tile(i, 32)", "gvn<no-load-pre>", "adce", "tile(j, 8)", "tile(k, 8)")


def trained(encoder: Encoder, head: Head = "flat", critic: Critic = "shared") -> Policy:
    """Return a policy whose parameters are all as if they had been trained: none is zero, none equal."""
    policy = Policy(encoder, ACTIONS, head=head, critic=critic)
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(torch.randn(parameter.shape) * 0.1)
    return policy


def masks(rows: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    found = np.random.default_rng(seed).random((rows, len(ACTIONS))) < 0.6
    found[:, 3] = True
    found[0] = np.arange(len(ACTIONS)) == 3
    return found


def agree(policy: Policy, exported: ActionPolicy, observations: list[Any]) -> None:
    mask = masks(len(observations))
    with torch.no_grad():
        log_probs, values = policy.evaluate(policy.collate(observations), torch.from_numpy(mask))
    found, found_values = exported.evaluate(observations, mask)
    assert found.dtype == found_values.dtype == np.float32
    np.testing.assert_allclose(np.exp(found), log_probs.exp(), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found[mask], log_probs[torch.from_numpy(mask)], rtol=0, atol=1e-5)
    np.testing.assert_allclose(found_values, values, rtol=1e-5, atol=1e-5)
    assert (found[~mask] < -1e8).all()
    np.testing.assert_array_equal(exported.log_probs(observations, mask), found)
    assert choose(found).tolist() == policy.act(observations, mask).tolist()


@pytest.mark.parametrize("head", list(HEADS))
@pytest.mark.parametrize("critic", ["shared", "separate"])
@pytest.mark.parametrize(
    "config",
    [
        MLPConfig(hidden=(16, 8)),
        MLPConfig(hidden=(16, 8), scale="none"),
        MLPConfig(hidden=(16, 8), layer_norm=True),
        MLPConfig(hidden=(16, 8), scale="quantiles", quantiles=20),
    ],
    ids=["default", "unscaled", "layer-norm", "quantiles"],
)
def test_arrays_say_what_torch_says(head: Head, critic: Critic, config: MLPConfig, tmp_path: Path) -> None:
    torch.manual_seed(0)
    encoder = MLP(config, 5)
    rng = np.random.default_rng(1)
    encoder.standardize(list(rng.integers(0, 1000, (30, 5))))
    policy = trained(encoder, head, critic)
    path = export_policy(policy, tmp_path, {"task": "counting-v4"})
    exported = load_arrays(path)
    assert path == tmp_path / "policy.npz"
    assert exported.actions == ACTIONS
    assert exported.card == {"task": "counting-v4"}
    for rows in (1, 7):
        agree(policy, exported, list(rng.integers(0, 1000, (rows, 5))))


def test_arrays_take_several_observations(tmp_path: Path) -> None:
    policy = trained(MLP(MLPConfig(hidden=(8,)), 5, ("b", "a")))
    exported = load_action_policy(export_policy(policy, tmp_path))
    agree(
        policy, exported, [{"a": np.array([1, 2]), "b": np.array([3, i, 0]), "c": "text"} for i in range(4)]
    )


def test_without_critic_there_are_no_values(tmp_path: Path) -> None:
    policy = trained(MLP(MLPConfig(hidden=(8,)), 5), critic="none")
    exported = load_arrays(export_policy(policy, tmp_path))
    assert exported.log_probs([np.zeros(5)], masks(1)).shape == (1, 6)
    with pytest.raises(InputError, match="no critic"):
        exported.evaluate([np.zeros(5)], masks(1))


def test_the_same_policy_is_the_same_file(tmp_path: Path) -> None:
    policy = trained(MLP(MLPConfig(hidden=(8,)), 5), "factorised", "separate")
    first = export_policy(policy, tmp_path, {"a": 1}).read_bytes()
    assert export_policy(policy, tmp_path, {"a": 1}).read_bytes() == first


def test_arrays_do_not_change_with_the_policy(tmp_path: Path) -> None:
    policy = trained(MLP(MLPConfig(hidden=(8,)), 5))
    exported = to_arrays(policy)
    before = exported.log_probs([np.ones(5)], masks(1, seed=3))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.zero_()
    np.testing.assert_array_equal(exported.log_probs([np.ones(5)], masks(1, seed=3)), before)


def mixture() -> Mixture:
    return Mixture(
        {
            "programl": GraphEncoder(GraphConfig(width=8, heads=2, layers=2, edge_width=4), PROGRAM_COLUMNS),
            "opcode-counts": MLP(MLPConfig(hidden=(8,)), 5),
            "trace": Transformer(TransformerConfig(width=8, heads=2, layers=1), Numbers(20, padding=0)),
            "tokens": LSTM(LSTMConfig(width=8), Numbers(50)),
            "ops": LSTM(LSTMConfig(width=8), Vectors(4, there=0)),
            "neighbours": Transformer(TransformerConfig(width=8, heads=2, layers=1), Vectors(4, there=0)),
        },
        16,
    )


def mixed(seed: int, rows: int, nodes: int, edges: int, length: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "programl": shared.graph(rng, nodes + row, edges),
            "opcode-counts": rng.integers(0, 999, 5),
            "trace": np.pad(rng.integers(1, 20, min(length, 9)), (0, 9)),
            "tokens": rng.integers(0, 50, length + row),
            "ops": rng.normal(size=(length + row, 4)).astype(np.float32),
            "neighbours": rng.normal(size=(3, 4)).astype(np.float32) * (rng.random((3, 1)) < 0.5),
        }
        for row in range(rows)
    ]


@pytest.mark.slow
def test_onnx_says_what_torch_says_with_any_number_of_anything(tmp_path: Path) -> None:
    """GATv2, a perceptron, Transformers and LSTMs in one: environments, nodes, edges, tokens, rows vary."""
    torch.manual_seed(0)
    policy = trained(mixture(), "factorised-summed")
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    exported = load_action_policy(export_policy(policy, tmp_path, {"task": "llvm_passes-v1"}))
    assert policy.training, "it is left as it was"
    assert all(torch.equal(value, before[name]) for name, value in policy.state_dict().items())
    assert isinstance(exported, OnnxPolicy)
    assert exported.actions == ACTIONS
    assert exported.inputs == policy.encoder.inputs
    assert exported.card == {"task": "llvm_passes-v1"}
    for sizes in ((1, 1, 0, 0), (1, 9, 20, 5), (2, 30, 90, 40), (5, 3, 2, 1), (3, 300, 900, 300)):
        agree(policy, exported, mixed(1, *sizes))


ENCODERS = {
    "gatv2": lambda: GraphEncoder(GraphConfig(), PROGRAM_COLUMNS),
    "gatv2-max": lambda: GraphEncoder(GraphConfig(pool="max", both_ways=False), PROGRAM_COLUMNS),
    "gine-attention": lambda: GraphEncoder(GraphConfig(layer="gine", pool="attention"), PROGRAM_COLUMNS),
    "gine-counts": lambda: GraphEncoder(GraphConfig(layer="gine"), ("a", "b", "c", "d")),
    "gine-classes": lambda: GraphEncoder(GraphConfig(layer="gine"), ("kind", "stage", "c", "d")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ENCODERS)
def test_every_graph_encoder_exports(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    policy = trained(ENCODERS[name](), critic="separate")
    exported = load_action_policy(export_policy(policy, tmp_path))
    for sizes in ((7, 1, 12, 5), (1,), (400, 3)):
        agree(policy, exported, shared.graphs(2, sizes))
    lonely = GraphArrays(np.zeros((3, 4), dtype=np.int64), np.zeros((0, 4), dtype=np.int64))
    empty = GraphArrays(np.zeros((0, 4), dtype=np.int64), np.zeros((0, 4), dtype=np.int64))
    agree(policy, exported, [lonely, empty])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [LSTM, Transformer])
def test_every_sequence_encoder_exports(kind: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = LSTMConfig(layers=2) if kind is LSTM else TransformerConfig()
    policy = trained(kind(config, Numbers(20)), critic="none")
    export_policy(policy, tmp_path)  # PyTorch's second export of an LSTM is another one
    exported = load_action_policy(export_policy(policy, tmp_path))
    rng = np.random.default_rng(0)
    for lengths in ((0,), (1, 7, 0), (300, 2)):
        observations = [rng.integers(0, 20, length) for length in lengths]
        expected = policy.log_probs(policy.collate(observations), torch.from_numpy(masks(len(lengths))))
        found = exported.log_probs(observations, masks(len(lengths)))
        np.testing.assert_allclose(np.exp(found), expected.exp().detach(), rtol=0, atol=1e-6)
    with pytest.raises(InputError, match="no critic"):
        exported.evaluate(observations, masks(2))


def test_perceptrons_can_be_onnx_too(tmp_path: Path) -> None:
    torch.manual_seed(0)
    encoder = MLP(MLPConfig(layer_norm=True, scale="quantiles", quantiles=9), 5)
    encoder.standardize(list(np.random.default_rng(1).integers(0, 99, (30, 5))))
    policy = trained(encoder, "factorised")
    export_onnx(policy, tmp_path / "p.onnx")
    agree(policy, load_onnx(tmp_path / "p.onnx"), list(np.random.default_rng(0).integers(0, 99, (4, 5))))


def test_only_perceptrons_become_arrays() -> None:
    with pytest.raises(InputError, match="export this GraphEncoder to ONNX"):
        to_arrays(trained(GraphEncoder(GraphConfig(), PROGRAM_COLUMNS)))


def test_use_of_a_policy_loads_no_torch(tmp_path: Path) -> None:
    path = export_policy(trained(MLP(MLPConfig(hidden=(8,)), 5)), tmp_path)
    code = f"""
import sys; sys.path[:] = {sys.path!r}
from pathlib import Path
import numpy as np
from burnish.policies.load import load_action_policy
policy = load_action_policy(Path({str(path)!r}))
print(policy.log_probs([np.ones(5)], np.ones((1, 6), dtype=bool)).shape)
print(*{{"torch", "gymnasium", "onnxruntime"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "(1, 6)\n\n"
