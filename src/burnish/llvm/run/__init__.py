"""Building, running, checking and timing programs."""

from __future__ import annotations

from burnish.llvm.run.check import differences, run_all
from burnish.llvm.run.executable import link
from burnish.llvm.run.running import Execution, RunLimits, execute

__all__ = ["Execution", "RunLimits", "differences", "execute", "link", "run_all"]
