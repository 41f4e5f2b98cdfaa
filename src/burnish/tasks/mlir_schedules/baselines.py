"""The baseline of schedules: the program as it was opened."""

from __future__ import annotations

from burnish.core.task import Opener
from burnish.tasks.mlir_schedules.session import open_program

BASELINES: dict[str, Opener] = {"naive": open_program}
