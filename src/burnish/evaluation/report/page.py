"""The report of an evaluation: one HTML file that opens from disk and loads nothing else."""

from __future__ import annotations

import html
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.evaluation.rows import FAILURE_FACTOR, Row
from burnish.evaluation.statistics import CONFIDENCE, Mean, Summary, all_pairs, summarise, summarise_languages

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Cell:
    """A table's cell: the shown text, and the value that the column is sorted by."""

    text: str
    value: float | None = None
    markup: bool = False  # the text is HTML


def report_page(
    rows: Sequence[Row],
    settings: Mapping[str, Any],
    pictures: Mapping[str, str],
    *,
    notes: Sequence[str] = (),
    confidence: float = CONFIDENCE,
) -> str:
    """Return the report as an HTML document.

    Args:
        rows: At least one row, in the order of budgets and methods.
        settings: The rows' common settings, shown unchanged.
        pictures: SVG documents (see svg_of) by their captions.
        notes: Further notes, a paragraph each.
        confidence: The confidence of the intervals.
    """
    first = rows[0]
    title = f"{first.objective}: {len({row.program for row in rows})} programs against {first.reference}"
    parts = [
        f"<h1>{_text(title)}</h1>",
        _note(
            f"Ratios are {first.reference} / method: above 1 the method is better. Means are geometric. "
            f"Intervals of {confidence:.0%} are bootstrapped over programs, and over whole projects. "
            "Guarded: the reference is kept if nothing better was found. Every result was replayed in "
            "new processes and checked. A failure counts as the cost of the unoptimized program, and "
            f"at least {FAILURE_FACTOR:g} times the reference. Click a column heading to sort."
        ),
        *map(_note, notes),
        "<h2>Methods</h2>",
        _methods(rows, confidence),
    ]
    if len({row.method for row in rows}) > 1:
        parts += ["<h2>Methods against each other</h2>", _pairs(rows, confidence)]
    for caption, picture in pictures.items():
        element = picture[picture.index("<svg") :]
        parts += [f"<h2>{_text(caption)}</h2>", f'<div class="wide">{element}</div>']
    if languages := summarise_languages(rows, confidence=confidence):
        parts += ["<h2>Languages</h2>", _groups("language", languages)]
    if len({row.project for row in rows}) > 1:
        projects = summarise(rows, confidence=confidence, by_project=True)
        parts += ["<h2>Projects</h2>", _groups("project", projects)]
    box = '<p><input data-filters="programs" placeholder="filter"></p>'
    parts += ["<h2>Programs</h2>", box, _programs(rows)]
    listed = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in settings.items())
    parts += ["<h2>How it was measured</h2>", f"<dl>{listed}</dl>"]
    style, script = ((DATA / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    head = f'<meta charset="utf-8"><title>{_text(title)}</title><style>{style}</style>'
    body = "\n".join([*parts, f"<script>{script}</script>"])
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def svg_of(figure: Figure) -> str:
    """Return a picture as an SVG document; the same figure gives the same document."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "burnish"}):  # without a salt, the identifiers are random
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def _methods(rows: Sequence[Row], confidence: float) -> str:
    columns = ["method", "budget", "ratio", "interval", "by project", "guarded", "interval", "total"]
    columns += ["guarded total", "better", "equal", "worse", "failed", "better, %", "seconds", "evaluations"]
    columns += ["longest overrun, s"]
    return _table(
        columns,
        [
            [
                Cell(item.method),
                Cell(item.budget),
                *_mean(item.unguarded),
                *_mean(item.guarded)[:2],
                _ratio(item.total),
                _ratio(item.guarded_total),
                *map(_count, (item.wins, item.ties, item.losses, item.failures)),
                Cell(f"{100 * item.share_better:.0f}", item.share_better),
                Cell(f"{item.seconds:.2f}", item.seconds),
                Cell(f"{item.evaluations:.0f}", item.evaluations),
                Cell(f"{item.overrun:.2f}", item.overrun),
            ]
            for item in summarise(rows, confidence=confidence)
        ],
    )


def _pairs(rows: Sequence[Row], confidence: float) -> str:
    columns = [
        "methods",
        "budget",
        "ratio",
        "interval",
        "by project",
        "better",
        "equal",
        "worse",
        "different",
    ]
    return _table(
        columns,
        [
            [
                Cell(f"{pair.first} / {pair.second}"),
                Cell(pair.budget),
                *_mean(pair.mean),
                *map(_count, (pair.wins, pair.ties, pair.losses)),
                Cell("" if pair.mean.low is None else "yes" if pair.differs else "no"),
            ]
            for pair in all_pairs(rows, confidence=confidence)
        ],
    )


def _groups(by: str, summaries: Sequence[Summary]) -> str:
    columns = [by, "method", "budget", "programs", "ratio", "interval", "guarded", "total"]
    return _table(
        [*columns, "better", "equal", "worse"],
        [
            [
                Cell(item.language or item.project),
                Cell(item.method),
                Cell(item.budget),
                _count(item.programs),
                *_mean(item.unguarded)[:2],
                _ratio(item.guarded.ratio),
                _ratio(item.total),
                *map(_count, (item.wins, item.ties, item.losses)),
            ]
            for item in summaries
        ],
    )


def _programs(rows: Sequence[Row]) -> str:
    columns = ["program", "method", "budget", f"{rows[0].reference}", "cost", "ratio"]
    columns += ["evaluations", "seconds", "passes"]
    cells = [
        [
            Cell(row.program),
            Cell(row.method),
            Cell(row.budget),
            _cost(row.reference_cost),
            Cell("failed", row.counted_cost) if row.cost is None else _cost(row.cost),
            _ratio(row.ratio),
            _count(row.evaluations),
            Cell(f"{row.seconds:.2f}", row.seconds),
            _trace(row),
        ]
        for row in rows
    ]
    return _table(columns, cells, name="programs", failed=[not row.valid for row in rows])


def _trace(row: Row) -> Cell:
    if not row.valid:
        return Cell(row.failure, -1)
    if not row.trace:
        return Cell(row.fallback or "none", 0)
    listed = " &rarr; ".join(map(_text, row.trace))
    text = f"<details><summary>{len(row.trace)}</summary><small>{listed}</small></details>"
    return Cell(text, len(row.trace), markup=True)


def _mean(mean: Mean) -> list[Cell]:
    by_project = "" if mean.project_low is None else f"{mean.project_low:.4f} to {mean.project_high:.4f}"
    none = mean.low is None or mean.low == mean.high
    return [
        _ratio(mean.ratio),
        Cell("" if none else f"{mean.low:.4f} to {mean.high:.4f}", mean.low),
        Cell(by_project, mean.project_low),
    ]


def _ratio(ratio: float) -> Cell:
    return Cell(f"{ratio:.4f}", ratio)


def _count(count: int) -> Cell:
    return Cell(str(count), count)


def _cost(cost: float) -> Cell:
    return Cell(f"{cost:.0f}" if cost == int(cost) else f"{cost:.4g}", cost)


def _table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    name: str = "",
    failed: Sequence[bool] = (),
) -> str:
    rows = list(rows)
    kinds = [_kind(cell) for cell in rows[0]]
    head = "".join(
        f'<th scope="col"{kind}>{_text(column)}</th>' for kind, column in zip(kinds, columns, strict=True)
    )
    lines = []
    for number, cells in enumerate(rows):
        kind = ' class="failed"' if number < len(failed) and failed[number] else ""
        lines.append(f"<tr{kind}>{''.join(map(_cell, cells))}</tr>")
    identity = f' id="{name}"' if name else ""
    body = "\n".join(lines)
    table = f"<table{identity}><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _cell(cell: Cell) -> str:
    value = "" if cell.value is None else f' data-value="{cell.value:.10g}"'
    return f"<td{_kind(cell)}{value}>{cell.text if cell.markup else _text(cell.text)}</td>"


def _kind(cell: Cell) -> str:
    return ' class="text"' if cell.value is None or cell.markup else ""


def _note(text: str) -> str:
    return f'<p class="note">{_text(text)}</p>'


def _text(value: object) -> str:
    return html.escape(str(value))
