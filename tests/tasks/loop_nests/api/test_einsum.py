"""einsum is np.einsum."""

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
    """Draw subscripts, and the shapes of operands: with '...', dimensions of 1 that fit others, and of 0."""
    letters = "abcd"
    extents = {letter: draw(st.integers(0, 5)) for letter in letters}
    broadcast = draw(st.lists(st.integers(0, 3), max_size=2))
    subset = st.lists(st.sampled_from(letters), max_size=3, unique=True)
    terms, shapes = [], []
    for _ in range(draw(st.integers(1, 4))):
        chosen = draw(subset)
        own = broadcast[draw(st.integers(0, len(broadcast))) :]
        placed = bool(own) or draw(st.booleans())
        at = draw(st.integers(0, len(chosen))) if placed else None
        sizes = [extents[letter] for letter in chosen]
        if at is None:
            terms.append("".join(chosen))
        else:
            terms.append("".join(chosen[:at]) + "..." + "".join(chosen[at:]))
            sizes[at:at] = own
        shapes.append(tuple(1 if draw(st.integers(0, 5)) == 0 else size for size in sizes))
    used = sorted({*"".join(terms)} - {"."})
    result = draw(st.permutations(used).map(lambda order: order[: draw(st.integers(0, len(order)))]))
    text = ",".join(terms)
    if draw(st.booleans()):
        text += "->" + ("..." if any("..." in term for term in terms) else "") + "".join(result)
    return text, shapes


@settings(max_examples=40)
@given(cases(), st.sampled_from(["f4", "f8"]))
def test_einsum_is_numpys(case: Case, dtype: str) -> None:
    subscripts, shapes = case
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    found = loops.einsum(subscripts, *arrays)
    expected = np.einsum(subscripts, *arrays)
    assert (found.shape, found.dtype) == (np.shape(expected), np.dtype(dtype))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk,kl,lm->im", [(3, 4), (4, 5), (5, 2), (2, 6)]),
        ("a,b,c,d,e,f,g->", [(2,), (3,), (2,), (3,), (2,), (3,), (2,)]),  # more than all orders are tried for
        ("ii,ij,j", [(3, 3), (3, 4), (4,)]),
        ("i...,...j->...ij", [(3, 2, 4), (4, 5)]),
        ("...,...->...", [(2, 1), (5, 1, 3)]),
        ("ij,jk->ik", [(3, 1), (4, 5)]),
        ("ij,jk,kl->il", [(3, 0), (0, 4), (4, 2)]),  # sums over nothing
        ("ij,jk->ik", [(0, 4), (4, 3)]),  # no elements
        ("ij->ij", [(0, 1)]),
        (",,->", [(), (), ()]),
        ("->", [()]),
    ],
)
def test_einsum_of_many_broadcast_and_empty_operands_is_numpys(subscripts: str, shapes: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape) for shape in shapes]
    found = loops.einsum(subscripts, *arrays)
    expected = np.einsum(subscripts, *arrays)
    assert (found.shape, found.dtype) == (np.shape(expected), np.dtype("f8"))
    np.testing.assert_allclose(found, expected)


def test_the_cheapest_order_is_taken() -> None:
    """Of a column, a row and a column, the row and the column are first: 2 n products, not 2 n^2."""
    from burnish.tasks.loop_nests.api.einsum_notation import _contraction

    found = _contraction("ij,jk,kl->il", ((50, 1), (1, 50), (50, 1)), np.dtype("f4"))
    assert found.steps == (((1, 2), "jl"), ((0, 1), "il"))


A = np.ones((2, 3), dtype=np.float32)


@pytest.mark.parametrize(
    ("subscripts", "operands", "match"),
    [
        ("ij.,jk", (A, A), "expected letters of operands, and at most one '...' in each"),
        ("...i...,j", (A, A), "expected letters of operands, and at most one '...' in each"),
        ("i->i->i", (A,), "expected letters of operands"),
        ("...ij,...j->i", (A[None], A), "the result lacks '...', which has 1 dimensions"),
        ("...i,...i->...", (A.T, A[:, :1].repeat(4, axis=1).T), "'...' of '...i,...i->...' is 3, but 4 in"),
        ("ijk...->i", (A,), "has another shape"),
        ("ii->i", (A,), "i of 'ii->i' is 2, but 3 in 'ii'"),
        ("ii->i", (A[:1],), "i of 'ii->i' is 1, but 3 in 'ii'"),
        ("ij,jk->ik", (A, A), "is 3, but 2 in 'jk'"),
        ("ij,jk->ik", (A,), "1 arrays for 2 operands"),
        ("i->i", (A,), "has another shape"),
        ("ij->k", (A,), "k of 'ij->k' is in no operand"),
        ("ij->ii", (A,), "i of 'ij->ii' is twice in the result"),
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
