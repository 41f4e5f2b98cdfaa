"""The report of an evaluation's folder, with its plots."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.core.decoding import json_object
from burnish.core.errors import MissingTool
from burnish.evaluation.compare import Refused
from burnish.evaluation.importance import importances, winning
from burnish.evaluation.report.page import report_page, svg_of
from burnish.evaluation.report.plots import improvement_plot, passes_plot, programs_plot, training_plot
from burnish.evaluation.rows import Row
from burnish.evaluation.run_folder import read_settings
from burnish.files import read_json_lines, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REPORT, WORTHS = "report.html", "effects.jsonl"


def write_report(
    folder: Path,
    rows: Sequence[Row],
    refused: Sequence[Refused] = (),
    *,
    confidence: float,
    logs: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> Path:
    """Write report.html with its plots, and each plot as an SVG file; return the report's path.

    Without matplotlib there are no plots, and the report has a note on that.

    Args:
        folder: The folder of the evaluation.
        rows: The rows to report, at least one.
        refused: The programs that were left out.
        confidence: The confidence of the intervals.
        logs: The logs of training runs, by name.
    """
    settings = read_settings(folder)
    notes = [f"Left out: {item.program}: {item.reason}" for item in refused]
    if without := settings.get("options", {}).get("without"):
        notes.append(f"Left out of the actions: {without}")
    pictures: dict[str, str] = {}
    try:
        for name, (caption, figure) in _figures(folder, rows, logs or {}, confidence).items():
            pictures[caption] = svg_of(figure)  # drawn once, because this is the slowest step
            (folder / f"{name}.svg").write_text(pictures[caption], encoding="utf-8")
    except MissingTool as error:
        notes.append(f"There are no pictures: {error}")
    page = report_page(rows, settings, pictures, notes=notes, confidence=confidence)
    write_atomically(folder / REPORT, page.encode())
    return folder / REPORT


def read_worths(folder: Path) -> list[dict[str, float]]:
    """Return the contributions of passes that `write_worths` wrote; empty if there are none.

    Raises:
        InputError: the file has something else.
    """
    path = folder / WORTHS
    if not path.exists():
        return []
    return read_json_lines(path, json_object, remedy="remove the file")


def write_worths(folder: Path, effects: Sequence[Mapping[str, float]]) -> None:
    """Write the contributions of passes, for each trace, to the folder."""
    write_atomically(folder / WORTHS, "".join(f"{json.dumps(item)}\n" for item in effects).encode())


def _figures(
    folder: Path, rows: Sequence[Row], logs: Mapping[str, Sequence[Mapping[str, Any]]], confidence: float
) -> dict[str, tuple[str, Figure]]:
    """Return captions and plots, by file name without suffix."""
    figures = {
        "improvement": ("Improvement against budget", improvement_plot(rows, confidence=confidence)),
        "programs": (f"Programs within {rows[-1].budget}", programs_plot(rows)),
    }
    won = winning(rows)
    if won:
        found = importances(rows, read_worths(folder))
        figures["passes"] = ("Which passes matter", passes_plot(found, len(won)))
    if logs:
        figures["training"] = ("Training", training_plot(logs))
    return figures
