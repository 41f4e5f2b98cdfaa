"""Perceptrons on counts, and several encoders as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.learning.networks.elements import Numbers
from burnish.learning.networks.graph_encoder import GraphConfig, GraphEncoder
from burnish.learning.networks.mixture import Mixture
from burnish.learning.networks.mlp import MLP, MLPConfig
from burnish.learning.networks.sequence import LSTM, LSTMConfig, Transformer, TransformerConfig
from burnish.llvm.representations.graph import PROGRAM_COLUMNS
from tests.learning.networks import observed as shared

CONFIGS = {
    "default": MLPConfig(hidden=(32, 16)),
    "unscaled": MLPConfig(hidden=(32, 16), scale="none"),
    "quantiles": MLPConfig(hidden=(32, 16), scale="quantiles", quantiles=7),
    "layer-norm": MLPConfig(hidden=(32, 16), layer_norm=True),
}
each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def counts(seed: int, rows: int = 6) -> list[NDArray[np.int64]]:
    return list(np.random.default_rng(seed).integers(0, 9, (rows, 5)))


def made(config: MLPConfig) -> MLP:
    torch.manual_seed(0)
    return MLP(config, 5)


@each_config
def test_batched_is_one_by_one(config: MLPConfig) -> None:
    assert shared.batched_is_one_by_one(made(config), counts(0))


@each_config
def test_gradients(config: MLPConfig) -> None:
    assert shared.gradients_are_right(made(config), counts(1))


@each_config
def test_fits(config: MLPConfig) -> None:
    encoder = made(config)
    encoder.standardize(counts(2))
    before, after = shared.loss_after_fitting(encoder, counts(2))
    assert after < 1e-3 < before


def test_quantiles_by_hand() -> None:
    """Of 0 2 4 4 9 the five quantiles are those, their mean is 3.8, their variance 8.96; 7 is always 7."""
    encoder = MLP(MLPConfig(hidden=(8,), scale="quantiles", quantiles=5), 2)
    encoder.standardize([np.array([x, 7]) for x in (4, 0, 9, 2, 4)])
    assert encoder.boundaries.tolist() == [[0, 2, 4, 4, 9], [7] * 5]
    first: Any = encoder.layers[0]
    with torch.no_grad():
        first.weight.copy_(torch.eye(8))
    found = shared.encoded(encoder, [np.array([4, 7]), np.array([-1, 6]), np.array([100, 8])])
    z = np.sqrt(8.96)
    expected = [
        [0.8, 1, 0.64, 1, np.sqrt(0.8), 1, 0.2 / z, 0],
        [0, 0, 0, 0, 0, 0, 0, 0],  # below all; what is standardized is below 0
        [1, 1, 1, 1, 1, 1, 96.2 / z, 1],
    ]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=1e-7)


def test_counts_are_scaled() -> None:
    """One layer that is the identity shows what goes in: sign(x) log(1 + |x|)."""
    encoder = MLP(MLPConfig(hidden=(3,)), 3)
    first: Any = encoder.layers[0]
    with torch.no_grad():
        first.weight.copy_(torch.eye(3))
    found = shared.encoded(encoder, [np.array([0, 99999, -3])])
    np.testing.assert_allclose(found.numpy(), [[0, np.log(100000), 0]], rtol=1e-6)


def test_standardized_features_have_mean_0_and_deviation_1() -> None:
    encoder = MLP(MLPConfig(hidden=(4,)), 4)
    rows = [np.array([10**i, i, 7, -i]) for i in range(5)]
    encoder.standardize(rows)
    logs = np.sign(rows) * np.log1p(np.abs(rows))
    np.testing.assert_allclose(encoder.mean, logs.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(encoder.deviation[[0, 1, 3]], logs.std(axis=0)[[0, 1, 3]], rtol=1e-6)
    assert encoder.deviation[2] == 1, "a constant is shifted only"
    assert set(encoder.state_dict()) >= {"mean", "deviation"}


def test_names_are_one_after_another() -> None:
    encoder = MLP(MLPConfig(), 5, ("b", "a"))
    batch = encoder.collate([{"a": np.array([1, 2]), "b": np.ones((1, 3)), "c": np.array([9])}])
    assert batch.tolist() == [[1, 1, 1, 1, 2]]


def test_layers_have_a_width() -> None:
    with pytest.raises(InputError, match="hidden: expected the widths of one layer or more"):
        MLPConfig(hidden=())
    with pytest.raises(InputError, match="'log1p', 'none' or 'quantiles', not 'sqrt'"):
        MLPConfig(scale="sqrt")  # type: ignore[arg-type]


def mixture(width: int = 16) -> Mixture:
    torch.manual_seed(0)
    return Mixture(
        {
            "programl": GraphEncoder(GraphConfig(width=8, heads=2, layers=1, edge_width=4), PROGRAM_COLUMNS),
            "autophase": MLP(MLPConfig(hidden=(8,)), 5),
            "trace": LSTM(LSTMConfig(width=8), Numbers(20, padding=0)),
            "tokens": Transformer(TransformerConfig(width=8, heads=2, layers=1), Numbers(50)),
        },
        width,
    )


def mixed(seed: int, rows: int = 6) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [
        {
            "programl": shared.graph(rng, 4, 8),
            "autophase": rng.integers(0, 9, 5),
            "trace": np.pad(rng.integers(1, 20, 3), (0, 5)),
            "tokens": rng.integers(0, 50, rng.integers(0, 9)),
            "not encoded": "text",
        }
        for _ in range(rows)
    ]


def test_mixture_batched_is_one_by_one() -> None:
    assert shared.batched_is_one_by_one(mixture(), mixed(0))


def test_mixture_has_right_gradients() -> None:
    assert shared.gradients_are_right(mixture(4), mixed(1, 2))


def test_mixture_fits() -> None:
    before, after = shared.loss_after_fitting(mixture(), mixed(2))
    assert after < 1e-3 < before


@pytest.mark.parametrize("name", ["programl", "autophase", "trace", "tokens"])
def test_every_part_of_a_mixture_counts(name: str) -> None:
    one, other = mixed(3, 2)
    encoder = mixture()
    assert not shared.same(
        shared.encoded(encoder, [one]), shared.encoded(encoder, [{**one, name: other[name]}])
    )


def test_mixtures_have_parts() -> None:
    with pytest.raises(InputError, match="at least one part"):
        Mixture({}, 8)
