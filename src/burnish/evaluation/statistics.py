"""Statistics of methods from rows: means with intervals, wins, ties and losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from burnish.core.errors import InputError
from burnish.evaluation.intervals import bootstrap_interval, cluster_interval
from burnish.evaluation.rows import Row
from burnish.search.budget import written

CONFIDENCE = 0.95
SEED = 0  # of all resampling, so that the same rows have the same intervals
ALL = ""  # stands for all projects, or all languages, together


@dataclass(frozen=True)
class Mean:
    """A geometric mean of ratios over programs, with percentile intervals by the bootstrap."""

    ratio: float
    low: float | None  # from resampled programs; None: a single program with an exact ratio
    high: float | None
    project_low: float | None  # from resampled whole projects; None: there is only one project
    project_high: float | None


@dataclass(frozen=True)
class Summary:
    """A method's results within a budget; ratios are the reference's cost / the method's."""

    method: str
    budget: str
    project: str  # ALL: the programs of all projects
    programs: int
    failures: int
    wins: int  # strictly better than the reference
    ties: int
    losses: int  # includes failures
    unguarded: Mean  # of the method's own results; a failure has Row.counted_cost
    guarded: Mean  # with the reference in place of results that are not better
    total: float  # sum of the reference's costs / sum of the method's, unguarded
    guarded_total: float
    seconds: float  # mean
    evaluations: float  # mean
    overrun: float  # the most seconds beyond the budget
    language: str = ALL  # of the sources; ALL: any language

    @property
    def share_better(self) -> float:
        """The share of programs that are strictly better than the reference."""
        return self.wins / self.programs


@dataclass(frozen=True)
class Pair:
    """Two methods on the same programs within the same budget; ratios are the second's cost / the first's."""

    first: str
    second: str
    budget: str
    programs: int
    mean: Mean
    wins: int  # of the first; for noisy objectives, only those whose interval excludes a tie
    ties: int
    losses: int

    @property
    def differs(self) -> bool:
        """True if the interval over programs excludes 1; False if a single program has no interval."""
        low, high = self.mean.low, self.mean.high
        return low is not None and high is not None and not low <= 1 <= high


def summarise(
    rows: Sequence[Row], *, confidence: float = CONFIDENCE, by_project: bool = False
) -> list[Summary]:
    """Return a summary for each method and budget, in the order of the rows.

    Args:
        rows: Rows of one objective and seed.
        confidence: The confidence of the intervals.
        by_project: Summarise each project separately instead of all programs together.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        key = row.budget, row.method, row.project if by_project else ALL
        groups.setdefault(key, []).append(row)
    return [_summary(key, group, confidence) for key, group in groups.items()]


def summarise_languages(rows: Sequence[Row], *, confidence: float = CONFIDENCE) -> list[Summary]:
    """Return a summary for each language (C, C++), method and budget; [] unless there are two languages.

    Programs whose names do not show the language are left out. The arguments are those of `summarise`.
    """
    languages = sorted({row.language for row in rows} - {""})
    if len(languages) < 2:
        return []
    return [
        replace(summary, language=language)
        for language in languages
        for summary in summarise([row for row in rows if row.language == language], confidence=confidence)
    ]


def compare_pair(
    rows: Sequence[Row],
    first: str,
    second: str,
    budget: str,
    *,
    guarded: bool = False,
    confidence: float = CONFIDENCE,
) -> Pair:
    """Compare two methods program by program; the bootstrap resamples pairs.

    Args:
        rows: Rows of one objective and seed; programs without a row of both methods are left out.
        first: A method.
        second: Another method.
        budget: The budget of both, in any text form of a budget.
        guarded: Whether both keep the reference if they are not better.
        confidence: The confidence of the intervals.

    Raises:
        InputError: the methods have no program in common.
    """
    budget = written(budget)
    by_method = {
        method: {row.program: row for row in rows if row.method == method and row.budget == budget}
        for method in (first, second)
    }
    common = [name for name in by_method[first] if name in by_method[second]]
    if not common:
        raise InputError(f"{first} and {second} have no program in common within {budget}")
    value: Callable[[Row], float] = (lambda row: row.guarded) if guarded else (lambda row: row.ratio)
    pairs = [(by_method[first][name], by_method[second][name]) for name in common]
    logs = [math.log(value(one) / value(other)) for one, other in pairs]
    intervals = [(log, log) for log in logs]
    if not guarded:
        intervals = [_difference(one, other) for one, other in pairs]
    mean = _mean(logs, intervals, [one.project for one, _ in pairs], confidence)
    wins, losses = sum(low > 0 for low, _ in intervals), sum(high < 0 for _, high in intervals)
    return Pair(first, second, budget, len(pairs), mean, wins, len(pairs) - wins - losses, losses)


def all_pairs(rows: Sequence[Row], *, confidence: float = CONFIDENCE) -> list[Pair]:
    """Return every pair of methods within each budget."""
    pairs = []
    for budget in dict.fromkeys(row.budget for row in rows):
        methods = list(dict.fromkeys(row.method for row in rows if row.budget == budget))
        for number, first in enumerate(methods):
            for second in methods[number + 1 :]:
                pairs.append(compare_pair(rows, first, second, budget, confidence=confidence))
    return pairs


def _summary(key: tuple[str, str, str], rows: Sequence[Row], confidence: float) -> Summary:
    budget, method, project = key
    projects = [row.project for row in rows]
    logs = [math.log(row.ratio) for row in rows]
    guarded = [math.log(row.guarded) for row in rows]
    kept = [row.log_interval if row.is_better else (0.0, 0.0) for row in rows]
    wins, losses = sum(row.is_better for row in rows), sum(row.is_worse for row in rows)
    reference = math.fsum(row.reference_cost for row in rows)
    return Summary(
        method=method,
        budget=budget,
        project=project,
        programs=len(rows),
        failures=sum(not row.valid for row in rows),
        wins=wins,
        ties=len(rows) - wins - losses,
        losses=losses,
        unguarded=_mean(logs, [row.log_interval for row in rows], projects, confidence),
        guarded=_mean(guarded, kept, projects, confidence),
        total=reference / math.fsum(row.counted_cost for row in rows),
        guarded_total=reference / math.fsum(row.reference_cost / row.guarded for row in rows),
        seconds=math.fsum(row.seconds for row in rows) / len(rows),
        evaluations=sum(row.evaluations for row in rows) / len(rows),
        overrun=max(row.overrun for row in rows),
    )


def _mean(
    logs: Sequence[float],
    intervals: Sequence[tuple[float, float]],
    projects: Sequence[str],
    confidence: float,
) -> Mean:
    ratio = math.exp(math.fsum(logs) / len(logs))
    low: float | None = None
    high: float | None = None
    if len(logs) > 1 or intervals[0][0] < intervals[0][1]:  # a single noisy program has its own interval
        low, high = map(math.exp, bootstrap_interval(logs, intervals, confidence, seed=SEED))
    if len(set(projects)) == 1:
        return Mean(ratio, low, high, None, None)
    return Mean(ratio, low, high, *map(math.exp, cluster_interval(logs, projects, confidence, seed=SEED)))


def _difference(one: Row, other: Row) -> tuple[float, float]:
    """Return the interval of log(one's ratio / the other's), whose errors are independent."""
    centre = math.log(one.ratio / other.ratio)
    halves = [(row.log_interval[1] - row.log_interval[0]) / 2 for row in (one, other)]
    half = math.hypot(*halves)
    return centre - half, centre + half
