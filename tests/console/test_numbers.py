"""Numbers for people."""

from __future__ import annotations

from burnish.console.numbers import (
    amount_text,
    change_text,
    cost_text,
    duration_text,
    quantity_text,
    ratio_text,
    seconds_text,
)


def test_counts_are_in_full_and_times_in_three_digits() -> None:
    assert list(map(cost_text, (1234.5, 7.0, 12.54, 0.03171))) == ["1234", "7", "12.5", "0.0317"]
    assert list(map(cost_text, (3.31e-5, 0.5, 999.96))) == ["0.0000331", "0.5", "1000"]


TIMES = {
    0: "0 s",
    4.2e-8: "0.042 µs",
    1.5338e-5: "15.3 µs",
    2.4e-3: "2.4 ms",
    0.99951: "1000 ms",
    12.04: "12 s",
    99.9: "99.9 s",
    210: "3.5 min",
    7260: "2.02 h",
}


def test_times_have_three_digits_and_their_unit() -> None:
    assert {seconds: seconds_text(seconds) for seconds in TIMES} == TIMES
    assert seconds_text(-2.5e-3) == "-2.5 ms"
    assert seconds_text(float("inf")) == "inf"


def test_costs_have_their_unit_and_times_always() -> None:
    assert [quantity_text(1234, "bytes"), quantity_text(1.5e-5, "s")] == ["1234 bytes", "15 µs"]
    assert [amount_text(1234, "bytes"), amount_text(0.25, "seconds")] == ["1234", "250 ms"]


def test_ratio_has_its_interval_where_there_is_one() -> None:
    assert ratio_text(1.5, 1.25, 2) == "1.500 [1.250, 2.000]"
    assert ratio_text(1.5, None, None) == "1.500"


def test_change_that_is_not_known_is_not_said_to_be_none() -> None:
    assert [change_text(percent) for percent in (1.254, -3, 0.0, None)] == ["+1.25 %", "-3.00 %", "0 %", ""]


def test_durations_are_readable() -> None:
    assert [duration_text(seconds) for seconds in (0.9, 61, 3600 + 62)] == ["0:00:00", "0:01:01", "1:01:02"]
