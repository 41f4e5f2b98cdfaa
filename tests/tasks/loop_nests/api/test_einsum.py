"""einsum is np.einsum of one or two arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish import loops
from burnish.core.errors import InputError

Case = tuple[str, list[tuple[int, ...]]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw subscripts, and the shapes of operands."""
    letters = "abcd"
    extents = {letter: draw(st.integers(1, 5)) for letter in letters}
    subset = st.lists(st.sampled_from(letters), max_size=3, unique=True)
    terms = draw(st.lists(subset, min_size=1, max_size=2).filter(any))  # a nest has an iterator
    used = sorted({letter for term in terms for letter in term})
    result = draw(st.permutations(used).map(lambda order: order[: draw(st.integers(0, len(order)))]))
    text = ",".join("".join(term) for term in terms)
    if draw(st.booleans()):
        text += "->" + "".join(result)
    return text, [tuple(extents[letter] for letter in term) for term in terms]


@settings(max_examples=25)
@given(cases(), st.sampled_from(["f4", "f8"]))
def test_einsum_is_numpys(case: Case, dtype: str) -> None:
    subscripts, shapes = case
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    found = loops.einsum(subscripts, *arrays)
    expected = np.einsum(subscripts, *arrays)
    assert (found.shape, found.dtype) == (np.shape(expected), np.dtype(dtype))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


A = np.ones((2, 3), dtype=np.float32)


@pytest.mark.parametrize(
    ("subscripts", "operands", "match"),
    [
        ("ij,jk,kl->il", (A, A, A), "expected letters of one or two operands"),
        ("i...,j", (A, A), "expected letters of one or two operands"),
        ("ij,jk->ik", (A, A), "is 3, but 2 in 'jk'"),
        ("ij,jk->ik", (A,), "1 arrays for 2 operands"),
        ("i->i", (A,), "has another shape"),
        ("ij->k", (A,), "k of 'ij->k' is in no operand"),
        ("ij->ii", (A,), "different iterators"),
        ("ij,ij->ij", (A, A.astype(float)), "expected the same one for all"),
        ("ij->ji", (A.astype(int),), "expected f32 or f64"),
        ("", (), "dtypes \\(none\\)"),
    ],
)
def test_what_does_not_fit_is_named(subscripts: str, operands: Any, match: str) -> None:
    with pytest.raises(InputError, match=match):
        loops.einsum(subscripts, *operands)


def test_the_second_call_compiles_nothing() -> None:
    from burnish.tasks.loop_nests.api.einsum_notation import _kernel

    before = _kernel.cache_info()
    for _ in range(3):
        loops.einsum("ij,kj->ik", A, A)
    after = _kernel.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 2)
