"""Building, running, checking and timing programs: what they do, where representations say what they are."""

from __future__ import annotations

from burnish.execution.check import differences, run_all
from burnish.execution.executable import link
from burnish.execution.running import Execution, RunLimits, execute

__all__ = ["Execution", "RunLimits", "differences", "execute", "link", "run_all"]
