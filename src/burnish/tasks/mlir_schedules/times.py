"""What is known of lowered code: the seconds of a call, or what it computes wrongly."""

from __future__ import annotations

from burnish.core.recent import Recent
from burnish.llvm.run.measurements import Known, MeasurementCache, key_of
from burnish.tasks.mlir_schedules import bindings

KEPT = 4096  # codes of which something is remembered in memory


class CodeTimes:
    """Known by the digest of the code; schedules that lead to the same code are measured once.

    Where earlier sessions on this machine count, they are found on disk, too.
    """

    def __init__(self, program: str, on_disk: bool) -> None:
        """Take the digest of the program, which says the arrays, too."""
        self.program = program
        self._recent: Recent[str, Known] = Recent(KEPT)
        self._disk = MeasurementCache() if on_disk else None

    def find(self, code: str) -> Known | None:
        """Return what is known; None where nothing is."""
        known = self._recent.get(code)
        if known is None and self._disk:
            known = self._disk.find(self._key(code))
        return known

    def keep(self, code: str, known: Known) -> None:
        """Add what was measured."""
        self._recent.put(code, known)
        if self._disk:
            self._disk.keep(self._key(code), known)

    def _key(self, code: str) -> bytes:
        return key_of("mlir_schedules", bindings.version(), self.program, code)
