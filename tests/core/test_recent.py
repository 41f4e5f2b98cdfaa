"""What was used lately stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from burnish.core.recent import Recent


def test_oldest_goes_and_is_told() -> None:
    dropped: list[str] = []
    recent: Recent[int, str] = Recent(2, dropped.append)
    recent.put(1, "one")
    recent.put(2, "two")
    assert recent.get(1) == "one"  # which is now the last that was used
    recent.put(3, "three")
    assert dropped == ["two"]
    assert [recent.get(key) for key in (1, 2, 3)] == ["one", None, "three"]


def test_room_may_get_less() -> None:
    recent: Recent[int, int] = Recent(9)
    for key in range(9):
        recent.put(key, key)
    recent.most = 3
    assert len(recent) == 9
    recent.put(9, 9)
    assert [key for key in range(10) if recent.get(key) is not None] == [7, 8, 9]


@given(st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=40))
def test_last_used_keys_are_there(most: int, uses: list[tuple[bool, int]]) -> None:
    recent: Recent[int, int] = Recent(most)
    last: list[int] = []
    for put, key in uses:
        if put:
            recent.put(key, key)
        if put or key in last:
            last = [*(other for other in last if other != key), key][-most:]
        assert recent.get(key) == (key if key in last else None)
    assert [key for key in range(7) if recent.get(key) is not None] == sorted(last)
