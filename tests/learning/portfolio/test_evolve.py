"""Sequences that are evolved on many programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.task import SearchHints
from burnish.core.trace import Trace
from burnish.core.walk import replay_legal
from burnish.learning.portfolio import evolve as evolve_module
from burnish.learning.portfolio import portfolio as portfolio_module
from burnish.learning.portfolio.costs import relative_seconds
from burnish.learning.portfolio.evolve import (
    CANDIDATES,
    CARRIED,
    SURVIVORS,
    PortfolioSetup,
    evolve,
)
from burnish.learning.portfolio.portfolio import MOST, Generation, Portfolio
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task

PROGRAMS = [counters("a=12 b=7"), counters("a=64"), counters("a=9 b=9 c=3")]
COUNTING = replace(TASK, hints=SearchHints((("halve",),)))
SETUP = PortfolioSetup(COUNTING, "total", count=2, slowest=9.0, generations=3)
FIRST = [("halve",), ("subtract(3)",)]


def evolved(
    state: Path,
    first: Sequence[Trace] = FIRST,
    programs: Sequence[Program] = PROGRAMS,
    **changes: Any,
) -> list[Portfolio]:
    """Evolve with changed settings; return the portfolio as often as it was yielded."""
    return list(evolve(replace(SETUP, **changes), programs, first, state))


@pytest.mark.usefixtures("nothing_left")
def test_portfolio_is_bred_on_many_programs(tmp_path: Path) -> None:
    *_, portfolio = evolved(tmp_path / "portfolio.jsonl", generations=4)
    assert portfolio.programs == [program.name for program in PROGRAMS[:2]]
    assert portfolio.references.tolist() == [14, 33]
    assert portfolio.traces[:2] == FIRST
    assert portfolio.costs[:2].tolist() == [[14, 33], [1 + 9 + 4, 1 + 61]]
    assert len(set(portfolio.traces)) == len(portfolio.traces) >= 2 + 2 * CANDIDATES
    assert portfolio.generations == 4
    chosen, added = portfolio.chosen(4)
    assert chosen[0] not in FIRST, "no candidates is better than halving once"
    assert min(added) > 0
    assert_costs_are_right(portfolio)


def test_what_is_left_to_sites_is_in_no_sequence(tmp_path: Path) -> None:
    first = [("halve",), ("subtract(3)", "subtract(1)", "add(1)")]
    left_out = ("add", "subtract(3")
    *_, portfolio = evolved(tmp_path / "portfolio.jsonl", first, generations=4, left_out=left_out)
    assert portfolio.traces[:2] == [("halve",), ("subtract(1)",)]
    assert {action for trace in portfolio.traces for action in trace} == {"halve", "subtract(1)"}


def assert_costs_are_right(portfolio: Portfolio) -> None:
    assert (
        portfolio.costs.shape == portfolio.seconds.shape == (len(portfolio.traces), len(portfolio.programs))
    )
    programs = {program.name: program for program in PROGRAMS}
    for trace, costs in zip(portfolio.traces, portfolio.costs, strict=True):
        for name, cost in zip(portfolio.programs, costs, strict=True):
            session = COUNTING.open(programs[name])
            replay_legal(session, trace)
            assert session.measure("total") == cost


def test_candidates_race(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evolve_module, "SCREEN", 2)
    state = tmp_path / "portfolio.jsonl"
    *_, portfolio = evolved(state, count=3)
    *_, head, line = (json.loads(text) for text in state.read_text().splitlines())
    for row in (head, line):
        tried = [*map(tuple, row["traces"]), *map(tuple, row["dropped"])]
        assert len(set(tried)) == len(tried)
        assert len(row["traces"]) <= SURVIVORS
    assert len(line["traces"]) + len(line["dropped"]) == CANDIDATES
    assert not portfolio.dropped & set(portfolio.traces)
    assert_costs_are_right(portfolio)


def test_generation_that_nobody_survives_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evolve_module, "SCREEN", 2)
    solved = [counters("a=1"), counters("b=1"), counters("c=1")]  # by the reference, and nothing is faster
    for module in (evolve_module, portfolio_module):
        monkeypatch.setattr(module, "relative_seconds", lambda traces, seconds, _: 0 * seconds + 1)
    first = [("subtract(1)",)]
    task = replace(TASK, hints=SearchHints(tuple(first)))
    state = tmp_path / "portfolio.jsonl"
    *_, before = evolved(state, first, solved, task=task, count=3)
    assert before.traces == first and before.dropped
    (after,) = evolved(state, first, solved, task=task, count=3)
    assert after.traces == before.traces and after.dropped == before.dropped
    assert after.generations == 3


def test_worth_is_what_is_added_or_what_the_parent_adds_less() -> None:
    traces: list[tuple[str, ...]] = [("halve",), ("a",), ("b",)]
    costs = np.exp(-np.array([[0.0, 0.0], [0.2, 0.0], [0.0, 0.1]]))
    seconds = np.array([[1.0, 1.0], [1.5, 1.5], [0.5, 0.5]])
    portfolio = Portfolio(["x", "y"], np.ones(2), traces, costs, seconds)
    candidates = Generation(
        [("c",), ("d",), ("halve", "e")],
        np.exp(-np.array([[0.2, 0.0], [0.2, 0.05], [0.0, 0.4]])),
        np.array([[0.5, 0.5], [4.5, 4.5], [2.0, 2.0]]),
    )
    worth = evolve_module._worth(portfolio, candidates, [1, 1, 0], np.array([0, 1]))
    # c: as good as its first a, 0.2 / (0.5 + 0.5) less 0.2 / (0.5 + 1.5); d: slower than its first, adds
    # nothing; e, which begins with the reference, takes 2 - 1 and adds 0.4 - 0.1.
    np.testing.assert_allclose(worth, [0.2 - 0.1, 0.0, 0.3 / 1.5])


def test_portfolio_is_widened_to_more_programs(tmp_path: Path) -> None:
    state = tmp_path / "portfolio.jsonl"
    *_, before = evolved(state)
    (after,) = evolved(state, generations=1, count=3)
    assert after.programs == [program.name for program in PROGRAMS]
    assert after.traces == [("halve",), *before.chosen(CARRIED)[0]]
    assert set(before.traces) == set(after.traces) | after.dropped
    assert_costs_are_right(after)
    written = state.read_text()
    *_, more = evolved(state, generations=2, count=3)
    assert state.read_text().startswith(written)
    assert_costs_are_right(more)


def test_what_begins_with_the_reference_takes_the_rest_only() -> None:
    traces = [("z",), ("z", "a"), ("a", "z"), ("z", "b")]
    seconds = np.array([[2.0, 4.0], [3.0, 4.1], [3.0, 8.0], [1.9, 4.0]])
    relative = relative_seconds(traces, seconds, np.array([2.0, 4.0]))
    expected = np.array([[1, 1], [0.5, 0.025], [1.5, 2], [0.02, 0.02]])
    np.testing.assert_allclose(relative, expected)


def test_sequences_are_chosen_by_gain_for_time() -> None:
    costs = np.array([[8.0, 8.0], [4.0, 8.0], [4.0, 4.0], [8.0, 4.0]])
    seconds = np.array([[1.0, 2.0], [0.5, 1.0], [9.0, 18.0], [1.0, 2.0]])
    traces: list[tuple[str, ...]] = [("halve",), ("a",), ("b",), ("c",)]
    portfolio = Portfolio(["x", "y"], np.array([8.0, 8.0]), traces, costs, seconds)
    # a: 0.25 in 0.5 + 0.5, b: 0.5 in 9 + 0.5, c: 0.25 in 1 + 0.5; then c, and nothing is left to gain.
    # (log 2 is more than MOST, which is what counts)
    assert portfolio.chosen(9) == ([("a",), ("c",)], [MOST / 2, MOST / 2])
    assert portfolio.chosen(1) == ([("a",)], [MOST / 2])


def test_every_other_generation_leaves_entries_out(tmp_path: Path) -> None:
    state = tmp_path / "portfolio.jsonl"
    first = [("halve",), ("halve", "add(1)", "halve")]
    *_, portfolio = evolved(state, first, generations=2)
    assert set(portfolio.traces[2:]) == {("add(1)", "halve"), ("halve", "halve"), ("halve", "add(1)")}
    *_, portfolio = evolved(state, first)
    assert 5 < len(portfolio.traces) <= 5 + CANDIDATES


@pytest.mark.usefixtures("nothing_left")
def test_breeding_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    state = tmp_path / "portfolio.jsonl"
    *_, before = evolved(state, generations=2)
    written = state.read_text()
    state.write_text(written + '{"traces": [["hal')
    *_, after = evolved(state)
    assert state.read_text().startswith(written)
    assert after.generations == 3 and after.traces[: len(before.traces)] == before.traces
    assert len(after.traces) > len(before.traces)
    (finished,) = evolved(state)
    assert finished.traces == after.traces
    np.testing.assert_array_equal(finished.costs, after.costs)
    with pytest.raises(InputError, match="evolved for total, expected largest"):
        evolved(state, objective="largest")
    with pytest.raises(InputError, match="which no longer exists"):
        evolved(state, programs=PROGRAMS[1:])
    with pytest.raises(InputError, match="on none of the programs"):
        evolved(tmp_path / "x", slowest=0.0)


def test_failing_sequence_adds_nothing(tmp_path: Path) -> None:
    task = failing_task(COUNTING, "give-up")
    first = [("give-up",), ("halve",), ("halve", "halve")]
    (portfolio,) = evolved(tmp_path / "portfolio.jsonl", first, task=task, generations=1)
    assert np.isinf(portfolio.costs[0]).all() and np.isfinite(portfolio.costs[1:]).all()
    assert portfolio.chosen(3)[0] == [("halve", "halve")]
