"""Budgets of searches: seconds, evaluations, processes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from burnish.core.argument_checks import check_class, whole_number_in
from burnish.core.clock import WALL, Clock
from burnish.core.errors import InputError

PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+) *(s|m|evaluations?|)")
UNITS = {
    "s": ("seconds", 1),
    "m": ("seconds", 60),
    "": ("evaluations", 1),
    "evaluation": ("evaluations", 1),
    "evaluations": ("evaluations", 1),
}


@dataclass(frozen=True)
class Budget:
    """A limit in seconds, in evaluations (traces that were run and measured), or both.

    With `patience`, a search also ends after that many evaluations in a row without a better trace. `workers`
    is the number of processes: by default one per core, and only one for a noisy objective. `spare_seconds`
    are reserved for the following stage; if they are too few for that stage, this search uses them. Seconds
    are wall-clock time, or those of another `clock`.
    """

    seconds: float | None = None
    evaluations: int | None = None
    patience: int | None = None
    workers: int | None = None
    spare_seconds: float = 0.0
    clock: Clock = WALL

    def __post_init__(self) -> None:
        if self.seconds is None and self.evaluations is None:
            raise InputError("a budget needs seconds, evaluations or both")
        if not isinstance(self.seconds, int | float | None) or (self.seconds or 0) < 0:
            raise InputError(f"Budget(seconds={self.seconds!r}): expected a number, 0 or more")
        for name, least in (("evaluations", 0), ("patience", 0), ("workers", 1)):
            if (number := getattr(self, name)) is not None:
                whole_number_in(name, number, least)

    @property
    def text(self) -> str:
        """The normal form of the text: '2s', '100 evaluations', '2s, 100 evaluations'."""
        parts = [] if self.seconds is None else [f"{self.seconds:.15g}s"]
        if self.evaluations is not None:
            parts.append(f"{self.evaluations} evaluation{'' if self.evaluations == 1 else 's'}")
        return ", ".join(parts)

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read '10s', '2m', '500 evaluations' ('500' for short), or time and evaluations with a comma.

        Raises:
            InputError: the text has another form.
        """
        check_class("budget", text, str, "a text, such as '10s'")
        values: dict[str, float] = {}
        for part in text.split(","):
            found = PART.fullmatch(part.strip())
            key, scale = UNITS[found[2]] if found else ("", 1)
            value = float(found[1]) * scale if found else math.nan
            if not math.isfinite(value) or (key == "evaluations" and value % 1) or key in values:
                raise InputError(
                    f"budget {text!r}: expected seconds (10s), minutes (2m) or evaluations (500 evaluations)"
                )
            values[key] = value
        evaluations = values.get("evaluations")
        return cls(values.get("seconds"), None if evaluations is None else int(evaluations))


def written(text: str) -> str:
    """Return a budget's text in its normal form; return any other text, such as 'short', unchanged."""
    try:
        return Budget.parse(text).text
    except InputError:
        return text
