"""Runs on disk: the folder of a training, and files of results, which may still grow."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from burnish.core.decoding import json_object
from burnish.core.errors import BurnishError, InputError
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation.rows import Row
from burnish.evaluation.run_folder import ROWS, SETTINGS, read_settings
from burnish.files import parse_json_lines, read_text
from burnish.learning.training.track import EPISODES, LOG

CONFIG = "config.json"
CARDS = "*.card.json"
PICTURES = (".svg", ".png")
EXPECTED = "results of burnish optimize --result or burnish evaluate"
REMEDY = "read the file with the burnish that wrote it, or remove the line"

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class TrainingRun:
    """The folder of a training, finished or running."""

    folder: Path

    @property
    def log(self) -> Path:
        """The metrics, a line an iteration; see `LogReader`."""
        return self.folder / LOG

    @property
    def stamp(self) -> Stamp:
        """A value that changes with the configuration, the episodes and the card."""
        return _stamp([self.folder / CONFIG, self.folder / EPISODES, *sorted(self.folder.glob(CARDS))])

    @property
    def episodes(self) -> ResultFiles:
        """The episodes of the last validation; without files where the training writes none."""
        file = self.folder / EPISODES
        return ResultFiles(self.folder, (file,) if file.is_file() else ())

    def config(self) -> dict[str, Any]:
        """Return the configuration; {} before the training has written it."""
        return _json_file(self.folder / CONFIG)

    def card(self) -> dict[str, Any]:
        """Return the card of the exported policy; {} before the training's end."""
        return next(map(_json_file, sorted(self.folder.glob(CARDS))), {})


@dataclass(frozen=True)
class Entry:
    """One result of a file, with the folder's settings for a row of an evaluation."""

    key: str  # its place: the file's number, and its own in the file
    file: Path
    found: Result | Row
    settings: Mapping[str, Any] = field(default_factory=dict)

    def task(self) -> Task:
        """Return the task with the result's options.

        Raises:
            InputError: the task is unknown here; UnknownName: it has another version.
        """
        if isinstance(self.found, Result):
            return _task(self.found.task, tuple(self.found.options.items()))
        if "task" not in self.settings:
            raise InputError(f"{self.file}: the task is unknown; expected {SETTINGS} beside the file")
        return _task(self.settings["task"], tuple(self.settings.get("options", {}).items()))


@dataclass(frozen=True)
class ResultFiles:
    """Files of results, and the pictures in their folder."""

    path: Path  # as the user named it
    files: tuple[Path, ...]
    pictures: tuple[Path, ...] = ()

    @property
    def stamp(self) -> Stamp:
        """A value that changes with the files."""
        return _stamp(self.files)

    def entries(self) -> tuple[list[Entry], list[str]]:
        """Return the results, and notes on lines that are left out.

        Of rows with one key in a file the last one counts. An incomplete last line is left out.

        Raises:
            InputError: a file cannot be read, or a line is not a result.
        """
        entries, notes = list[Entry](), list[str]()
        for number, file in enumerate(self.files):
            found, whole = _read(file)
            settings: dict[str, Any] = {}
            with suppress(InputError):
                settings = read_settings(file.parent)
            last = {one.key if isinstance(one, Row) else i: i for i, one in enumerate(found)}
            entries += [Entry(f"{number}:{i}", file, found[i], settings) for i in sorted(last.values())]
            if not whole:
                notes.append(f"{file.name}: the last line is incomplete, and left out")
        return entries, notes


class LogReader:
    """Reads a growing log from where it was read last."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read_bytes = 0
        self._last = b""  # the last line that was read: it differs if the file was rewritten

    def news(self) -> tuple[bool, list[dict[str, Any]]]:
        """Return whether the log begins anew, as that of a resumed training does, and the new lines.

        An incomplete last line is read when it is complete. A damaged line is left out.
        """
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_bytes - len(self._last))
                again = file.read(len(self._last)) != self._last
                if again:
                    file.seek(0)
                    self._read_bytes, self._last = 0, b""
                content = file.read()
        except OSError:
            return False, []
        content = content[: content.rfind(b"\n") + 1]
        self._read_bytes += len(content)
        self._last = (content.splitlines(keepends=True) or [self._last])[-1]
        rows = []
        for line in content.decode(errors="replace").split("\n"):
            with suppress(InputError):
                if "iteration" in (row := json_object(line)):
                    rows.append(row)
        return again, rows


def run_at(path: Path) -> TrainingRun | ResultFiles | None:
    """Return the run at a path; None if the path is that of a program, or of nothing.

    Raises:
        InputError: a folder is not that of a run, or a file of JSON lines does not have results.
    """
    if path.is_dir():
        return _in_folder(path)
    if path.suffix != ".jsonl" and not (path.suffix == ".json" and _first_line(path)):
        return None
    if path.name == LOG or "iteration" in _first_line(path):
        return TrainingRun(path.parent)
    found, whole = _read(path)
    if not found:
        raise InputError(
            f"{path}: {'the file is empty' if whole else 'its only line is incomplete'}; expected {EXPECTED}"
        )
    return ResultFiles(path, (path,))


def _in_folder(folder: Path) -> TrainingRun | ResultFiles:
    if is_training(folder):
        return TrainingRun(folder)
    rows = folder / ROWS
    files = (rows,) if rows.exists() else tuple(filter(_is_of_results, sorted(folder.glob("*.jsonl"))))
    if files:
        found = ResultFiles(folder, files, tuple(sorted(map(Path, _pictures(folder)))))
        found.entries()  # raises the errors of their lines now
        return found
    if trainings := [str(one) for one in sorted(folder.glob("*/")) if is_training(one)]:
        raise InputError(f"{folder}: has {len(trainings)} runs; give one, such as {trainings[0]}")
    raise InputError(
        f"{folder}: not a run; expected the folder of a training ({LOG}, {CONFIG}) or of an evaluation "
        f"({ROWS}), or a folder with {EXPECTED} (*.jsonl)"
    )


def is_training(folder: Path) -> bool:
    """Return whether a folder is that of a training."""
    if (folder / LOG).is_file():
        return True
    with suppress(InputError):
        return "algorithm" in _json_file(folder / CONFIG)
    return False


def _pictures(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.suffix in PICTURES and path.is_file()]


def _is_of_results(path: Path) -> bool:
    first = _first_line(path)
    return "program" in first and "cost" in first


def _first_line(path: Path) -> dict[str, Any]:
    """Return the first line's object; {} if it is something else."""
    with suppress(OSError, InputError, UnicodeDecodeError), path.open(encoding="utf-8") as file:
        return json_object(file.readline())
    return {}


