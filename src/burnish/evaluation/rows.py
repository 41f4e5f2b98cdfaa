"""Rows of evaluations: a row is one method's result on one program within one budget."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from burnish.core.decoding import decode
from burnish.core.trace import Trace
from burnish.files import LineFile, parse_json_lines, read_json_lines
from burnish.search.budget import written

FAILURE_FACTOR = 2.0  # a failure counts as at least so many times the reference's cost

LANGUAGES = {".c": "C", **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".C"), "C++")}
"""The languages with summaries of their own, by the suffix of a program's name."""


@dataclass(frozen=True)
class Row:
    """The result of one method on one program within one budget, after replay and checks."""

    program: str  # a name that burnish.llvm.corpora.references resolves
    digest: str
    project: str
    objective: str
    method: str
    budget: str  # as text, such as "short"
    seed: int
    reference: str  # a baseline's name
    reference_cost: float
    unoptimized_cost: float
    cost: float | None = None  # None: the method, the replay or a check failed
    failure: str = ""
    fallback: str = ""  # the baseline, if the method is a baseline or kept one
    trace: Trace = ()
    state: str = ""  # Session.digest() at the end of the trace
    evaluations: int = 0
    seconds: float = 0.0  # from the program's bytes to the trace
    budget_seconds: float | None = None  # None: the budget is a number of evaluations
    curve: tuple[tuple[float, int, float], ...] = field(default=(), repr=False)
    """The best so far: (seconds, evaluations, cost) at every improvement."""
    beside: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The other exact objectives: (the reference's cost, the result's cost)."""
    timing: Mapping[str, int | float | str] = field(default_factory=dict)
    """For a noisy objective: `ratio`, `low`, `high`, `verdict`, `confidence`, `repeats`."""
    checks: tuple[str, ...] = ()
    machine: str = ""  # the kind of processor, as LLVM names it, such as "znver3"; "" in older files

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """The row's identity; of rows with one key in a file, the last one counts."""
        return self.program, self.digest, self.method, self.budget, self.seed

    @property
    def language(self) -> str:
        """The language of the program's source by its name: "C", "C++", or "" if unknown."""
        file = self.program.rpartition("/")[2].partition(":")[0]  # a function's program is FILE:FUNCTION
        return LANGUAGES.get(Path(file).suffix, "")

    @property
    def valid(self) -> bool:
        """True if the method, the replay and all checks succeeded."""
        return self.cost is not None

    @property
    def timed(self) -> bool:
        """True if the row depends on time, by its budget or by its objective."""
        return self.budget_seconds is not None or bool(self.timing)

    @property
    def overrun(self) -> float:
        """Seconds used beyond the budget."""
        return max(0.0, self.seconds - self.budget_seconds) if self.budget_seconds is not None else 0.0

    @property
    def counted_cost(self) -> float:
        """The row's cost without any fallback.

        A failure has the unoptimized program's cost, but at least FAILURE_FACTOR times the reference's, so
        that it is never as good as the reference.
        """
        if self.cost is None:
            return max(self.unoptimized_cost, FAILURE_FACTOR * self.reference_cost)
        return self.cost

    @property
    def ratio(self) -> float:
        """The reference's cost / the row's cost: above 1 if the row is better."""
        return float(self.timing["ratio"]) if self.timing else self.reference_cost / self.counted_cost

    @property
    def guarded(self) -> float:
        """The ratio if the reference is kept whenever the row is not better."""
        return self.ratio if self.is_better else 1.0

    @property
    def is_better(self) -> bool:
        """True if the row is strictly better than the reference; for noisy costs, by an interval."""
        return self.timing["verdict"] == "faster" if self.timing else self.ratio > 1

    @property
    def is_worse(self) -> bool:
        """True if the row is worse than the reference, or a failure."""
        return self.timing["verdict"] == "slower" if self.timing else self.ratio < 1

    @property
    def log_interval(self) -> tuple[float, float]:
        """The ends of the interval of log(ratio); both are log(ratio) if the cost is exact."""
        if not self.timing:
            return (math.log(self.ratio),) * 2
        return math.log(float(self.timing["low"])), math.log(float(self.timing["high"]))

    def to_json(self) -> str:
        """Write the row on one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Row:
        """Read a row that to_json wrote.

        Raises:
            InputError: the line is not a row.
        """
        row = decode(cls, line, "a row of an evaluation")
        return replace(row, budget=written(row.budget))  # older files have "500" for "500 evaluations"


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, each key once; [] if there is no file.

    An incomplete last line, left by a killed process, is ignored.

    Raises:
        InputError: a line is not a row.
    """
    return _each_key_once(read_json_lines(path, Row.from_json, appended=True))


def parse_rows(content: bytes, name: str) -> list[Row]:
    """Return the rows of a file's content, each key once.

    Raises:
        InputError: a line is not a row.
    """
    return _each_key_once(parse_json_lines(content.decode(errors="replace"), Row.from_json, name))


def _each_key_once(rows: Iterable[Row]) -> list[Row]:
    """Leave out rows whose key a later row has."""
    return list({row.key: row for row in rows}.values())


def write_rows(rows: Iterable[Row]) -> bytes:
    """Return the content of a file of rows."""
    return "".join(f"{row.to_json()}\n" for row in rows).encode()


class RowFile:
    """A file of appended rows, which always consists of whole lines."""

    def __init__(self, path: Path) -> None:
        """Open the file; cut off an incomplete last line of a killed process.

        Raises:
            InputError: the folder cannot be written.
        """
        self._file = LineFile(path, keep=True)

    def append(self, row: Row) -> None:
        """Append a row.

        Raises:
            InputError: the file cannot be written, for example because the disk is full.
        """
        self._file.append(row.to_json())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
