"""What NumPy makes of a nest is what its statements say, element by element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from burnish.core.errors import ProgramError
from burnish.tasks.loop_nests.families import FAMILIES
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.reference import evaluate
from tests.tasks.loop_nests.nests import nests, plain, random_inputs, small


def assert_equal(nest: Nest) -> None:
    inputs = random_inputs(nest)
    with np.errstate(all="ignore"):
        found, expected = evaluate(nest, inputs), plain(nest, inputs)
    assert tuple(found) == nest.written
    for name, array in expected.items():
        assert found[name].shape == array.shape
        np.testing.assert_allclose(found[name], array, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_mean_what_they_say(family: str) -> None:
    assert_equal(small(family, (3, 4, 2, 3, 2, 2)))


@settings(max_examples=40)
@given(nests())
def test_any_nest_means_what_it_says(nest: Nest) -> None:
    assert_equal(nest)


def test_reductions_begin_with_nothing() -> None:
    nest = parse("f64 i=2 j=3\nt[i] max= a[i,j]\np[i] *= a[i,j]\ns[i] += 1 + 0*a[i,j]")
    found = evaluate(nest, {"a": np.array([[-1.0, -2, -3], [2, 3, 4]])})
    assert found["t"].tolist() == [-1, 4]
    assert found["p"].tolist() == [-6, 24]
    assert found["s"].tolist() == [3, 3]


def test_precision_is_that_of_the_inputs() -> None:
    nest = parse("f32 i=2\no[i] = a[i] + b[i]")
    arrays = {name: np.ones(2, dtype=np.float32) for name in "ab"}
    assert evaluate(nest, arrays)["o"].dtype == np.float32


def test_inputs_are_checked() -> None:
    nest = parse("f32 i=2\no[i] = a[i] + b[i]")
    with pytest.raises(ProgramError, match="b is missing; expected"):
        evaluate(nest, {"a": np.ones(2)})
    with pytest.raises(ProgramError, match=r"a has the shape \(3,\); expected \(2,\)"):
        evaluate(nest, {"a": np.ones(3), "b": np.ones(2)})
