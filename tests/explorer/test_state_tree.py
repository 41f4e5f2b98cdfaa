"""The tree keeps what a person or a search has reached, and its threads end when they are asked to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing

import pytest

from burnish.core.errors import InputError
from burnish.core.registry import load_task
from burnish.core.trace import Trace
from burnish.explorer import state_tree
from burnish.explorer.exploration import Exploration
from burnish.explorer.state_tree import Node, StateTree
from burnish.search import Budget
from tests.explorer.test_exploration import PROGRAMS
from tests.sources import program

SROA = "sroa<modify-cfg>"


@pytest.fixture
def tree() -> Iterator[StateTree]:
    with (
        Exploration(load_task("llvm_passes"), program("matrix.c")) as exploration,
        closing(StateTree(exploration)) as tree,
    ):
        yield tree


def test_trials_apply_every_action_once(tree: StateTree) -> None:
    entries = [SROA, "early-cse", "gvn", "instsimplify", "no longer legal: gvn"]
    tree.start_trials((), entries)
    tree.trials.wait()
    assert not tree.trials.error
    assert {edge.entry for edge in tree.edges()} == set(entries[:-1])
    for edge in tree.edges():
        assert edge.target
        assert tree.nodes[edge.target].cost == tree.exploration.cost(tree.exploration.states[edge.target])


def test_trials_end_after_their_current_action(tree: StateTree, monkeypatch: pytest.MonkeyPatch) -> None:
    visit = tree.visit

    def stopping(trace: Trace) -> Node:
        tree.trials._ends.set()  # as stop() does, which would wait for this thread
        return visit(trace)

    monkeypatch.setattr(tree, "visit", stopping)
    tree.start_trials((), [SROA, "early-cse", "gvn"])
    tree.trials.wait()
    assert [edge.entry for edge in tree.edges()] == [SROA]


def test_trials_are_limited_and_one_at_a_time(tree: StateTree, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="201 actions are shown; filter them to 200"):
        tree.start_trials((), ["gvn"] * 201)
    monkeypatch.setattr(type(tree.trials), "running", True)
    with pytest.raises(InputError, match="runs already; stop it first"):
        tree.start_trials((), ["gvn"])


def test_search_shows_every_evaluation_in_its_order(tree: StateTree) -> None:
    tree.start_search((SROA,), Budget(evaluations=12, workers=1))
    tree.search.wait()
    assert len(tree.evaluated) >= 12
    costs = {node.cost for node in tree.nodes.values() if node.searched}
    assert costs <= set(tree.evaluated)
    assert min(tree.evaluated) == min(costs)


def test_parent_of_a_searched_state_is_the_longest_known_beginning(tree: StateTree) -> None:
    first = tree.visit((SROA,))
    second = tree.visit((SROA, "early-cse"))
    assert tree._known_before((SROA, "early-cse", "gvn", "adce")) == second.key
    assert tree._known_before((SROA, "gvn", "early-cse")) == first.key
    assert tree._known_before(("gvn",)) == tree.exploration.root.digest


def test_full_tree_leaves_out_searched_states_and_keeps_a_persons(
    tree: StateTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_tree, "MOST_NODES", 3)
    tree.start_search((), Budget(evaluations=20, workers=1))
    tree.search.wait()
    assert len(tree.nodes) == 3
    assert tree.left_out > 0
    with pytest.raises(InputError, match="3 states, its limit"):
        tree.start_trials((), [SROA])
    assert tree.visit((SROA, "early-cse", "adce")).key in tree.nodes


def test_minimal_trace_has_the_cost_of_the_whole(tree: StateTree) -> None:
    trace = ("globaldce", SROA, "mem2reg", "early-cse", "mem2reg")
    reduced = tree.minimize(trace)
    assert reduced.minimal
    assert set(reduced.trace) <= {SROA, "mem2reg", "early-cse"}
    assert len(reduced.trace) < len(trace)
    assert tree.visit(reduced.trace).cost <= tree.visit(trace).cost


def test_noisy_costs_are_not_minimised() -> None:
    with (
        Exploration(load_task("loop_nests"), PROGRAMS["loop_nests"]()) as exploration,
        closing(StateTree(exploration)) as tree,
        pytest.raises(InputError, match="seconds differs at each measurement"),
    ):
        tree.minimize(("m: unroll",))


def test_crash_has_no_cost_in_json() -> None:
    assert state_tree.as_json(Node("k", "", (), math.inf, "died"))["cost"] is None


def test_closed_tree_ends_minimising(tree: StateTree) -> None:
    trace = (SROA, "mem2reg", "early-cse")
    tree.close()
    reduced = tree.minimize(trace)
    assert reduced.trace == trace
    assert not reduced.minimal
