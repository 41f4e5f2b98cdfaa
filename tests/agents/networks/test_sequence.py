"""Sequence encoders: order matters, padding does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from burnish.agents.networks.encoder import Encoder
from burnish.agents.networks.sequence import (
    LSTM,
    Attention,
    LSTMConfig,
    Transformer,
    TransformerConfig,
)
from burnish.core.errors import InputError
from tests.agents.networks import observed as shared

SIZE = 20
Make = Callable[..., Encoder]


def lstm(width: int = 16, length: int = 30, padding: int | None = None, layers: int = 2) -> LSTM:
    torch.manual_seed(0)
    return LSTM(LSTMConfig(width, layers, length), SIZE, padding)


def transformer(
    width: int = 16, length: int = 30, padding: int | None = None, layers: int = 2
) -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(width, layers, 2, length), SIZE, padding)


both = pytest.mark.parametrize("make", [lstm, transformer])


def sequences(seed: int, lengths: tuple[int, ...] = (5, 1, 30, 0, 12)) -> list[NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, SIZE, length) for length in lengths]


@both
def test_batched_is_one_by_one(make: Make) -> None:
    assert shared.batched_is_one_by_one(make(), sequences(1))


@both
def test_what_follows_the_end_has_no_effect(make: Make) -> None:
    encoder = make()
    batch = encoder.collate(sequences(2))
    other = {name: tensor.clone() for name, tensor in batch.items()}
    for row, length in zip(other["numbers"], other["lengths"].tolist(), strict=True):
        row[length:] = torch.randint(0, SIZE, (len(row) - length,))
    wider = torch.nn.functional.pad(other["numbers"], (0, 9), value=3)
    with torch.no_grad():
        assert torch.allclose(encoder(batch), encoder(other), atol=1e-6)
        assert torch.allclose(encoder(batch), encoder({**other, "numbers": wider}), atol=1e-6)


@both
def test_padding_of_observations_has_no_effect(make: Make) -> None:
    encoder = make(padding=0)
    history = np.array([3, 1, 4])
    padded = np.pad(history, (0, 20))
    assert encoder.collate([padded])["numbers"].tolist() == [[3, 1, 4]]
    assert shared.same(shared.encoded(encoder, [padded]), shared.encoded(encoder, [history]))
    assert shared.same(
        shared.encoded(encoder, [np.zeros(20, dtype=np.int64)]),
        shared.encoded(encoder, [np.zeros(0, dtype=np.int64)]),
    )


@both
def test_without_padding_zero_is_a_number(make: Make) -> None:
    batch = make().collate([np.array([3, 0, 0]), np.array([1])])
    assert batch["numbers"].tolist() == [[3, 0, 0], [1, 0, 0]]
    assert batch["lengths"].tolist() == [3, 1]


@both
def test_of_a_long_sequence_the_end_counts(make: Make) -> None:
    encoder = make(length=4)
    long = sequences(3, (50,))[0]
    assert shared.same(shared.encoded(encoder, [long]), shared.encoded(encoder, [long[-4:]]))


@both
def test_order_matters(make: Make) -> None:
    encoder = make()
    forth, back = shared.encoded(encoder, [np.arange(6), np.arange(6)[::-1]])
    assert (forth - back).abs().max() > 1e-3


@both
def test_gradients(make: Make) -> None:
    assert shared.gradients_are_right(make(width=4), sequences(4, (3, 0, 5)))


@both
def test_fits(make: Make) -> None:
    before, after = shared.loss_after_fitting(make(), sequences(5, (4, 8, 0, 5, 12, 3)))
    assert after < 1e-3 < before


def test_attention_is_pytorchs() -> None:
    """The same weights in nn.TransformerEncoderLayer give the same, where there is something."""
    torch.manual_seed(0)
    mine = Attention(16, 4)
    theirs = torch.nn.TransformerEncoderLayer(16, 4, 64, dropout=0, batch_first=True, norm_first=True)
    norm, wide, _, narrow = mine.layers
    pairs = [
        (theirs.norm1, mine.norm),
        (theirs.self_attn.out_proj, mine.joined),
        (theirs.norm2, norm),
        (theirs.linear1, wide),
        (theirs.linear2, narrow),
    ]
    with torch.no_grad():
        for theirs_part, mine_part in pairs:
            theirs_part.load_state_dict(mine_part.state_dict())
        theirs.self_attn.in_proj_weight.copy_(mine.queries_keys_values.weight)
        theirs.self_attn.in_proj_bias.copy_(mine.queries_keys_values.bias)
    x = torch.randn(3, 7, 16)
    there = torch.arange(7) < torch.tensor([[7], [1], [4]])
    expected = theirs(x, src_key_padding_mask=~there)
    assert torch.allclose(mine(x, there)[there], expected[there], atol=1e-5)


@pytest.mark.parametrize("values", [{"width": 0}, {"layers": 0}, {"length": 0}])
def test_wrong_configurations(values: dict[str, int]) -> None:
    for config in (LSTMConfig, TransformerConfig):
        with pytest.raises(InputError, match="at least 1"):
            config(**values)


def test_heads_share_the_width() -> None:
    with pytest.raises(InputError, match="width 10: expected an even multiple of the 4 heads"):
        TransformerConfig(width=10)
