"""Sequence encoders: order matters, padding does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.learning.networks.elements import Numbers, Vectors
from burnish.learning.networks.encoder import Encoder
from burnish.learning.networks.sequence import (
    LSTM,
    Attention,
    LSTMConfig,
    Transformer,
    TransformerConfig,
)
from tests.learning.networks import observed as shared

SIZE = 20
COLUMNS = 5
Make = Callable[..., Encoder]


def lstm(width: int = 16, length: int = 30, padding: int | None = None, layers: int = 2) -> LSTM:
    torch.manual_seed(0)
    return LSTM(LSTMConfig(width, layers, length), Numbers(SIZE, padding))


def transformer(
    width: int = 16, length: int = 30, padding: int | None = None, layers: int = 2
) -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(width, layers, 2, length), Numbers(SIZE, padding))


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


def row_lstm(width: int = 16, length: int = 30, layers: int = 2, there: int | None = 0) -> LSTM:
    torch.manual_seed(0)
    return LSTM(LSTMConfig(width, layers, length), Vectors(COLUMNS, there))


def row_transformer(width: int = 16, length: int = 30, layers: int = 2, there: int | None = 0) -> Transformer:
    torch.manual_seed(0)
    return Transformer(TransformerConfig(width, layers, 2, length), Vectors(COLUMNS, there))


of_rows = pytest.mark.parametrize("make", [row_lstm, row_transformer])


def rows(seed: int, lengths: tuple[int, ...] = (5, 1, 30, 0, 12)) -> list[NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    found = [rng.normal(size=(length, COLUMNS)).astype(np.float32) for length in lengths]
    for one in found:
        one[:, 0] = 1
    return found


@of_rows
def test_rows_batched_are_one_by_one(make: Make) -> None:
    assert shared.batched_is_one_by_one(make(), rows(1))


@of_rows
def test_rows_that_are_none_have_no_effect(make: Make) -> None:
    encoder, (some,) = make(), rows(2, (4,))
    holes = np.insert(some, [0, 2, 4, 4], 0, axis=0)
    assert holes.shape == (8, COLUMNS)
    assert encoder.collate([holes])["lengths"].tolist() == [4]
    assert shared.same(shared.encoded(encoder, [holes]), shared.encoded(encoder, [some]))
    assert make(there=None).collate([holes])["lengths"].tolist() == [8]


@of_rows
def test_every_row_counts_and_their_order_matters(make: Make) -> None:
    encoder, (some,) = make(), rows(3, (4,))
    original = shared.encoded(encoder, [some])
    changed = [some[::-1], *(some[np.arange(4) != i] for i in range(4))]
    assert ((shared.encoded(encoder, changed) - original).abs().amax(dim=1) > 1e-3).all()


@of_rows
def test_of_many_rows_the_last_count(make: Make) -> None:
    encoder, (long,) = make(length=4), rows(4, (50,))
    assert shared.same(shared.encoded(encoder, [long]), shared.encoded(encoder, [long[-4:]]))


@of_rows
def test_gradients_of_rows(make: Make) -> None:
    assert shared.gradients_are_right(make(width=4), rows(5, (3, 0, 5)))


@of_rows
def test_fits_rows(make: Make) -> None:
    before, after = shared.loss_after_fitting(make(), rows(6, (4, 8, 0, 5, 12, 3)))
    assert after < 1e-3 < before


def test_columns_of_rows_are_standardized() -> None:
    embedding = Vectors(3).embedding(8)
    embedding.standardize([np.array([[1, 5, 2]] * 2, dtype=np.float32), np.array([[1, 7, 8]] * 2)])
    assert embedding.mean.tolist() == [1, 6, 5]
    assert embedding.deviation.tolist() == [1, 1, 3]
    embedding.standardize([np.zeros((0, 3))])
    assert embedding.mean.tolist() == [1, 6, 5]


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
