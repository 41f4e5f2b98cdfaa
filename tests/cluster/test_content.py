"""Large bytes in pickles: once, by digest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from burnish.cluster.content import LARGE, pack, unpack
from burnish.core.program import Program


def test_large_bytes_are_stored_once_and_small_ones_travel_along() -> None:
    stored: dict[str, bytes] = {}
    large, small = b"x" * LARGE, b"y" * (LARGE - 1)
    item = [Program("a", "llvm", large), Program("b", "llvm", large), small]
    packed = pack(item, stored.__setitem__)
    assert list(stored.values()) == [large]
    assert small in packed
    assert large not in packed
    assert unpack(packed, stored.__getitem__) == item


@given(st.lists(st.binary(max_size=3 * LARGE)))
def test_whatever_is_packed_is_unpacked(items: list[bytes]) -> None:
    stored: dict[str, bytes] = {}
    assert unpack(pack(items, stored.__setitem__), stored.__getitem__) == items
