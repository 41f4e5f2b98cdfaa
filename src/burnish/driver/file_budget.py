"""How long burnish may take for one file, as a user writes it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from burnish.core.errors import InputError

_MULTIPLE = re.compile(r"(\d+(?:\.\d+)?)x")
_ALONE = re.compile(r"[+-]?\d*\.?\d*")
EXPECTED = "2s, 1m, '100 evaluations', 4x (times what clang takes for the file) or remembered"


@dataclass(frozen=True)
class FileBudget:
    """A limit for one file, of exactly one kind.

    Seconds and evaluations are the search's. A multiple of clang's own time is all that burnish
    takes beyond clang: to start, to compile once more and to search.
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
        if (found := _MULTIPLE.fullmatch(words)) and float(found[1]) > 0:
            return cls(multiple=float(found[1]))
        from burnish.search.budget import Budget  # numpy comes with it

        # a number alone would be seconds to some and evaluations to others
        if _ALONE.fullmatch(words) or "," in words:
            raise InputError(f"{option} {text}: expected {EXPECTED}")
        try:
            budget = Budget.parse(words)
        except InputError:
            raise InputError(f"{option} {text}: expected {EXPECTED}") from None
        if not (budget.seconds or budget.evaluations):
            raise InputError(f"{option} {text}: nothing can be tried in that; expected {EXPECTED}")
        return cls(budget.seconds, budget.evaluations)

    def until(self, clang_seconds: float, ended: float) -> float | None:
        """Return when the search has to end, by time.monotonic(), for a multiple of clang's time; else None.

        Args:
            clang_seconds: What clang took for the file.
            ended: When it had.
        """
        if self.multiple is None:
            return None
        return ended + max(0.0, self.multiple - CODE_GENERATION) * clang_seconds

    def is_for_code(self, clang_seconds: float) -> bool:
        """Return whether there is time for code generation beside passes, which gain more at first."""
        if self.remembered:
            return True
        if self.evaluations is not None:
            return self.evaluations >= EVALUATIONS_WITH_CODE
        return self.longest_seconds(clang_seconds) >= MULTIPLE_WITH_CODE * clang_seconds

    def longest_seconds(self, clang_seconds: float) -> float:
        """Return what a search may take at most: beyond that it hangs."""
        if self.multiple is not None:
            return self.multiple * clang_seconds
        return A_DAY if self.seconds is None else self.seconds


CODE_GENERATION = 0.4  # of clang's time, which the better object takes after the search
# Where code generation pays beside passes. On lua's 33 files 2 s each come to -6.34 % by passes alone and to
# -6.10 % by both, 6 s each to -8.55 % either way.
EVALUATIONS_WITH_CODE = 60
MULTIPLE_WITH_CODE = 64.0  # of clang's time
A_DAY = 86400.0
DEFAULT = FileBudget(multiple=3.2)
