"""Constants that are not stored, columns that are stored as rows, and results that are in no cache."""

from __future__ import annotations

import numpy as np
import pytest

from burnish.tasks.mlir_schedules import bindings, fills, lowering, stores, streams
from burnish.tasks.mlir_schedules.kernel import CompiledSchedule, lowered
from burnish.tasks.tensors.arrays import aligned
from tests.tasks.mlir_schedules.small import at, opened

M, C = "matmul#1", "conv_2d_nchw_fchw#1"
REGISTERS = ("tile(0, 4)", "tile(1, 8)")
SUMS = ("tile(2, 1)", "vectorize", "hoist")
ADDED = at("add#0", "tile(0, 1)", "tile(1, 16)", "vectorize")


def finished(program: str, trace: list[str]) -> str:
    """Return the module of a schedule before bufferization; the schedule's results are those of NumPy."""
    session = opened(program, *trace)
    session.compiled()  # compared
    module = bindings.clone(session.payload.module)
    lowering.finish(module)
    fills.forward_fills(module)
    stores.store_rows(module)
    return str(module)


def repeated(pixels: int, *unrolls: str) -> list[str]:
    """Return a schedule of vectors of 8 filters for some pixels of a row."""
    loops = ("tile(2, 1)", *(["tile(3, 2)"] if pixels == 2 else []))
    return at(
        C,
        *(*loops, "tile(4, 1)", "tile(5, 1)", "tile(6, 1)", "tile(3, 1)", "pack(1, 5)"),
        *("fold_unit_dims", "vectorize", *unrolls, "hoist"),
    )


@pytest.mark.parametrize(
    ("trace", "is_stored"),
    [
        (at(M, *REGISTERS, *SUMS), False),
        ([*at(M, "split(0, 12)", *REGISTERS, *SUMS), *at(f"{M}.tail", "tile(1, 8)", *SUMS)], False),
        (at(M, "split(0, 12)", *REGISTERS, *SUMS), True),  # the tail adds to memory
        (at(M, "tile(2, 3)", *REGISTERS, *SUMS), True),  # three times, to what is there
        (at(M, *REGISTERS), True),
    ],
)
def test_a_fill_is_stored_if_memory_is_added_to(trace: list[str], is_stored: bool) -> None:
    text = finished("matmul", trace)
    assert ("linalg.fill" in text) == is_stored
    assert ("vector.broadcast %cst" in text or "arith.constant dense<0" in text) or is_stored


def test_a_fill_of_a_larger_image_is_stored() -> None:
    text = finished("padded", [])
    assert text.count("linalg.fill") == 2  # of the padding and of the sums


def test_four_columns_are_stored_as_rows() -> None:
    text = finished("strided", repeated(6, "unroll(3)", "unroll(2)"))
    assert text.count("vector.shuffle") == 8  # of four of the six columns
    assert text.count("vector<4xf32>, tensor") == 8


def test_less_than_four_columns_are_stored_as_they_are() -> None:
    assert "vector.shuffle" not in finished("strided", repeated(2, "unroll(2)"))


@pytest.fixture
def all_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results of any size are streamed."""
    monkeypatch.setattr(streams, "STREAMED", 1)


@pytest.mark.usefixtures("all_stream")
@pytest.mark.parametrize("shift", [0, 1])
def test_streamed_results_do_not_depend_on_their_address(shift: int) -> None:
    session = opened("add", *ADDED)
    assert "nontemporal" in str(lowered(session.payload))
    trial = session.shared.trial
    (shape,) = (array.shape for array in trial.outputs)
    memory = aligned((shape[0] * shape[1] + shift,), np.float32)
    memory.fill(np.nan)
    result = memory[shift:].reshape(shape)
    CompiledSchedule(session.payload).run([*trial.inputs, result])
    np.testing.assert_array_equal(result, sum(trial.inputs))


@pytest.mark.usefixtures("all_stream")
@pytest.mark.parametrize(
    ("program", "trace"),
    [
        ("matmul", at(M, *REGISTERS, *SUMS)),  # a tile has parts of lines
        ("add", at("add#0", "tile(0, 1)", "tile(1, 4)", "vectorize")),  # vectors of 16 bytes
        ("add", []),
        ("columns", at("generic#1", "tile(0, 1)", "tile(1, 16)", "vectorize")),  # it is added to
    ],
)
def test_other_results_are_not_streamed(program: str, trace: list[str]) -> None:
    session = opened(program, *trace)
    assert "nontemporal" not in str(lowered(session.payload))
    session.compiled()  # compared


def test_small_results_stay_in_caches() -> None:
    assert "nontemporal" not in str(lowered(opened("add", *ADDED).payload))
