"""How traces are varied."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.trace import Trace
from burnish.search.mutation import cross, draw_suffix, mutate

SEEDS = st.integers(0, 2**32)
TRACES = st.lists(st.sampled_from("abc"), max_size=6).map(tuple)
BY_KIND = {"tile": ("tile(i, 8)", "tile(i, 32)"), "gvn": ("gvn", "gvn<no-load-pre>"), "split": ("split(2)",)}


def mutants(trace: Trace, longest: int, count: int = 300) -> set[Trace]:
    """Return what one change, to "new" or to other parameters, makes of a trace."""
    rng = np.random.default_rng(0)
    return {
        mutate(trace, lambda _: "new", rng, longest=longest, most=1, by_kind=BY_KIND) for _ in range(count)
    }


def test_one_change_makes_these_neighbours() -> None:
    same = ("tile(i, 32)", "gvn")
    assert mutants(same, longest=9) == {
        same,
        ("new", *same),
        ("tile(i, 32)", "new", "gvn"),
        (*same, "new"),
        ("gvn",),
        ("tile(i, 32)",),
        ("new", "gvn"),
        ("tile(i, 32)", "new"),
        ("gvn", "tile(i, 32)"),
        ("tile(i, 8)", "gvn"),
        ("tile(i, 32)", "gvn<no-load-pre>"),
    }


def test_full_trace_does_not_grow() -> None:
    assert max(map(len, mutants(("gvn", "gvn"), longest=2))) == 2
    assert mutants((), longest=9) == {("new",)}


@given(TRACES, TRACES, SEEDS)
def test_cross_is_a_beginning_and_an_end(parent: Trace, other: Trace, seed: int) -> None:
    crossed = cross(parent, other, np.random.default_rng(seed))
    assert any(
        crossed == parent[:at] + other[begin:]
        for at in range(len(parent) + 1)
        for begin in range(len(other) + 1)
    )


def suffixes(pool: list[Trace], **options: bool | float) -> set[Trace]:
    rng = np.random.default_rng(0)
    return {draw_suffix(("x",), pool, rng, longest=3, **options) for _ in range(300)}  # type: ignore[arg-type]


def test_suffixes_are_random_or_of_the_pool_with_one_change() -> None:
    fresh = {("x",), ("x", "x"), ("x", "x", "x")}
    changed = {("x", "a", "b"), ("a", "x", "b"), ("a", "b", "x"), ("a",), ("b",), ("x", "b"), ("a", "x")}
    assert suffixes([]) == fresh
    assert suffixes([("a", "b")]) == fresh | changed
    assert suffixes([("a", "b")], fresh=0.0) == changed
    assert suffixes([("a", "b")], fresh=0.0, join=True) == changed | {("a", "b", "a", "b")}
    assert suffixes([("a",)], fresh=0.0) == {("x", "a"), ("a", "x"), ("x",)}, "none is empty"
