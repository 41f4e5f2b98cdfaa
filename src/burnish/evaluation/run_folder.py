"""The folder of an evaluation: its settings, the programs' measurements, and the rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from burnish.core.decoding import decode
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.evaluation.compare import Figures, MethodComparison, Refused
from burnish.evaluation.confirm import toolchain
from burnish.evaluation.rows import Row, RowFile, read_rows
from burnish.files import read_json_lines, write_atomically

SETTINGS, ROWS, PROGRAMS = "run.json", "rows.jsonl", "programs.jsonl"


class RunFolder:
    """The files of an evaluation, from which it continues after an interruption at any time.

    `run.json` has the rows' common settings, `programs.jsonl` each program's measurements, and `rows.jsonl`
    the rows.
    """

    def __init__(self, path: Path, plan: MethodComparison) -> None:
        """Open a folder for a plan, which may add methods, budgets and programs to the existing ones.

        Raises:
            InputError: the folder cannot be written, or its rows have another task, objective, seed,
                toolchain or policy.
        """
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot write there: {error.strerror}") from None
        self._settle(settings_of(plan))
        self.rows = {row.key: row for row in read_rows(path / ROWS)}
        self.figures = {item.key: item for item in _read_figures(path / PROGRAMS)}
        self.refused: list[Refused] = []
        self._file = RowFile(path / ROWS)

    def is_done(self, program: Program, method: str, budget: str, seed: int) -> bool:
        """Return whether there is already a row."""
        return (program.name, program.digest, method, budget, seed) in self.rows

    def known(self, program: Program) -> Figures | None:
        """Return a program's measurements, or None."""
        return self.figures.get(program.key)

    @property
    def machine(self) -> str:
        """The kind of processor of the rows that depend on time; "" without such rows."""
        return next((row.machine for row in self.rows.values() if row.timed and row.machine), "")

    def add(self, item: Row | Figures | Refused) -> None:
        """Store an item; rows and figures are on disk when this returns."""
        if isinstance(item, Row):
            self.rows[item.key] = item
            self._file.append(item)
        elif isinstance(item, Figures):
            self.figures[item.key] = item
            lines = "".join(f"{json.dumps(asdict(one))}\n" for one in self.figures.values())
            write_atomically(self.path / PROGRAMS, lines.encode())
        else:
            self.refused.append(item)

    def close(self) -> None:
        """Close the file of rows."""
        self._file.close()

    def _settle(self, settings: Mapping[str, Any]) -> None:
        if not (self.path / SETTINGS).exists():
            self._write(settings)
            return
        there = read_settings(self.path)
        known = {**there.get("policies", {}), **settings["policies"]}  # methods may be added
        differing = [name for name in settings if name != "policies" and there.get(name) != settings[name]]
        changed = [name for name, digest in there.get("policies", {}).items() if known[name] != digest]
        if changed:
            raise InputError(
                f"{self.path}: has rows of {changed[0]} with another policy of that name; take another "
                "folder, or remove this one"
            )
        if differing:
            name = differing[0]
            raise InputError(
                f"{self.path}: has rows with {name} = {there.get(name)!r}, not {settings[name]!r}; "
                "take another folder, or remove this one"
            )
        if known != there.get("policies", {}):
            self._write({**there, "policies": known})

    def _write(self, settings: Mapping[str, Any]) -> None:
        write_atomically(self.path / SETTINGS, f"{json.dumps(settings, indent=1)}\n".encode())


def settings_of(plan: MethodComparison) -> dict[str, Any]:
    """Return the common settings of a plan's rows."""
    return {
        "task": plan.task.id,
        "options": dict(plan.task.options),
        "objective": plan.objective,
        "reference": plan.task.reference,
        "seed": plan.seed,
        "toolchain": toolchain(plan.task),
        "policies": dict(plan.policies),
    }


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the common settings of a folder's rows.

    Raises:
        InputError: the folder is not that of an evaluation.
    """
    try:
        found = json.loads((folder / SETTINGS).read_text())
        if not isinstance(found, dict):
            raise ValueError("expected an object")
        return found
    except OSError:
        raise InputError(f"{folder}: not the folder of an evaluation: there is no {SETTINGS}") from None
    except ValueError as error:
        raise InputError(f"{folder / SETTINGS}: {error}") from None


def _read_figures(path: Path) -> list[Figures]:
    if not path.exists():
        return []
    return read_json_lines(
        path,
        lambda line: decode(Figures, line, "figures of a program"),
        remedy="remove the file to measure again",
    )