def _read(path: Path) -> tuple[list[Result | Row], bool]:
    """Return a file's results, and whether its last line is complete."""
    text = read_text(path, EXPECTED)
    lines, _, last = text.rpartition("\n")
    whole = True
    if last.strip():
        try:
            json.loads(last)
        except ValueError:
            whole = False
        else:
            lines = text
    return parse_json_lines(lines, _parsed, str(path), REMEDY, EXPECTED), whole


def _parsed(line: str) -> Result | Row:
    is_row = "reference_cost" in json_object(line, "a result")
    return Row.from_json(line) if is_row else Result.from_json(line)


def _json_file(path: Path) -> dict[str, Any]:
    """Return the object in a file; {} if the file does not exist."""
    try:
        return json_object(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, InputError) as error:
        raise InputError(f"{path}: {error}; expected what burnish train writes") from None


def _stamp(files: Sequence[Path]) -> Stamp:
    found = []
    for file in files:
        with suppress(OSError):
            seen = file.stat()
            found.append((file.name, seen.st_mtime_ns, seen.st_size))
    return tuple(found)


@cache
def _task(name: str, options: tuple[tuple[str, str], ...]) -> Task:
    return load_task(name).configured(dict(options))


def summary(entry: Entry) -> dict[str, Any]:
    """Return a result as a line of the page's table; without the trace, which may be long."""
    found = entry.found
    line: dict[str, Any] = {
        "key": entry.key,
        "file": entry.file.name,
        "program": found.program,
        "objective": found.objective,
        "unit": _unit(entry, found.objective),
        "method": found.method,
        "budget": found.budget,
        "seed": found.seed,
        "cost": found.cost,
        "steps": len(found.trace),
        "evaluations": found.evaluations,
        "seconds": found.seconds,
        "fallback": _label(entry, found.fallback),
        "is_baseline": bool(found.fallback) and found.fallback == found.method,
    }
    if isinstance(found, Row):
        ratio = None if found.cost is None else found.ratio
        reference, verified = _label(entry, found.reference), _verified(found.valid, found.checks)
        return line | {"ratio": ratio, "reference": reference, "verified": verified, "error": found.failure}
    ratio, reference = None, ""
    with suppress(BurnishError):
        baseline = entry.task().reference
        reference = _label(entry, baseline)
        ratio = float(found.timing["ratio"]) if "ratio" in found.timing else found.ratio(baseline)
    verified = "no" if found.valid is None else _verified(found.valid, found.verified)
    return line | {"ratio": ratio, "reference": reference, "verified": verified, "error": ""}


def episode(entry: Entry) -> dict[str, Any]:
    """Return the episode of a training on one program as a line of the page's table."""
    line = summary(entry)
    start = next(iter(entry.found.baselines.values())) if isinstance(entry.found, Result) else None
    line["reward"] = math.log(start / line["cost"]) if start and line["cost"] else None
    return {name: line[name] for name in ("key", "program", "steps", "cost", "unit", "ratio", "reward")}


def details(entry: Entry) -> dict[str, Any]:
    """Return the trace, the baselines and the checks of a result, which its line in the table leaves out."""
    found = entry.found
    if isinstance(found, Row):
        baselines = {found.reference: found.reference_cost}
        beside: dict[str, Any] = {
            name: {"unit": _unit(entry, name), "reference": one, "result": other}
            for name, (one, other) in found.beside.items()
        }
        own: dict[str, Any] = {"curve": found.curve, "checks": found.checks, "machine": found.machine}
    else:
        baselines = dict(found.baselines)
        beside = {
            name: {
                "unit": _unit(entry, name),
                "reference": costs.get(_reference(entry)),
                "result": costs.get("result"),
            }
            for name, costs in found.beside.items()
        }
        own = {"curve": (), "checks": found.verified, "toolchain": dict(found.toolchain)}
        own["source"] = found.source
    titles = dict[str, str]()
    with suppress(BurnishError):
        titles = entry.task().site_titles(found.trace)
    return own | {
        "trace": found.trace,
        "titles": titles,
        "evaluations": found.evaluations,
        "baselines": [[_label(entry, name), cost] for name, cost in baselines.items()],
        "beside": beside,
        "timing": dict(found.timing),
    }


def _verified(valid: bool, checks: Sequence[str]) -> str:
    return ("yes" if checks else "replayed") if valid else "failed"


def _reference(entry: Entry) -> str:
    with suppress(BurnishError):
        return entry.task().reference
    return ""


def _unit(entry: Entry, objective: str) -> str:
    """Return an objective's unit; "" if the task or the objective is unknown here."""
    with suppress(BurnishError):
        return entry.task().objective(objective).unit
    return ""


def _label(entry: Entry, baseline: str) -> str:
    """Return a baseline's label in its task; its name if the task is unknown here."""
    with suppress(BurnishError):
        return entry.task().label(baseline) if baseline else ""
    return baseline
