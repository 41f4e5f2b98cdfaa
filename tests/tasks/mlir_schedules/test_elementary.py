"""exp, tanh and erf of floats are right in all but the last bits, on scalars and on vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("torch_mlir")

from burnish.core.program import Program
from burnish.tasks.mlir_schedules.kernel import CompiledSchedule, lowered
from burnish.tasks.mlir_schedules.session import open_program
from tests.tasks.mlir_schedules.written import generic

COUNT = 1 << 14
EXACT: dict[str, Callable[[Any], Any]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
}
SPECIAL: dict[str, Sequence[tuple[float, float]]] = {
    "exp": ((np.inf, np.inf), (-np.inf, 0), (200, np.inf), (-200, 0), (0, 1)),
    "tanh": ((np.inf, 1), (-np.inf, -1), (1e30, 1), (-30, -1), (0, 0), (1e-37, 1e-37)),
    "erf": ((np.inf, 1), (-np.inf, -1), (1e30, 1), (-30, -1), (0, 0)),
}
ULPS = {"exp": 1.0, "tanh": 3.0, "erf": 1.5}
VECTORS = ("tile(0, 64)", "vectorize")


@cache
def compiled(name: str, trace: tuple[str, ...]) -> CompiledSchedule:
    session = open_program(Program(name, "mlir", generic((COUNT,), f"%y = math.{name} %x : f32").encode()))
    session.replay(trace)
    return CompiledSchedule(session.payload)


def computed(name: str, trace: tuple[str, ...], values: Any) -> NDArray[np.float32]:
    given = np.resize(np.asarray(values, dtype=np.float32), COUNT)
    result = np.zeros_like(given)
    compiled(name, trace).run([given, result])
    found: NDArray[np.float32] = result[: len(values)]
    return found


def inputs() -> NDArray[np.float32]:
    """Return numbers of both signs: of all sizes, and many of those where functions bend."""
    rng = np.random.default_rng(1)
    sizes = np.exp2(rng.uniform(-30, 6.4, COUNT // 2))
    near = rng.uniform(0, 5, COUNT // 2)
    found: NDArray[np.float32] = (np.concatenate([sizes, near]) * rng.choice([-1, 1], COUNT)).astype(
        np.float32
    )
    return found


@pytest.mark.parametrize("trace", [(), VECTORS], ids=["scalars", "vectors"])
@pytest.mark.parametrize("name", EXACT)
def test_functions_are_right_in_all_but_the_last_bits(name: str, trace: tuple[str, ...]) -> None:
    given = inputs()
    with np.errstate(over="ignore", under="ignore"):
        exact = EXACT[name](given.astype(np.float64))
        expected = exact.astype(np.float32)
    found = computed(name, trace, given)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    ulps = np.abs(found[finite] - exact[finite]) / np.spacing(np.abs(expected[finite]))
    assert ulps.max() <= ULPS[name]


@pytest.mark.parametrize("trace", [(), VECTORS], ids=["scalars", "vectors"])
@pytest.mark.parametrize("name", EXACT)
def test_ends_of_the_range_are_what_they_must_be(name: str, trace: tuple[str, ...]) -> None:
    given, expected = zip(*SPECIAL[name], strict=True)
    np.testing.assert_allclose(computed(name, trace, given), expected, rtol=1e-6)
    assert np.isnan(computed(name, trace, [np.nan])).all()


def test_powers_become_denormal_numbers_and_then_nothing() -> None:
    given = np.linspace(-104, -86, 1000, dtype=np.float32)
    exact = np.exp(given.astype(np.float64))
    assert np.abs(computed("exp", (), given) - exact).max() <= 1.25 * float(np.spacing(np.float32(0)))


def test_no_library_is_called() -> None:
    for name in EXACT:
        module = str(lowered(compiled(name, VECTORS).payload))
        assert "llvm.call" not in module and "math." not in module


def test_doubles_are_left_to_the_library() -> None:
    text = generic((8,), "%y = math.exp %x : f64").replace("f32", "f64")
    session = open_program(Program("doubles", "mlir", text.encode()))
    assert session.measure("seconds") > 0  # which compares
    assert "llvm.call" in str(lowered(session.payload)) or "llvm.intr.exp" in str(lowered(session.payload))


@pytest.mark.parametrize("tile", [("tile(0, 4)", "tile(1, 16)"), ("tile(0, 1)", "tile(1, 16)")])
def test_vectors_of_rows_are_computed_too(tile: tuple[str, ...]) -> None:
    for name in EXACT:
        text = generic((8, 32), f"%y = math.{name} %x : f32")
        session = open_program(Program(name, "mlir", text.encode()))
        session.replay((*tile, "vectorize"))
        assert session.measure("seconds") > 0
