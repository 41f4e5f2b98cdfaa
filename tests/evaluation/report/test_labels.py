"""Labels and decimals keep differences."""

from __future__ import annotations

from burnish.evaluation.report.labels import distinct_labels, places


def test_labels_are_the_shortest_that_differ() -> None:
    assert distinct_labels(["corpus:a/x/m.c", "corpus:a/y/n.c"]) == ["m.c", "n.c"]
    assert distinct_labels(["a/x/m.c", "a/y/m.c", "a/y/n.c"]) == ["x/m.c", "y/m.c", "y/n.c"]
    assert distinct_labels(["random:0:300", "random:1:300"]) == ["random:0:300", "random:1:300"]


def test_long_labels_are_shortened_unless_they_become_equal() -> None:
    assert distinct_labels(["abcdefghij", "k"], most=5) == ["ab\N{HORIZONTAL ELLIPSIS}ij", "k"]
    assert distinct_labels(["abcdefghij", "abcd00ghij"], most=5) == ["abcdefghij", "abcd00ghij"]


def test_ratios_have_two_decimals_unless_a_difference_would_vanish() -> None:
    assert places([1.0, 1.05, 2.0]) == 2
    assert places([1.003]) == 3
    assert places([1.00001]) == 4
    assert places([1.051, 1.052]) == 2
    assert places([1.051, 1.052], distinct=True) == 3
