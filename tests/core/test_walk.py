"""From a trace to a state."""

from __future__ import annotations

import pytest

from burnish.core.errors import IllegalAction
from burnish.core.walk import after, cost_after
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
