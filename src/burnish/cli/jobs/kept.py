"""The file of --result: rows are written as they come, and an earlier run's rows are not computed again."""

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
    """Results on disk: when `add` returns, the result is a line of the file."""

    def __init__(self, path: Path, task: Task, settings: SearchSettings, *, resume: bool) -> None:
        """Open the file; without `resume`, the first new row replaces all old ones.

        Raises:
            InputError: the file cannot be written, or has something other than results.
        """
        self._task, self._settings = task, settings
        guide = policies.find_guide(settings.policy, task, settings.objective)
        self._method = policies.named(settings.method, guide[1] if guide else "")
        self._file = LineFile(path, keep=resume)  # cuts off an incomplete last line
        rows = read_results(path) if resume and path.stat().st_size else []
        self._rows = {_key(row): row for row in rows}

    def find(self, job: Job) -> Result | None:
        """Return an earlier run's result for the same program, settings, budget and toolchain, or None."""
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
            InputError: the file cannot be written.
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
