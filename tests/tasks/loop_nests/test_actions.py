"""What each action does, where it is legal, and that legality is told without trying."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.core.errors import IllegalAction, InputError
from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.actions import ACTIONS, CURSOR, MOST_LOOPS, MOST_VALUES, apply, legal_actions
from burnish.tasks.loop_nests.families import FAMILIES
from burnish.tasks.loop_nests.kernel import Bench, CompiledNest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.session import NestSession, open_nest
from tests.tasks.loop_nests.nests import small

PRODUCT = "f32 m=20 n=24 k=9\nc[m,n] += a[m,k] * b[k,n]"
CHAIN = "f32 n=16\nt[n] = x[n] * y[n]\no[n] = max(t[n], 0)"
SCALED = "f32 i=3 j=5 k=4\nt[i,j] += a[i,j,k]\no[i,j] = t[i,j] * 2"
FUSED = "f32 m=6 n=5\nt[m,n] = x[m,n] * 2\no[m,n] = t[m,n] + y[m,n]"
ROWS = "f32 m=6 n=5\ns[m] += a[m,n]\no[m,n] = a[m,n] / s[m]"


def opened(text: str, *trace: str) -> NestSession:
    session = open_nest(parse(text).program("nest"), threads=2)
    session.replay(trace)
    return session


def loops(session: NestSession) -> list[str]:
    """Return the loops, as 'm 20', 'n.1 8 vectorize'."""
    lines = (line.strip() for line in str(session.tree).splitlines() if " in " in line)
    return [
        line.removeprefix("for ").replace(" in ", " ").replace("[", "").replace("]", "") for line in lines
    ]


def is_legal(session: NestSession, entry: str) -> bool:
    site, _, action = entry.rpartition(": ")
    return bool(session.legal(site)[session.index(action)])


@pytest.mark.parametrize(
    ("text", "trace", "expected"),
    [
        (PRODUCT, ["m: split(8)"], ["m 2 r 4", "m.1 8", "n 24", "k 9"]),
        (PRODUCT, ["m: split(8)", "m: merge"], ["m 20", "n 24", "k 9"]),
        (PRODUCT, ["m: split(8)", "m: split(2)", "m: merge"], ["m 2 r 4", "m.1 8", "n 24", "k 9"]),
        (PRODUCT, ["m: split(8)", "m.1: merge"], ["m 20", "n 24", "k 9"]),
        (PRODUCT, ["m: split(8)", "m.1: split(2)", "m.2: merge"], ["m 2 r 4", "m.1 8", "n 24", "k 9"]),
        (PRODUCT, ["m: split(8)", "m.1: split(2)", "m.1: merge"], ["m 2 r 4", "m.1 8", "n 24", "k 9"]),
        (PRODUCT, ["m: split(8)", "m.1: swap_down", "m.1: merge"], ["m 20", "n 24", "k 9"]),
        (
            PRODUCT,
            ["n: split(8)", "n.1: swap_down", "n.1: split(4)", "n.2: merge"],
            ["m 20", "n 3", "k 9", "n.1 8"],
        ),
        (PRODUCT, ["k: split(3)", "k: swap_up", "k: swap_up", "k.1: merge"], ["k 9", "m 20", "n 24"]),
        (FUSED, ["m.1: fuse", "n.1: fuse", "n: split(4)", "n: swap_up", "n.1: merge"], ["n 5", "m 6"]),
        (PRODUCT, ["m: swap_down"], ["n 24", "m 20", "k 9"]),
        (PRODUCT, ["k: swap_up"], ["m 20", "k 9", "n 24"]),
        (PRODUCT, ["k: unroll"], ["m 20", "n 24", "k 9 unroll"]),
        (PRODUCT, ["k: vectorize"], ["m 20", "n 24", "k 9 vectorize"]),
        (PRODUCT, ["m: parallel"], ["m 20 parallel", "n 24", "k 9"]),
        (PRODUCT, ["n: pack(1)"], ["m 20", "n 24 pack b", "k 9"]),
        (PRODUCT, ["m: pack(1)", "m: split(4)"], ["m 5 pack b", "m.1 4", "n 24", "k 9"]),
        (CHAIN, ["n.1: fuse"], ["n 16"]),
        (SCALED, ["i: collapse"], ["ij 15", "k 4", "ij.1 15"]),
        (SCALED, ["i: collapse", "ij.1: split(4)"], ["ij 15", "k 4", "ij.1 3 r 3", "ij.2 4"]),
        (ROWS, ["m.1: fuse"], ["m 6", "n 5", "n.1 5"]),
    ],
)
def test_effect(text: str, trace: list[str], expected: list[str]) -> None:
    assert loops(opened(text, *trace)) == expected


@pytest.mark.parametrize(
    ("text", "trace", "entry"),
    [
        pytest.param(PRODUCT, [], "m: split(24)", id="not longer than the factor"),
        pytest.param(PRODUCT, ["k: split(3)"], "k.1: split(3)", id="nothing would be left"),
        pytest.param(PRODUCT, ["k: unroll"], "k: split(3)", id="unrolled already"),
        pytest.param(PRODUCT, [], "m: merge", id="another iterator inside"),
        pytest.param(PRODUCT, ["m: split(8)"], "n: merge", id="another iterator around"),
        pytest.param(
            PRODUCT, ["k: split(3)", "k.1: unroll"], "k.1: merge", id="made in another way, from inside"
        ),
        pytest.param(
            PRODUCT,
            ["n: split(8)", "n.1: swap_down", "k: unroll"],
            "n.1: merge",
            id="an unrolled loop between",
        ),
        pytest.param(
            PRODUCT, ["n: split(8)", "n.1: swap_down", "k: pack(0)"], "n.1: merge", id="a copy between"
        ),
        pytest.param(
            ROWS, ["m: split(2)", "m.2: split(2)", "m.2: fuse"], "m.1: merge", id="other nodes beside"
        ),
        pytest.param(PRODUCT, ["k: split(3)", "k.1: unroll"], "k: merge", id="made in another way"),
        pytest.param(PRODUCT, [], "m: collapse", id="one without the other"),
        pytest.param(SCALED, ["i: split(2)"], "i.1: collapse", id="split before"),
        pytest.param(SCALED, ["i.1: swap_down"], "i: collapse", id="exchanged elsewhere"),
        pytest.param(SCALED, [], "j: collapse", id="not in each access"),
        pytest.param("f32 i=3 j=4\no[i,j] = a[i,j+1]", [], "i: collapse", id="not all values"),
        pytest.param("f32 i=3 j=4\no[j,i] = a[j,i]", ["j: swap_down"], "i: collapse", id="not as in memory"),
        pytest.param(PRODUCT, [], "m: swap_up", id="outermost"),
        pytest.param(PRODUCT, [], "k: swap_down", id="innermost"),
        pytest.param(PRODUCT, ["k: split(3)"], "k: swap_down", id="the order of one iterator's loops"),
        pytest.param(PRODUCT, ["k: vectorize"], "n: swap_down", id="a loop in a vector"),
        pytest.param(PRODUCT, ["k: pack(1)"], "k: swap_up", id="a copy stays where it is"),
        pytest.param(PRODUCT, ["m: parallel"], "m: swap_down", id="parallel loops stay outside"),
        pytest.param(PRODUCT, [], "n: vectorize", id="a loop in it"),
        pytest.param(PRODUCT, ["k: split(3)"], "k: vectorize", id="steps of more than 1"),
        pytest.param(PRODUCT, ["k: vectorize", "n: unroll"], "m: unroll", id="20 * 24 * 2 values"),
        pytest.param(PRODUCT, [], "n: parallel", id="not outermost"),
        pytest.param(PRODUCT, ["k: swap_up", "k: swap_up"], "k: parallel", id="threads would add up"),
        pytest.param(PRODUCT, [], "m: pack(2)", id="no such operand"),
        pytest.param(PRODUCT, ["m: pack(1)"], "n: pack(1)", id="packed above"),
        pytest.param(PRODUCT, ["n: pack(1)"], "m: pack(1)", id="packed below"),
        pytest.param(CHAIN, [], "n.1: pack(0)", id="what a statement wrote"),
        pytest.param("f32 x=9 i=3\no[x] += a[x+i] * w[i]", [], "x: pack(0)", id="sums of iterators"),
        pytest.param(CHAIN, [], "n: fuse", id="nothing before"),
        pytest.param(CHAIN, ["n: split(4)"], "n.2: fuse", id="other steps"),
        pytest.param(ROWS, ["m.1: fuse"], "n.1: fuse", id="s[m] is whole after the loop only"),
        pytest.param(
            "f32 i=4 j=4\nt[i,j] = x[i,j]\no[i,j] = t[j,i]", [], "i.1: fuse", id="another iteration's"
        ),
        pytest.param(PRODUCT, [], "m: up", id="the cursor moves on the whole program"),
        pytest.param(PRODUCT, [], "up", id="the cursor is at the top"),
    ],
)
def test_illegal(text: str, trace: list[str], entry: str) -> None:
    session = opened(text, *trace)
    before = session.digest()
    assert not is_legal(session, entry)
    with pytest.raises(IllegalAction):
        session.replay([entry])
    assert session.digest() == before


def test_trees_do_not_grow_for_ever() -> None:
    session = opened("f32 n=262144\no[n] = x[n]")
    while is_legal(session, "n: split(2)"):
        session.replay(["n: split(2)"])
    assert len(session.sites()) == MOST_LOOPS


def test_bodies_are_of_so_many_values_at_most() -> None:
    session = opened(f"f32 m=2 n={MOST_VALUES}\no[m,n] = x[m,n]", "n: unroll")
    assert not is_legal(session, "m: unroll")
    session = opened(f"f32 m=2 n={MOST_VALUES}\no[m,n] = x[m,n]", "n: vectorize")
    assert is_legal(session, "m: unroll")


def test_cursor_is_on_a_loop_and_stays_with_it() -> None:
    session = opened(PRODUCT, "down", "down")
    assert session.place.name == "k"
    session.apply(session.index("swap_up"))
    assert (session.place.name, session.trace[-1]) == ("k", "k: swap_up")
    assert [*session.tree.places] == ["m", "k", "n"]
    session.apply(session.index("unroll"))
    assert session.trace[-1] == "k: unroll"
    assert not is_legal(opened(PRODUCT, "down", "down"), "down")


@settings(max_examples=15)
@given(family=st.sampled_from(sorted(FAMILIES)), seed=st.integers(0, 10**6))
def test_legality_is_that_of_trying(family: str, seed: int) -> None:
    session, rng = open_nest(small(family).program(family)), np.random.default_rng(seed)
    for _ in range(10):
        for place in session.tree.places.values():
            tried = [text not in CURSOR and apply(session.tree, text, place) is not None for text in ACTIONS]
            assert legal_actions(session.tree, place) == tried, f"{place.name} of\n{session.tree}"
            if (
                place.loop.kind == "loop"
                and not session.tree.bodies[place.path[:1]].packs
                and place.count > 1
            ):
                unrolled = session.tree.put(place.path, replace(place.loop, kind="unroll"))
                most = max(body.values for body in unrolled.bodies.values())
                assert tried[ACTIONS.index("unroll")] == (most <= MOST_VALUES)
        assert max(body.values for body in session.tree.bodies.values()) <= MOST_VALUES
        site = str(rng.choice(session.sites()))
        legal = np.flatnonzero(session.legal(site))
        if len(legal):
            session.apply(int(rng.choice(legal)), site)


@settings(max_examples=20)
@given(family=st.sampled_from(sorted(FAMILIES)), seed=st.integers(0, 10**6))
def test_replay_gives_every_state_again(family: str, seed: int) -> None:
    """Undoing is replaying all but the last entry."""
    program, rng = small(family).program(family), np.random.default_rng(seed)
    session, states = open_nest(program), []
    for _ in range(12):
        states.append((session.tree, session.cursor, session.digest()))
        site = str(rng.choice(["", *session.sites()]))
        legal = np.flatnonzero(session.legal(site))
        if len(legal):
            session.apply(int(rng.choice(legal)), site)
        else:
            states.pop()
    for length, state in enumerate(states):
        again = open_nest(program)
        again.replay(session.trace[:length])
        assert (again.tree, again.cursor, again.digest()) == state


def test_loops_are_shared_where_there_are_threads() -> None:
    program = parse(PRODUCT).program("nest")
    parallel = ACTIONS.index("parallel")
    assert not TASK.open(program).legal("m")[parallel]
    several = TASK.configured({"threads": "2"})
    assert several.options == {"threads": "2"}
    assert several.open(program).legal("m")[parallel]
    assert TASK.configured({"threads": "1"}) == TASK
    for text in ("0", "-1", "two", "4096"):
        with pytest.raises(InputError, match=f"threads is '{text}'; expected 1 to"):
            TASK.configured({"threads": text})


def test_merge_with_the_loop_around_undoes_split_and_moves_the_cursor() -> None:
    session = opened(PRODUCT)
    before = session.digest()
    session.replay(["split(8)", "down", "merge"])
    assert session.trace == ["m: split(8)", "down", "m.1: merge"]
    assert session.place.name == "m" and session.digest() == before
    again = opened(PRODUCT, *session.trace)
    assert str(again.tree) == str(session.tree)


def test_merge_across_loops_is_swaps_and_a_merge_and_gives_the_same_results() -> None:
    nest = parse(PRODUCT)
    start = ["n: split(8)", "n.1: swap_down", "k: split(4)"]
    once = opened(PRODUCT, *start, "n.1: merge")
    steps = opened(PRODUCT, *start, "n.1: swap_up", "n.1: swap_up", "n: merge")
    assert loops(once) == loops(steps) == ["m 20", "n 24", "k 2 r 1", "k.1 4"]
    assert str(once.tree) == str(steps.tree)
    Bench(nest).check(CompiledNest(once.tree, once.shared.machine))
