"""The baselines that schedules are compared with."""

from __future__ import annotations

from burnish.core.task import Opener
from burnish.tasks.loop_nests.session import open_nest

BASELINES: dict[str, Opener] = {"naive": open_nest}
