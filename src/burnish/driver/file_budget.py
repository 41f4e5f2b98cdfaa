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
