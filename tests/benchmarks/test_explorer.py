"""The speed of the page: goals, percentiles, and their table."""

from __future__ import annotations

from explorer import GOALS, holds, percentile, row, table


def test_row_below_its_goal_holds() -> None:
    goal = GOALS["frame, median"]
    assert holds(row("frame, median", goal - 0.1))
    assert not holds(row("frame, median", goal))
    assert holds(row("memory of the server", 1e9, "MiB"))  # no goal


def test_percentiles_of_101_values() -> None:
    values = [float(value) for value in reversed(range(101))]
    assert [percentile(values, share) for share in (0, 0.5, 0.95, 1)] == [0, 50, 95, 100]


def test_table_names_goals_and_states() -> None:
    rows = [row("first screen", 1200.0), row("memory of the server", 84.6, "MiB") | {"states": 1028}]
    lines = table(rows).splitlines()
    assert lines[2].startswith("| first screen | 1200.0 ms | < 1000 ms |")
    assert lines[2].endswith("| does not hold |")
    assert lines[3].startswith("| memory of the server, 1,028 states | 84.6 MiB |  |")
