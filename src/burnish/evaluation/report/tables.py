"""The tables of a report: columns that say how they are measured, the best rows first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from burnish.console.numbers import amount_text, seconds_text
from burnish.evaluation.report.labels import distinct_labels, places
from burnish.evaluation.rows import Row
from burnish.evaluation.statistics import Mean, Summary, all_pairs, summarise

BETTER, EQUAL, WORSE = "better", "equal", "worse"


@dataclass(frozen=True)
class Cell:
    """A table's cell.

    Attributes:
        text: The shown text.
        value: The number that the column is sorted by; None: by the text.
        title: The full text where `text` is shortened.
        details: Texts that are shown on demand.
        strip: The ends and the middle of an interval and the place of 1, in percent of the cell's width.
    """

    text: str
    value: float | None = None
    title: str = ""
    details: tuple[str, ...] = ()
    strip: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Column:
    """A column: its heading, and how its figures are measured."""

    heading: str
    meaning: str = ""
    has_texts: bool = False  # although it is sorted by numbers


@dataclass(frozen=True)
class Table:
    """A table of the report; `failed` are the numbers of rows that failed."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    failed: frozenset[int] = frozenset()
    name: str = ""
    filtered: bool = False
    folded: bool = False

    @property
    def text_columns(self) -> frozenset[int]:
        """The columns of texts, which are aligned to the left."""
        columns = enumerate(zip(self.columns, zip(*self.rows, strict=True), strict=True))
        return frozenset(
            number
            for number, (column, cells) in columns
            if column.has_texts
            or (any(cell.text for cell in cells) and all(cell.value is None for cell in cells))
        )


METHOD, BUDGET = Column("method"), Column("budget", "the most evaluations or time for a program")
PROGRAMS = Column("programs", "number of programs")
WON = (
    Column(BETTER, "programs with a lower cost than the reference's; timed ones by their interval"),
    Column(EQUAL, "programs with the reference's cost"),
    Column(WORSE, "programs with a higher cost than the reference's, and failures"),
)
FAILED = Column("failed", "programs on which the method, the replay or a check failed")
RATIO = Column("ratio", "geometric mean over programs of reference cost / method's cost")
INTERVAL = Column("interval", "confidence interval of the ratio, bootstrapped over programs")
BY_PROJECT = Column("by project", "the same interval, bootstrapped over whole projects")
GUARDED = Column("guarded", "the ratio if the reference is kept where nothing better was found")
TOTAL = Column("total", "sum of the reference's costs / sum of the method's costs")


def without_single_budget(table: Table) -> Table:
    """Return a table without the budgets if they are equal, which the page says once."""
    if BUDGET not in table.columns:
        return table
    number = table.columns.index(BUDGET)
    if len({row[number].text for row in table.rows}) > 1:
        return table
    columns = [*table.columns[:number], *table.columns[number + 1 :]]
    rows = [[*row[:number], *row[number + 1 :]] for row in table.rows]
    return replace(table, columns=columns, rows=rows)


def methods_table(rows: Sequence[Row], confidence: float) -> Table:
    """Return the methods' ratios with their intervals, the best first."""
    ranked = _ranked(summarise(rows, confidence=confidence))
    count = places([item.unguarded.ratio for item in ranked], distinct=True)
    ends = [end for item in ranked for end in _ends(item.unguarded)]
    low, high = min([*ends, 0.97]), max([*ends, 1.03])
    columns = [METHOD, BUDGET, RATIO, Column("1 is the reference"), INTERVAL, *WON, FAILED]
    cells = [
        [
            Cell(item.method),
            Cell(item.budget),
            _ratio(item.unguarded.ratio, count),
            _strip(item.unguarded, low, high),
            _interval(item.unguarded.low, item.unguarded.high, count),
            *map(_count, (item.wins, item.ties, item.losses, item.failures)),
        ]
        for item in ranked
    ]
    return Table("Methods", columns, cells)


def more_table(rows: Sequence[Row], confidence: float) -> Table:
    """Return the methods' other figures."""
    columns = [METHOD, BUDGET, BY_PROJECT, GUARDED, INTERVAL, TOTAL]
    columns += [Column("guarded total", "the total if the reference is kept where nothing better was found")]
    columns += [Column("better, %", "share of the programs with a lower cost than the reference's")]
    columns += [Column("time", "mean time of a search, from the program's bytes to the trace")]
    columns += [Column("evaluations", "mean number of evaluated traces for a program")]
    columns += [Column("overrun", "most time beyond the budget")]
    ranked = _ranked(summarise(rows, confidence=confidence))
    ratios = [one for item in ranked for one in (item.guarded.ratio, item.total, item.guarded_total)]
    count = places(ratios)
    cells = [
        [
            Cell(item.method),
            Cell(item.budget),
            _interval(item.unguarded.project_low, item.unguarded.project_high, count),
            _ratio(item.guarded.ratio, count),
            _interval(item.guarded.low, item.guarded.high, count),
            _ratio(item.total, count),
            _ratio(item.guarded_total, count),
            Cell(f"{100 * item.share_better:.0f}", item.share_better),
            _time(item.seconds),
            Cell(f"{item.evaluations:.0f}", item.evaluations),
            _time(item.overrun),
        ]
        for item in ranked
    ]
    return Table("More figures of the methods", columns, cells, folded=True)


