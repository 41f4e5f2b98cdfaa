"""Numbers for people."""

from __future__ import annotations

from burnish.console.numbers import change_text, cost_text, duration_text, ratio_text


def test_counts_are_in_full_and_times_in_three_digits() -> None:
    assert list(map(cost_text, (1234.5, 7.0, 12.54, 0.03171))) == ["1234", "7", "12.5", "0.0317"]
    assert list(map(cost_text, (3.31e-5, 0.5, 999.96))) == ["0.0000331", "0.5", "1000"]


def test_ratio_has_its_interval_where_there_is_one() -> None:
    assert ratio_text(1.5, 1.25, 2) == "1.500 [1.250, 2.000]"
    assert ratio_text(1.5, None, None) == "1.500"


def test_change_that_is_not_known_is_not_said_to_be_none() -> None:
    assert [change_text(percent) for percent in (1.254, -3, 0.0, None)] == ["+1.25 %", "-3.00 %", "0 %", ""]


def test_durations_are_readable() -> None:
    assert [duration_text(seconds) for seconds in (0.9, 61, 3600 + 62)] == ["0:00:00", "0:01:01", "1:01:02"]
