"""Tables of an evaluation's results."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.console.numbers import ratio_text
from burnish.console.table_forms import TableForm
from burnish.console.tables import Column, TextTable, figures, names, sentences, texts
from burnish.evaluation.compare import Refused
from burnish.evaluation.rows import FAILURE_FACTOR, Row
from burnish.evaluation.statistics import Mean, Pair, all_pairs, summarise, summarise_languages


def print_tables(
    rows: Sequence[Row],
    refused: Sequence[Refused] = (),
    *,
    confidence: float,
    form: TableForm,
) -> None:
    """Print the means, the means by project, the pairs of methods, and notes."""
    tables = []
    for budget in dict.fromkeys(row.budget for row in rows):
        within = [row for row in rows if row.budget == budget]
        tables.append(_means(budget, within, confidence))
    if len({row.project for row in rows}) > 1:
        tables.append(_projects(rows, confidence))
    if pairs := all_pairs(rows, confidence=confidence):
        tables.append(_pairs(pairs, confidence))
    form.show(*tables)
    for line in _notes(rows, refused, confidence):
        form.note(line)


def _means(budget: str, rows: Sequence[Row], confidence: float) -> TextTable:
    """Return a table with a row for each method and, if there are several languages, rows for those."""
    summaries = summarise(rows, confidence=confidence)
    apart = summarise_languages(rows, confidence=confidence)
    programs = len({row.program for row in rows})
    headings = (f"ratio [{confidence:.0%}]", "by project", "guarded", "total", "+ = -", "fail")
    title = f"{budget}: {programs} program{'' if programs == 1 else 's'}"
    table = TextTable((names("method"), *figures(*headings)), title)
    order = [item.method for item in summaries]
    for item in sorted([*summaries, *apart], key=lambda item: order.index(item.method)):
        mean = item.unguarded
        table.add(
            f"  {item.language}: {item.programs}" if item.language else item.method,
            ratio_text(mean.ratio, mean.low, mean.high),
            _by_project(mean),
            f"{item.guarded.ratio:.3f}",
            f"{item.total:.3f}",
            f"{item.wins} {item.ties} {item.losses}",
            str(item.failures or ""),
            group=item.method,
        )
    return table


def _by_project(mean: Mean) -> str:
    if mean.project_low is None or mean.project_high is None:
        return ""
    return f"[{mean.project_low:.3f}, {mean.project_high:.3f}]"


def _projects(rows: Sequence[Row], confidence: float) -> TextTable:
    summaries = summarise(rows, confidence=confidence, by_project=True)
    columns = list(dict.fromkeys((item.budget, item.method) for item in summaries))
    budgets = {budget for budget, _ in columns}
    headings = (method if len(budgets) == 1 else f"{method}\n{budget}" for budget, method in columns)
    table = TextTable((names("project"), Column("", label="programs"), *figures(*headings)))
    cells = {(item.project, item.budget, item.method): item for item in summaries}
    for project in dict.fromkeys(row.project for row in rows):
        found = [cells.get((project, *column)) for column in columns]
        count = max(item.programs for item in found if item)
        table.add(project, str(count), *(f"{item.unguarded.ratio:.3f}" if item else "" for item in found))
    return table


def _pairs(pairs: Sequence[Pair], confidence: float) -> TextTable:
    ratio = f"ratio [{confidence:.0%}]"
    columns = (names("methods"), names("budget"), *figures(ratio, "by project", "+ = -"))
    table = TextTable((*columns, texts("", label="verdict")))
    for item in pairs:
        mean = item.mean
        table.add(
            f"{item.first} / {item.second}",
            item.budget,
            ratio_text(mean.ratio, mean.low, mean.high),
            _by_project(mean),
            f"{item.wins} {item.ties} {item.losses}",
            "" if mean.low is None else "different" if item.apart else "unclear",
        )
    return table


def _notes(rows: Sequence[Row], refused: Sequence[Refused], confidence: float) -> list[str]:
    ratios = (
        f"Ratios of {rows[0].objective}, {rows[0].reference} / method: above 1 the method is "
        "better. Means are geometric. Guarded: the reference is kept if nothing better was found. "
        "Intervals are bootstrapped over programs, and over whole projects."
    )
    notes = [ratios]
    failed = [row for row in rows if not row.valid]
    if failed:
        notes.append(
            f"{len(failed)} failures count as the unoptimized program, and at least {FAILURE_FACTOR:g} times "
            f"the reference: {failed[0].method} on {failed[0].program}: {failed[0].failure}"
        )
    late = max(rows, key=lambda row: row.overrun)
    if late.overrun:
        share = late.overrun / (late.budget_seconds or 1.0)
        notes.append(
            f"Longest overrun of a budget: {late.overrun:.2f} s ({share:.1%}), "
            f"{late.method} on {late.program}."
        )
    notes += [f"Left out: {item.program}: {item.reason}" for item in refused]
    return [*notes, *sentences((row.program, row.checks) for row in rows)]
