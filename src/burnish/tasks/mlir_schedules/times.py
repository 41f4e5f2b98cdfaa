"""Measurements of lowered code: the seconds of a call, or the error of its results."""

from __future__ import annotations

from burnish.core.recent import Recent
from burnish.llvm.run.measurements import Known, MeasurementCache, key_of
from burnish.tasks.mlir_schedules import bindings

KEPT = 4096  # codes with a measurement in memory


class CodeTimes:
    """Measurements by the digest of the code: schedules with the same code are measured once.

    With `on_disk`, measurements of earlier sessions on this machine are found on disk.
    """

    def __init__(self, program: str, on_disk: bool) -> None:
        """Take the digest of the program, which also determines the arrays."""
        self.program = program
        self._recent: Recent[str, Known] = Recent(KEPT)
        self._disk = MeasurementCache() if on_disk else None

    def find(self, code: str) -> Known | None:
        """Return the measurement of a code; None if there is no measurement."""
        known = self._recent.get(code)
        if known is None and self._disk:
            known = self._disk.find(self._key(code))
        return known

    def keep(self, code: str, known: Known) -> None:
        """Add a measurement."""
        self._recent.put(code, known)
        if self._disk:
            self._disk.keep(self._key(code), known)

    def _key(self, code: str) -> bytes:
        return key_of("mlir_schedules", bindings.version(), self.program, code)
