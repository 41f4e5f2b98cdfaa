"""How much a search may spend."""

from __future__ import annotations

import math
from dataclasses import dataclass

from burnish.core.errors import InputError


@dataclass(frozen=True)
class Budget:
    """A limit in seconds, in evaluations (traces that were run and measured), or both.

    With `vain`, a search also ends after so many evaluations in a row without a better trace.
    """

    seconds: float | None = None
    evaluations: int | None = None
    vain: int | None = None

    def __post_init__(self) -> None:
        if self.seconds is None and self.evaluations is None:
            raise InputError("a budget needs seconds, evaluations or both")
        if (self.seconds or 0) < 0 or (self.evaluations or 0) < 0:
            raise InputError(f"a budget cannot be negative: {self}")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read '10s', '2m', '500 evaluations' ('500' for short) or both with a comma.

        Raises:
            InputError: it is none of these.
        """
        values: dict[str, float] = {}
        for word in text.replace(" ", "").split(","):
            part = word.removesuffix("evaluations")
            number, unit = part.rstrip("sm"), part[len(part.rstrip("sm")) :]
            key, scale = {"s": ("seconds", 1), "m": ("seconds", 60), "": ("evaluations", 1)}.get(
                unit, ("", 0)
            )
            try:
                values[key] = float(number) * scale
            except ValueError:
                key = ""
            if not key or not math.isfinite(values[key]) or (key == "evaluations" and values[key] % 1):
                raise InputError(
                    f"budget {text!r}: expected seconds (10s), minutes (2m) or evaluations (500)"
                )
        evaluations = values.get("evaluations")
        return cls(values.get("seconds"), None if evaluations is None else int(evaluations))
