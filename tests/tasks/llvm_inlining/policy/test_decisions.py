"""Tables of decisions, against what a session says of each answer alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.search.evaluator import BudgetSpent, Evaluator
from burnish.search.problem import Problem
from burnish.search.space import Evaluation
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.observations import INLINED, ROW, WOULD
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, Trying, decide
from tests.sources import program

PROBLEM = Problem(TASK, program("classes.cpp"), "ir-instructions")


@pytest.fixture(scope="module")
def table() -> Decisions:
    return decide(PROBLEM)


def test_a_change_is_what_the_other_answer_costs_more(table: Decisions) -> None:
    session = TASK.open(PROBLEM.program)
    assert table.sites == session.sites()
    assert table.cost == session.measure("ir-instructions")
    assert table.tried.all()
    for entry in session.alternatives()[:6]:
        other = session.fork()
        other.replay([entry])
        place = table.sites.index(entry.rpartition(": ")[0])
        assert table.changes[place] == other.measure("ir-instructions") - table.cost


def test_the_better_answer_is_the_cheaper_one(table: Decisions) -> None:
    assert (table.better != table.rows[:, INLINED]).tolist() == (table.changes < 0).tolist()
    assert (table.rows[:, WOULD] == table.rows[:, INLINED]).all()  # nobody answered


def test_under_answers_those_are_tried_the_other_way_too(table: Decisions) -> None:
    place = int(np.argmin(table.changes))
    entry = f"{table.sites[place]}: {'leave' if table.rows[place, INLINED] else 'inline'}"
    under = decide(PROBLEM, (entry,))
    assert under.cost == table.cost + table.changes[place]
    found = under.sites.index(table.sites[place])
    assert under.rows[found, INLINED] != under.rows[found, WOULD]
    assert under.changes[found] == -table.changes[place]


def test_a_compile_that_takes_too_long_leaves_the_rest_untried(
    table: Decisions, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Evaluator.evaluate

    def cut(self: Evaluator, *arguments: Any, **limits: Any) -> Iterator[Evaluation]:
        yield next(iter(whole(self, *arguments, **limits)))
        raise BudgetSpent

    monkeypatch.setattr(Evaluator, "evaluate", cut)
    found = decide(PROBLEM, trying=Trying(seconds=60))
    assert found.tried.sum() == 1
    assert found.changes[found.tried] == table.changes[found.tried]


def test_sites_are_chosen_by_a_pattern(table: Decisions) -> None:
    pattern = r"^_Z6totalsid >"
    found = decide(PROBLEM, trying=Trying(sites=pattern))
    at = [i for i, site in enumerate(table.sites) if site.startswith("_Z6totalsid >")]
    assert 0 < len(at) < len(table.sites)
    assert found.sites == tuple(table.sites[i] for i in at)
    assert found.rows.tolist() == table.rows[at].tolist()
    assert found.changes.tolist() == table.changes[at].tolist()


def test_some_are_drawn_with_the_seed(table: Decisions) -> None:
    found = [decide(PROBLEM, trying=Trying(most=5, seed=seed)) for seed in (0, 0, 1)]
    assert [int(one.tried.sum()) for one in found] == [5, 5, 5]
    assert np.array_equal(found[0].changes, found[1].changes, equal_nan=True)
    assert not np.array_equal(found[0].tried, found[2].tried)
    drawn = found[0].tried
    assert (found[0].changes[drawn] == table.changes[drawn]).all()


def test_a_line_of_json_is_the_whole_table(table: Decisions) -> None:
    some = replace(table, changes=np.where(np.arange(len(table.rows)) % 2, math.nan, table.changes))
    read = Decisions.from_json(some.to_json())
    assert (read.program, read.digest, read.cost, read.sites) == (
        some.program,
        some.digest,
        some.cost,
        some.sites,
    )
    assert np.array_equal(read.rows, some.rows)
    assert np.array_equal(read.changes, some.changes, equal_nan=True)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [(f'"{ROW[0]}"', '"other"', "columns"), ('"sites"', '"places"', "not a module's decisions")],
)
def test_what_is_no_table_is_refused(table: Decisions, before: str, after: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Decisions.from_json(table.to_json().replace(before, after, 1))
