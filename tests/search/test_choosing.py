"""The cheapest alternatives of all sites together, within a limit that they share."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from burnish.search.choosing import cheapest_within

Table = NDArray[np.float64]


def tables(most: int = 3) -> st.SearchStrategy[tuple[Table, Table]]:
    """Return changes of the objective and of what the limit is on: float64[sites, alternatives]."""

    def of(shape: tuple[int, int]) -> st.SearchStrategy[tuple[Table, Table]]:
        whole = st.integers(-20, 20)
        values = st.lists(whole, min_size=math.prod(shape), max_size=math.prod(shape))
        table = values.map(lambda found: np.array(found, dtype=float).reshape(shape))
        return st.tuples(table, table)

    return st.tuples(st.integers(1, most), st.integers(1, most)).flatmap(of)


def total(table: Table, chosen: NDArray[np.int64]) -> float:
    return float(sum(row[number] for row, number in zip(table, chosen, strict=True) if number >= 0))


def test_each_site_takes_what_is_cheapest() -> None:
    free = np.array([[-1.0, -3.0], [2.0, 1.0], [0.0, -1.0]])
    assert cheapest_within(free, free, math.inf).tolist() == [1, -1, 1]


def test_what_saves_least_for_its_growth_is_left_out() -> None:
    free = np.array([[-10.0, -4.0], [-10.0, -9.0]])
    common = np.array([[5.0, 0.0], [5.0, 0.0]])
    assert cheapest_within(free, common, 10.0).tolist() == [0, 0]
    assert cheapest_within(free, common, 9.0).tolist() == [0, 1]  # 1 byte is lost for 5, at the other site 6
    assert cheapest_within(free, common, 0.0).tolist() == [1, 1]


def test_a_site_that_saves_much_does_not_break_the_limit() -> None:
    free, common = np.array([[-4000.0], [-10.0]]), np.array([[1.0], [0.0]])
    assert cheapest_within(free, common, 0.0).tolist() == [-1, 0]
    assert cheapest_within(free, common, 1.0).tolist() == [0, 0]


def test_what_shrinks_makes_room() -> None:
    free, common = np.array([[-10.0], [-1.0]]), np.array([[5.0], [-5.0]])
    assert cheapest_within(free, common, 0.0).tolist() == [0, 0]


@given(tables())
def test_none_is_better_at_its_price(both: tuple[Table, Table]) -> None:
    """The limit holds, and no other choice saves more in less."""
    free, common = both
    chosen = cheapest_within(free, common, 0.0)
    ways = list(itertools.product(range(-1, free.shape[1]), repeat=len(free)))
    used = total(common, chosen)
    assert used <= 0
    better = [way for way in ways if total(common, np.array(way)) <= used]
    assert total(free, chosen) <= min(total(free, np.array(way)) for way in better) + 1e-6
