"""The stored record of one optimized program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from burnish.core.decoding import decode
from burnish.core.errors import UnknownName
from burnish.core.trace import Trace


@dataclass(frozen=True)
class Result:
    """One optimized program: its trace and cost, the baselines' costs, the method, and the verification."""

    task: str  # with its version, "llvm_passes-v1"
    program: str  # the program's name
    digest: str  # Program.digest
    objective: str
    method: str
    seed: int
    trace: Trace
    cost: float  # of the state after the trace, or of the fallback
    baselines: Mapping[str, float]  # each baseline's cost by the same objective
    evaluations: int
    seconds: float
    toolchain: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)  # the task's settings that are not its defaults
    beside: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Other objectives, for information: {objective: {"result": cost, baseline: cost, ...}}."""
    timing: Mapping[str, int | float | str] = field(default_factory=dict)
    """For a noisy objective: `ratio` `against` a baseline, `low` to `high` with `confidence`; `verdict`."""
    fallback: str = ""  # the baseline that was kept because the search found nothing better
    state: str = ""  # Session.digest() at the end of the trace
    valid: bool | None = None  # None: not verified yet
    verified: tuple[str, ...] = ()  # the checks that were made, each in words
    source: tuple[str, ...] = ()  # the file and the arguments that the program was made from
    budget: str = ""  # as text, such as "2s"; "" if the search was stopped before its end
    illegal: int = 0  # proposed entries that were illegal in their state
    bundle: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The program itself, if requested: see burnish.evaluation.bundle."""

    def ratio(self, baseline: str) -> float:
        """Return baseline cost / cost, above 1 if burnish is better, or raise UnknownName."""
        if baseline not in self.baselines:
            raise UnknownName.among("baseline", baseline, self.baselines)
        return self.baselines[baseline] / self.cost

    def to_json(self) -> str:
        """Write the result on one line."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Result:
        """Read a result that to_json wrote, or raise InputError."""
        return decode(cls, line, "a result")