def pairs_table(rows: Sequence[Row], confidence: float) -> Table:
    """Return each pair of methods, the largest difference first."""
    columns = [
        Column("methods"),
        BUDGET,
        Column("ratio", "geometric mean over programs of second cost / first cost: above 1 is better"),
        INTERVAL,
        BY_PROJECT,
        *(Column(name, f"programs on which the first is {name}") for name in (BETTER, EQUAL, WORSE)),
        Column("different", "yes if the interval over programs excludes 1"),
    ]
    pairs = sorted(all_pairs(rows, confidence=confidence), key=lambda pair: -abs(math.log(pair.mean.ratio)))
    count = places([pair.mean.ratio for pair in pairs])
    cells = [
        [
            Cell(f"{pair.first} / {pair.second}"),
            Cell(pair.budget),
            _ratio(pair.mean.ratio, count),
            _interval(pair.mean.low, pair.mean.high, count),
            _interval(pair.mean.project_low, pair.mean.project_high, count),
            *map(_count, (pair.wins, pair.ties, pair.losses)),
            Cell("" if pair.mean.low is None else "yes" if pair.differs else "no"),
        ]
        for pair in pairs
    ]
    return Table("Methods against each other", columns, cells)


def groups_table(by: str, summaries: Sequence[Summary]) -> Table:
    """Return the summaries of groups of programs: `by` is "language" or "project"."""
    columns = [Column(by), METHOD, BUDGET, PROGRAMS, RATIO, INTERVAL, GUARDED, TOTAL, *WON]
    count = places([item.unguarded.ratio for item in summaries])
    cells = [
        [
            Cell(item.language or item.project),
            Cell(item.method),
            Cell(item.budget),
            _count(item.programs),
            _ratio(item.unguarded.ratio, count),
            _interval(item.unguarded.low, item.unguarded.high, count),
            _ratio(item.guarded.ratio, count),
            _ratio(item.total, count),
            *map(_count, (item.wins, item.ties, item.losses)),
        ]
        for item in summaries
    ]
    return Table(f"{by.capitalize()}s", columns, cells)


def programs_table(rows: Sequence[Row], unit: str = "") -> Table:
    """Return a line for each row; `unit` is the costs'."""
    columns = [
        Column("program"),
        METHOD,
        BUDGET,
        Column(rows[0].reference, f"{rows[0].objective} under the reference"),
        Column("cost", f"{rows[0].objective} of the method's result, measured after the replay"),
        Column("ratio", "the reference's cost / the method's cost"),
        Column("evaluations", "number of evaluated traces"),
        Column("time", "time of the search, from the program's bytes to the trace"),
        Column("trace", "number of entries, which opens to show them; or the failure", has_texts=True),
    ]
    names = list(dict.fromkeys(row.program for row in rows))
    labels = dict(zip(names, distinct_labels(names), strict=True))
    count = places([row.ratio for row in rows])
    cells = [
        [
            Cell(labels[row.program], title=row.program),
            Cell(row.method),
            Cell(row.budget),
            _cost(row.reference_cost, unit),
            Cell("failed", row.counted_cost) if row.cost is None else _cost(row.cost, unit),
            _ratio(row.ratio, count),
            _count(row.evaluations),
            _time(row.seconds),
            _trace(row),
        ]
        for row in rows
    ]
    failed = frozenset(number for number, row in enumerate(rows) if not row.valid)
    return Table("Programs", columns, cells, failed, name="programs", filtered=True)


def _ranked(summaries: Sequence[Summary]) -> list[Summary]:
    """Return summaries in the order of their budgets, the best of each first."""
    budgets = list(dict.fromkeys(item.budget for item in summaries))
    return sorted(summaries, key=lambda item: (budgets.index(item.budget), -item.unguarded.ratio))


def _trace(row: Row) -> Cell:
    if not row.valid:
        return Cell(row.failure, -1)
    if not row.trace:
        return Cell(row.fallback or "none", 0)
    return Cell(str(len(row.trace)), len(row.trace), details=row.trace)


def _ends(mean: Mean) -> tuple[float, float]:
    """Return the ends of a mean's interval; the ratio twice where the interval is missing."""
    return (mean.ratio if mean.low is None else mean.low, mean.ratio if mean.high is None else mean.high)


def _strip(mean: Mean, low: float, high: float) -> Cell:
    """Return a cell that draws an interval on a logarithmic scale from `low` to `high`."""
    places = (100 * math.log(one / low) / math.log(high / low) for one in (*_ends(mean), mean.ratio, 1.0))
    first, last, middle, unit = (round(2 + 0.96 * place, 2) for place in places)
    return Cell("", mean.ratio, strip=(first, last, middle, unit))


def _interval(low: float | None, high: float | None, count: int) -> Cell:
    if low is None or high is None or low == high:
        return Cell("")
    return Cell(f"{low:.{count}f} to {high:.{count}f}", low)


def _ratio(ratio: float, count: int) -> Cell:
    return Cell(f"{ratio:.{count}f}", ratio)


def _count(count: int) -> Cell:
    return Cell(str(count), count)


def _cost(cost: float, unit: str) -> Cell:
    return Cell(amount_text(cost, unit), cost)


def _time(seconds: float) -> Cell:
    return Cell(seconds_text(seconds), seconds)
