"""From a trace to a state."""

from __future__ import annotations

import pytest

from burnish.core.errors import IllegalAction
from burnish.core.walk import act_entry, after, cost_after, reached
from tests.core.counting_task import CountingSession, counters


class Noted(CountingSession):
    """A session that notes how many of it are open."""

    opened = 0

    def fork(self) -> Noted:
        copy = Noted(counters(self.digest()))
        Noted.opened += 1
        return copy

    def close(self) -> None:
        Noted.opened -= 1


def test_state_is_there_until_the_end_and_the_root_stays_as_it_was() -> None:
    root = Noted(counters("a=8 b=3"))
    with after(root, ("a: halve", "b: subtract(3)")) as session:
        assert session.digest() == "a=4"
        assert Noted.opened == 1
    assert Noted.opened == 0
    assert root.digest() == "a=8 b=3"


def test_entry_is_that_of_the_trace() -> None:
    session = CountingSession(counters("a=8 b=3"))
    assert act_entry(session, "b: subtract(3)") == (True, "b: subtract(3)")
    assert session.apply_entry("a: halve")
    assert session.trace == ["b: subtract(3)", "a: halve"]


def test_what_is_reached_is_open_and_nothing_is_where_nothing_is_reached() -> None:
    root = Noted(counters("a=8 b=3"))
    session = reached(root, ("a: halve",))
    assert (session.digest(), Noted.opened) == ("a=4 b=3", 1)
    session.close()
    with pytest.raises(IllegalAction):
        reached(root, ("b: halve",))
    assert Noted.opened == 0


def test_illegal_entry_ends_it_unless_it_may_be_left_out() -> None:
    root = Noted(counters("a=3"))
    trace = ("halve", "subtract(1)", "halve")  # 3 cannot be halved, 2 can
    with pytest.raises(IllegalAction), after(root, trace):
        pass
    assert Noted.opened == 0
    with after(root, trace, skip_illegal=True) as session:
        assert session.digest() == "a=1"
    assert cost_after(root, trace, "total") == 2
    assert Noted.opened == 0
