"""What came of one method on one program within one budget: a line of a file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.trace import Trace
from burnish.files import LineFile, json_object, parse_json_lines, read_json_lines
from burnish.search.budget import written

FAILURE_FACTOR = 2.0  # a failure costs at least so many times what the reference does

LANGUAGES = {".c": "C", **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".C"), "C++")}
"""The languages that means are also shown for, by how a program's name ends."""


@dataclass(frozen=True)
class Row:
    """One method, one program, one budget: what was found, and whether it stood up to being replayed."""

    program: str  # a name that burnish.llvm.corpora.references resolves
    digest: str
    project: str
    objective: str
    method: str
    budget: str  # as it was given: "short"
    seed: int
    reference: str  # a baseline's name
    reference_cost: float
    unoptimized_cost: float
    cost: float | None = None  # None: it failed
    failure: str = ""
    fallback: str = ""  # the baseline, where the method is one
    trace: Trace = ()
    state: str = ""  # Session.digest() at its end
    evaluations: int = 0
    seconds: float = 0.0  # from the program's bytes to the trace
    budget_seconds: float | None = None  # None: it was a number of evaluations
    curve: tuple[tuple[float, int, float], ...] = field(default=(), repr=False)
    """The best so far: (seconds, evaluations, cost) at every improvement."""
    beside: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """The other exact objectives: (the reference's cost, the result's)."""
    timing: Mapping[str, float | str] = field(default_factory=dict)
    """Of a noisy objective: `ratio`, `low`, `high`, `verdict`."""
    checks: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """What makes two rows of a file the same; the later one counts."""
        return self.program, self.digest, self.method, self.budget, self.seed

    @property
    def language(self) -> str:
        """The language of the program's source, as its name says: "C", "C++", or "" where it says nothing."""
        file = self.program.rpartition("/")[2].partition(":")[0]  # a function's program is FILE:FUNCTION
        return LANGUAGES.get(Path(file).suffix, "")

    @property
    def valid(self) -> bool:
        """Whether the result stood up to being replayed and checked."""
        return self.cost is not None

    @property
    def overrun(self) -> float:
        """Seconds used beyond the budget."""
        return max(0.0, self.seconds - self.budget_seconds) if self.budget_seconds is not None else 0.0

    @property
    def counted_cost(self) -> float:
        """What the row costs without any fallback.

        A failure costs what the program costs unoptimized, and at least twice what the reference does: it is
        never as good as the reference.
        """
        if self.cost is None:
            return max(self.unoptimized_cost, FAILURE_FACTOR * self.reference_cost)
        return self.cost

    @property
    def ratio(self) -> float:
        """The reference's cost / the row's: above 1 where it is better."""
        return float(self.timing["ratio"]) if self.timing else self.reference_cost / self.counted_cost

    @property
    def guarded(self) -> float:
        """The ratio where the reference is kept when nothing better was found."""
        return self.ratio if self.is_better else 1.0

    @property
    def is_better(self) -> bool:
        """Whether it is strictly better than the reference; a noisy one where an interval says so."""
        return self.timing["verdict"] == "faster" if self.timing else self.ratio > 1

    @property
    def is_worse(self) -> bool:
        """Whether it is worse than the reference, or a failure."""
        return self.timing["verdict"] == "slower" if self.timing else self.ratio < 1

    @property
    def log_interval(self) -> tuple[float, float]:
        """The ends of the interval of log(ratio): the value itself where it is exact."""
        if not self.timing:
            return (math.log(self.ratio),) * 2
        return math.log(float(self.timing["low"])), math.log(float(self.timing["high"]))

    def to_json(self) -> str:
        """Write the row on one line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, line: str) -> Row:
        """Read what to_json wrote.

        Raises:
            InputError: it is not one.
        """
        try:
            found = json_object(line, "a row of an evaluation")
            known = {item.name for item in fields(cls)}
            if not found.keys() <= known:
                raise ValueError(f"expected the fields {', '.join(sorted(known))}")
            found["curve"] = tuple(map(tuple, found.get("curve", ())))
            found["beside"] = {name: tuple(pair) for name, pair in found.get("beside", {}).items()}
            found["budget"] = written(found["budget"])  # "500" in files of before is "500 evaluations"
            lists = {name: tuple(found.get(name, ())) for name in ("trace", "checks")}
            return cls(**(found | lists))
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise InputError(f"not a row of an evaluation: {error}") from None


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, each key once; nothing where there is no file.

    A last line without an end, as a killed process leaves it, is not counted.

    Raises:
        InputError: a line is something else.
    """
    return _each_key_once(read_json_lines(path, Row.from_json, appended=True))


def parse_rows(content: bytes, name: str) -> list[Row]:
    """Return the rows of a file's content, each key once.

    Raises:
        InputError: a line is something else.
    """
    return _each_key_once(parse_json_lines(content.decode(errors="replace"), Row.from_json, name))


def _each_key_once(rows: Iterable[Row]) -> list[Row]:
    """Leave out rows that a later one stands for."""
    return list({row.key: row for row in rows}.values())


def write_rows(rows: Iterable[Row]) -> bytes:
    """Return the content of a file of rows."""
    return "".join(f"{row.to_json()}\n" for row in rows).encode()


class RowFile:
    """A file that rows are appended to, whole lines only, as soon as they are there."""

    def __init__(self, path: Path) -> None:
        """Open it; half a line of a killed process is cut off.

        Raises:
            InputError: the folder cannot be written.
        """
        self._file = LineFile(path, keep=True)

    def append(self, row: Row) -> None:
        """Append a row.

        Raises:
            InputError: it cannot be written: the disk is full, say.
        """
        self._file.append(row.to_json())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
