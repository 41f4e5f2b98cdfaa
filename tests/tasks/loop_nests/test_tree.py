"""Loop trees: what they are called, how far they go, how they print."""

from __future__ import annotations

import pytest

from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.session import open_nest
from burnish.tasks.loop_nests.tree import Loop, Tree, naive

PRODUCT = "f32 m=20 n=24 k=9\nc[m,n] += a[m,k] * b[k,n]"


def scheduled(text: str, *trace: str) -> Tree:
    """Return the tree of a nest after some actions."""
    session = open_nest(parse(text).program("nest"), threads=2)
    session.replay(trace)
    return session.tree


@pytest.mark.parametrize(
    ("text", "trace", "printed"),
    [
        pytest.param(
            PRODUCT,
            (),
            """
for m in 20
  for n in 24
    for k in 9
      c[m,n] += a[m,k] * b[k,n]
""",
            id="naive: as the statement says",
        ),
        pytest.param(
            PRODUCT,
            ("k: swap_up", "n: split(8)", "m: split(6)", "n.1: vectorize", "k: pack(1)"),
            """
for m in 3 r 2
  for m.1 in 6
    for k in 9 [pack b]
      for n in 3
        for n.1 in 8 [vectorize]
          c[m,n] += a[m,k] * b[k,n]
""",
            id="tails, and how loops are made",
        ),
        pytest.param(
            "f32 n=6 m=2\nt[n] = x[n] * y[n]\no[n,m] = max(t[n], 0) + m2[m]",
            ("n.1: fuse",),
            """
for n in 6
  t[n] = x[n] * y[n]
  for m in 2
    o[n,m] = max(t[n], 0.0) + m2[m]
""",
            id="two statements in one loop",
        ),
        pytest.param(
            "f32 m=100 n=4\ns[m] += a[m,n]\no[m] = s[m] / 2",
            ("m: split(32)", "m.1: split(6)", "m: parallel", "m.2: unroll", "m.3: split(3)"),
            """
for m in 3 r 4 [parallel]
  for m.1 in 5 r 2
    for m.2 in 6 [unroll]
      for n in 4
        s[m] += a[m,n]
for m.3 in 33 r 1
  for m.4 in 3
    o[m] = s[m] / 2.0
""",
            id="loops of one iterator are numbered through the whole tree",
        ),
    ],
)
def test_prints_as_looptool_does(text: str, trace: tuple[str, ...], printed: str) -> None:
    assert str(scheduled(text, *trace)) == printed.strip("\n")


def test_places_know_how_far_they_go() -> None:
    places = scheduled(PRODUCT, "m: split(6)", "m.1: split(4)").places
    assert [*places] == ["m", "m.1", "m.2", "n", "k"]
    assert [(place.extent, place.loop.step, place.count, place.tail) for place in places.values()] == [
        (20, 6, 4, 2),
        (6, 4, 2, 2),
        (4, 1, 4, 0),
        (24, 1, 24, 0),
        (9, 1, 9, 0),
    ]
    assert [place.path for place in places.values()] == [(0,), (0, 0), (0, 0, 0), (0,) * 4, (0,) * 5]


def test_nodes_are_found_by_their_paths() -> None:
    tree = naive(parse("f32 i=2 j=3\nt[i] += a[i,j]\no[i] = t[i]"))
    assert tree.at((0, 0)).iterator == "j"
    assert [loop.iterator for loop in tree.above((0, 0, 0))] == ["i", "j"]
    assert (tree.leaves((0,)), tree.leaves((1,))) == ((0,), (1,))
    replaced = tree.put((0, 0), Loop("j", 2, tree.at((0, 0)).body))
    assert (replaced.at((0, 0)).step, tree.at((0, 0)).step) == (2, 1)
