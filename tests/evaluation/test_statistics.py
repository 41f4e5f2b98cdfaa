"""Means, wins and intervals against values by hand and in closed form."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.evaluation.intervals import bootstrap_interval, cluster_interval
from burnish.evaluation.rows import Row
from burnish.evaluation.statistics import all_pairs, compare_pair, summarise, summarise_languages
from tests.evaluation.rows import row

FOUR = [
    row("a", 50.0, project="x", evaluations=10, seconds=1.0),  # 2
    row("b", 100.0, project="x", evaluations=20, seconds=2.0),  # 1
    row("c", 200.0, project="y", evaluations=30, seconds=3.0),  # 1/2
    row("d", None, project="y", unoptimized_cost=400.0, seconds=6.0),  # 1/4: a failure
]


def test_summary_by_hand() -> None:
    (found,) = summarise(FOUR)
    assert (found.programs, found.failures, found.wins, found.ties, found.losses) == (4, 1, 1, 1, 2)
    assert found.unguarded.ratio == pytest.approx((2 * 1 / 2 / 4) ** (1 / 4))
    assert found.guarded.ratio == pytest.approx(2 ** (1 / 4))
    assert found.total == pytest.approx(400 / 750)
    assert found.guarded_total == pytest.approx(400 / 350)
    assert found.share_better == 0.25
    assert (found.seconds, found.evaluations) == (3.0, 15.0)


def test_summary_by_project() -> None:
    x, y = summarise(FOUR, by_project=True)
    assert (x.project, x.programs, x.unguarded.ratio) == ("x", 2, pytest.approx(math.sqrt(2)))
    assert (y.project, y.failures, y.unguarded.ratio) == ("y", 1, pytest.approx(math.sqrt(1 / 8)))


def test_languages_apart_by_hand() -> None:
    names = ["corpus:lz4/lib/lz4.c", "corpus:fasttext/src/args.cc", "a.cpp:main", "kernels:fft"]
    rows = [row(name, 100.0 / 2**i, project=str(i)) for i, name in enumerate(names)]
    assert [item.language for item in rows] == ["C", "C++", "C++", ""]
    c, cpp = summarise_languages(rows)
    assert (c.language, c.programs, c.unguarded.ratio) == ("C", 1, 1.0)
    assert (cpp.language, cpp.programs, cpp.unguarded.ratio) == ("C++", 2, pytest.approx(math.sqrt(8)))
    assert cpp.total == pytest.approx(200 / 75)
    assert (cpp.method, cpp.budget) == ("m", "10 evaluations")
    (both,) = summarise(rows)
    assert (both.language, both.programs) == ("", 4)


def test_one_language_is_not_told_apart() -> None:
    assert summarise_languages([row("a.c", 50.0), row("kernels:fft", 50.0), row("b.c", 20.0)]) == []


def test_interval_of_two_programs_in_closed_form() -> None:
    """Of the resamples of (log 1, log 4) a quarter have the mean 0, half log 2, a quarter log 4."""
    rows = [row("a", 100.0), row("b", 25.0)]
    (wide,) = summarise(rows, confidence=0.6)
    assert (wide.unguarded.low, wide.unguarded.high) == (pytest.approx(1), pytest.approx(4))
    (narrow,) = summarise(rows, confidence=0.4)
    assert (narrow.unguarded.low, narrow.unguarded.high) == (pytest.approx(2), pytest.approx(2))


def test_interval_of_many_programs_is_the_normal_one() -> None:
    values = np.random.default_rng(1).exponential(size=400)
    low, high = bootstrap_interval(list(values), [(v, v) for v in values], 0.9, seed=0)
    half = NormalDist().inv_cdf(0.95) * values.std() / math.sqrt(len(values))
    assert low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_clusters_are_resampled_whole() -> None:
    """x has the values 0 0 0, y has 4: resamples are xx (1/4), xy (1/2), yy (1/4), their means 0, 1, 4."""
    values, clusters = [0.0, 0.0, 0.0, 4.0], ["x", "x", "x", "y"]
    assert cluster_interval(values, clusters, 0.6, seed=0) == (0, 4)
    assert cluster_interval(values, clusters, 0.4, seed=0) == (1, 1)


def test_clusters_of_one_value_each_are_the_bootstrap() -> None:
    values = list(np.random.default_rng(2).normal(size=50))
    plain = bootstrap_interval(values, [(v, v) for v in values], 0.95, seed=0)
    assert cluster_interval(values, list(map(str, range(50))), 0.95, seed=0) == pytest.approx(plain, abs=0.02)


def test_like_programs_of_a_project_make_the_interval_of_projects_wider() -> None:
    rows = [row(f"{p}{i}", 100.0 - 10 * p, project=str(p)) for p in range(5) for i in range(20)]
    (found,) = summarise(rows)
    mean = found.unguarded
    assert mean.low and mean.high and mean.project_low and mean.project_high
    assert mean.project_low < mean.low < mean.ratio < mean.high < mean.project_high


def of(method: str, *costs: float | None) -> list[Row]:
    """Return rows of a method on programs 0, 1, 2, ..."""
    return [row(str(number), cost, method=method) for number, cost in enumerate(costs)]


def test_pair_by_hand() -> None:
    rows = [*of("one", 50.0, 90.0, 100.0), *of("other", 100.0, 90.0, 50.0)]
    pair = compare_pair(rows, "one", "other", "10 evaluations")
    assert (pair.wins, pair.ties, pair.losses) == (1, 1, 1)
    assert pair.mean.ratio == pytest.approx(1)
    assert not pair.differs


def test_one_program_has_no_interval_and_nothing_is_apart() -> None:
    pair = compare_pair([*of("one", 50.0), *of("other", 100.0)], "one", "other", "10 evaluations")
    assert (pair.mean.ratio, pair.mean.low, pair.mean.high) == (pytest.approx(2), None, None)
    assert not pair.differs
    one, other = summarise([*of("one", 50.0), *of("other", 100.0)])
    assert one.unguarded.low is one.guarded.high is other.unguarded.low is None


def test_pairs_are_resampled_together() -> None:
    """Programs differ by far more than the methods do; the difference is the same on each of them."""
    costs = [10.0, 40.0, 90.0, 300.0]
    rows = [*of("one", *costs), *of("other", *(1.01 * cost for cost in costs))]
    pair = compare_pair(rows, "one", "other", "10 evaluations")
    assert (pair.mean.low, pair.mean.ratio, pair.mean.high) == pytest.approx((1.01, 1.01, 1.01))
    assert pair.differs
    one, other = summarise(rows)
    assert one.unguarded.low and other.unguarded.high
    assert one.unguarded.low < other.unguarded.high


def test_failure_loses_against_anything_that_works() -> None:
    pair = compare_pair([*of("one", None), *of("other", 199.0)], "one", "other", "10 evaluations")
    assert (pair.wins, pair.losses, pair.mean.ratio) == (0, 1, pytest.approx(199 / 300))
    guarded = compare_pair(
        [*of("one", None), *of("other", 50.0)], "one", "other", "10 evaluations", guarded=True
    )
    assert guarded.mean.ratio == pytest.approx(1 / 2)


def test_programs_of_one_method_alone_are_left_out() -> None:
    pair = compare_pair([*of("one", 50.0, 10.0), *of("other", 100.0)], "one", "other", "10 evaluations")
    assert (pair.programs, pair.mean.ratio) == (1, pytest.approx(2))
    assert compare_pair([*of("one", 50.0), *of("other", 100.0)], "one", "other", "10").programs == 1
    with pytest.raises(InputError, match="no program in common within 10"):
        compare_pair(of("one", 1.0), "one", "other", "10 evaluations")


def test_every_pair_within_each_budget() -> None:
    rows = [*of("a", 1.0), *of("b", 1.0), *of("c", 1.0), row("0", 1.0, method="a", budget="1s")]
    assert [(pair.first, pair.second) for pair in all_pairs(rows)] == [("a", "b"), ("a", "c"), ("b", "c")]


def test_uncertainty_of_noisy_rows_is_in_the_interval() -> None:
    timing = {"ratio": 1.1, "low": 1.1 / 1.05, "high": 1.1 * 1.05, "verdict": "faster"}
    (found,) = summarise([row("a", 100.0, timing=timing)])
    assert (found.unguarded.low, found.unguarded.high) == pytest.approx((1.1 / 1.05, 1.1 * 1.05), rel=3e-3)
    pair = compare_pair(
        [row("a", 1.0, timing=timing), row("a", 1.0, method="n", timing=timing)], "m", "n", "10 evaluations"
    )
    assert (pair.wins, pair.ties, pair.losses) == (0, 1, 0)
    width = math.exp(math.sqrt(2) * math.log(1.05))
    assert (pair.mean.low, pair.mean.high) == pytest.approx((1 / width, width), rel=3e-3)


def test_same_rows_have_the_same_intervals() -> None:
    rows = [row(str(number), 100.0 + number**1.5) for number in range(30)]
    assert summarise(rows) == summarise(rows)
