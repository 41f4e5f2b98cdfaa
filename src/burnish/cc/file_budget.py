"""The time limit of burnish for one file, as a user writes it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from burnish.core.errors import InputError

# The same as in native/launcher/budget.cpp, which reads budgets first.
_BUDGET = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(x|s|m|evaluations?)")
EXPECTED = "2s, 1m, '100 evaluations', 4x (times what clang takes for the file) or remembered"


@dataclass(frozen=True)
class FileBudget:
    """A limit for one file, of exactly one kind.

    Seconds and evaluations limit the search. A multiple of clang's own time limits everything that burnish
    does after clang: to start, to compile once more and to search. Time is processor time.
    """

    seconds: float | None = None
    evaluations: int | None = None
    multiple: float | None = None
    remembered: bool = False  # results of earlier searches only, without a search

    @classmethod
    def parse(cls, text: str, option: str = "--budget") -> FileBudget:
        """Read '2s', '100 evaluations', '4x' or 'remembered'.

        Raises:
            InputError: the text has another form, or leaves no time to try anything.
        """
        words = text.replace(" ", "")
        if words == "remembered":
            return cls(remembered=True)
        found = _BUDGET.fullmatch(words)
        amount = float(found[1]) if found else math.nan
        budget = None
        if found and math.isfinite(amount):
            budget = cls._of(found[1], amount, found[2])
        if not budget:
            raise InputError(f"{option} {text}: expected {EXPECTED}")
        if not (budget.seconds or budget.evaluations or budget.multiple):
            raise InputError(f"{option} {text}: this is too short to try anything; expected {EXPECTED}")
        return budget

    @classmethod
    def _of(cls, number: str, amount: float, unit: str) -> FileBudget | None:
        """Return the budget of a number with its unit; None if they do not fit together."""
        if unit == "x":
            whole = not (number.startswith(".") or number.endswith("."))
            return cls(multiple=amount) if whole and amount > 0 else None
        if unit in ("s", "m"):
            seconds = amount * (60 if unit == "m" else 1)
            return cls(seconds=seconds) if math.isfinite(seconds) else None
        return None if amount % 1 else cls(evaluations=int(amount))

    def until(self, clang_seconds: float, ended: float) -> float | None:
        """Return the end of the search by the clock by which clang `ended`; None without a multiple."""
        if self.multiple is None:
            return None
        return ended + max(0.0, self.multiple - CODE_GENERATION) * clang_seconds

    def spare_seconds(self, clang_seconds: float) -> float:
        """Return the seconds after that for a search that makes the object itself; 0 without a multiple."""
        return SPARE * clang_seconds if self.multiple else 0.0

    def code_share(self, clang_seconds: float) -> float:
        """Return the share for code generation; 0 for budgets in which passes alone gain more."""
        if self.remembered:
            return CODE_SHARE
        if self.evaluations is not None:
            return CODE_SHARE if self.evaluations >= EVALUATIONS_WITH_CODE else 0.0
        multiple = self.longest_seconds(clang_seconds) / max(clang_seconds, 1e-3)
        if multiple >= MULTIPLE_WITH_CODE:
            return CODE_SHARE
        return SHORT_CODE_SHARE if self.is_short(clang_seconds) else 0.0

    def is_short(self, clang_seconds: float) -> bool:
        """Return whether code generation gets a few trials of the module, not a search."""
        if self.remembered or self.evaluations is not None:
            return False
        if self.multiple is not None and self.multiple < LEAST_MULTIPLE_WITH_CODE:
            return False
        return self.longest_seconds(clang_seconds) / max(clang_seconds, 1e-3) < MULTIPLE_WITH_CODE

    def longest_seconds(self, clang_seconds: float) -> float:
        """Return the most seconds of a search: one that takes longer hangs."""
        if self.multiple is not None:
            return self.multiple * clang_seconds
        return A_DAY if self.seconds is None else self.seconds


CODE_GENERATION = 0.4  # of clang's time: to make the better object after the search
SPARE = 0.3  # of this, where the search makes the object: the rest is for the launcher and the memory
CODE_SHARE = 0.6  # of longer budgets, after variants and variations of functions; the rest is for passes
STACK_CODE_SHARE = 0.3  # at most, for machines without registers: code generation has few decisions there
MULTIPLE_WITH_CODE = 8.0  # of clang's time: shorter budgets have a short search of code generation
SHORT_CODE_SHARE = 0.15  # of these
LEAST_MULTIPLE_WITH_CODE = 2.5  # for all that burnish does: shorter ones are for passes alone
EVALUATIONS_WITH_CODE = 30  # fewer are for passes alone
A_DAY = 86400.0  # seconds
DEFAULT = FileBudget(multiple=3.7)
