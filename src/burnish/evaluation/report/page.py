"""The report of an evaluation: one HTML file that opens from disk and loads nothing else."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.evaluation.report import plots
from burnish.evaluation.report.tables import (
    groups_table,
    methods_table,
    more_table,
    pairs_table,
    programs_table,
    without_single_budget,
)
from burnish.evaluation.rows import FAILURE_FACTOR, Row
from burnish.evaluation.statistics import CONFIDENCE, summarise, summarise_languages

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATA = Path(__file__).parent / "data"
THEME = {
    **{colour: f"--method-{number}" for number, colour in enumerate(plots.COLOURS)},
    plots.INK: "--ink",
    plots.AXIS: "--axis",
    plots.GRID: "--line",
    plots.PAPER: "--paper",
    plots.FILL: "--fill",
}
"""The style sheet's names for the colours of pictures, which differ in the dark."""


@dataclass(frozen=True)
class Picture:
    """A picture of the report, as SVG documents (see svg_of) for wide and for narrow windows."""

    caption: str
    explanation: str
    wide: str
    narrow: str


def report_page(
    rows: Sequence[Row],
    settings: Mapping[str, Any],
    pictures: Sequence[Picture] = (),
    *,
    notes: Sequence[str] = (),
    origin: Mapping[str, str] | None = None,
    confidence: float = CONFIDENCE,
    unit: str = "",
) -> str:
    """Return the report as an HTML document.

    Args:
        rows: At least one row, in the order of budgets and methods.
        settings: The rows' common settings, shown unchanged.
        pictures: In the page's order.
        notes: Further notes, a paragraph each.
        origin: Texts by their names, such as the command and the date.
        confidence: The confidence of the intervals.
        unit: The unit of the costs.
    """
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DATA), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    count = len({row.program for row in rows})
    tables = [methods_table(rows, confidence), more_table(rows, confidence)]
    if len({row.method for row in rows}) > 1:
        tables.append(pairs_table(rows, confidence))
    if languages := summarise_languages(rows, confidence=confidence):
        tables.append(groups_table("language", languages))
    if len({row.project for row in rows}) > 1:
        tables.append(groups_table("project", summarise(rows, confidence=confidence, by_project=True)))
    tables.append(programs_table(rows, unit))
    style, script = ((DATA / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return environment.get_template("page.html").render(
        style=Markup(style),
        script=Markup(script),
        objective=rows[0].objective,
        reference=rows[0].reference,
        programs=f"{count} program{'' if count == 1 else 's'}",
        confidence=f"{confidence:.0%}",
        failure=f"{FAILURE_FACTOR:g}",
        notes=notes,
        tables=list(map(without_single_budget, tables)),
        budget=rows[0].budget if len({row.budget for row in rows}) == 1 else "",
        pictures=[(item, *map(themed, (item.wide, item.narrow))) for item in pictures],
        settings={**(origin or {}), **_flat(settings)},
    )


def svg_of(figure: Figure) -> str:
    """Return a picture as an SVG document with letters as text; the same figure gives the same document."""
    import matplotlib as mpl

    buffer = io.StringIO()
    style: dict[Any, Any] = {
        "svg.hashsalt": "burnish",
        "svg.fonttype": "none",
    }  # without a salt, the identifiers are random
    with mpl.rc_context(style):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def themed(picture: str) -> str:
    """Return an SVG document as an element of a page, with the style sheet's colours."""
    element = picture[picture.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    for colour, name in THEME.items():
        element = re.sub(colour, f"var({name})", element, flags=re.IGNORECASE)
    return element


def _flat(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return settings as texts: a table's entries are one text, an empty table is left out."""
    return {
        name: ", ".join(f"{key} {one}" for key, one in value.items())
        if isinstance(value, Mapping)
        else str(value)
        for name, value in settings.items()
        if value != {}
    }
