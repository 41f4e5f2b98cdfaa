"""How long burnish may take for one file, as a user writes it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from burnish.core.errors import InputError

# As native/launcher/budget.cpp, which reads them first.
_BUDGET = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(x|s|m|evaluations?)")
EXPECTED = "2s, 1m, '100 evaluations', 4x (times what clang takes for the file) or remembered"


@dataclass(frozen=True)
class FileBudget:
    """A limit for one file, of exactly one kind.

    Seconds and evaluations are the search's. A multiple of clang's own time is all that burnish
    takes beyond clang: to start, to compile once more and to search. Time is processor time.
    """

    seconds: float | None = None
    evaluations: int | None = None
    multiple: float | None = None
    remembered: bool = False  # what an earlier search found, and no search

    @classmethod
    def parse(cls, text: str, option: str = "--budget") -> FileBudget:
        """Read '2s', '100 evaluations', '4x' or 'remembered'.

        Raises:
            InputError: it is none of these.
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
            raise InputError(f"{option} {text}: nothing can be tried in that; expected {EXPECTED}")
        return budget

    @classmethod
    def _of(cls, number: str, amount: float, unit: str) -> FileBudget | None:
        """Return the budget of a number with its unit; None where they do not go together."""
        if unit == "x":
            whole = not (number.startswith(".") or number.endswith("."))
            return cls(multiple=amount) if whole and amount > 0 else None
        if unit in ("s", "m"):
            seconds = amount * (60 if unit == "m" else 1)
            return cls(seconds=seconds) if math.isfinite(seconds) else None
        return None if amount % 1 else cls(evaluations=int(amount))

    def until(self, clang_seconds: float, ended: float) -> float | None:
        """Return when the search has to end, by a clock, for a multiple of clang's time; else None.

        Args:
            clang_seconds: What clang took for the file.
            ended: When it had, by the clock.
        """
        if self.multiple is None:
            return None
        return ended + max(0.0, self.multiple - CODE_GENERATION) * clang_seconds

    def code_share(self, clang_seconds: float) -> float:
        """Return the share that is for code generation; 0 where passes alone gain more, in short budgets."""
        if self.remembered:
            return CODE_SHARE
        if self.evaluations is not None:
            return CODE_SHARE if self.evaluations >= EVALUATIONS_WITH_CODE else 0.0
        multiple = self.longest_seconds(clang_seconds) / max(clang_seconds, 1e-3)
        return max(CODE_SHARE, CODE_MULTIPLE / multiple) if multiple >= MULTIPLE_WITH_CODE else 0.0

    def longest_seconds(self, clang_seconds: float) -> float:
        """Return what a search may take at most: beyond that it hangs."""
        if self.multiple is not None:
            return self.multiple * clang_seconds
        return A_DAY if self.seconds is None else self.seconds


CODE_GENERATION = 0.4  # of clang's time, which the better object takes after the search
# Code generation pays beside passes where it has time for four trials at every function and for what is
# joined of them: three times what clang takes.
CODE_SHARE = 0.3  # of longer budgets
CODE_MULTIPLE = 3.2  # of clang's time, at least
MULTIPLE_WITH_CODE = 8.0  # of clang's time: shorter budgets are for passes alone
EVALUATIONS_WITH_CODE = 30  # likewise
A_DAY = 86400.0
DEFAULT = FileBudget(multiple=3.2)
