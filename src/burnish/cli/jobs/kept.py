"""The file of --result: a row as soon as it is there, and what of an earlier run need not be done again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from burnish.cli.jobs.job import Job, SearchSettings
from burnish.cli.jobs.results import read_results
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation.confirm import toolchain
from burnish.files import LineFile
from burnish.policies import find as policies

Key = tuple[object, ...]


class KeptResults:
    """Results on disk, each on its line when `add` returns."""

    def __init__(self, path: Path, task: Task, settings: SearchSettings, *, resume: bool) -> None:
        """Open the file; without `resume` its old rows go when the first new one comes.

        Raises:
            InputError: it cannot be written, or it has something else in it.
        """
        self._task, self._settings = task, settings
        guide = policies.find_guide(settings.policy, task, settings.objective)
        self._method = policies.named(settings.method, guide[1] if guide else "")
        self._file = LineFile(path, keep=resume)  # which cuts off half a line
        rows = read_results(path) if resume and path.stat().st_size else []
        self._rows = {_key(row): row for row in rows}

    def find(self, job: Job) -> Result | None:
        """Return the result of an earlier run that did the same: the program, how, and with which budget."""
        settings = self._settings
        row = self._rows.get(
            (
                job.program.digest,
                self._task.id,
                tuple(sorted(self._task.options.items())),
                settings.objective,
                self._method,
                settings.seed,
                settings.budget.text,
                tuple(sorted(toolchain(self._task).items())),
            )
        )
        if row and (row.program, row.source) != (job.program.name, job.source):  # a copy of the program
            row = replace(row, program=job.program.name, source=job.source)
            self.add(row)
        return row

    def add(self, row: Result) -> None:
        """Append a result.

        Raises:
            InputError: it cannot be written.
        """
        self._file.append(row.to_json())
        self._rows[_key(row)] = row

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _key(row: Result) -> Key:
    return (
        row.digest,
        row.task,
        tuple(sorted(row.options.items())),
        row.objective,
        row.method,
        row.seed,
        row.budget,
        tuple(sorted(row.toolchain.items())),
    )
