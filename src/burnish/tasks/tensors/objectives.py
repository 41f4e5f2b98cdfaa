"""The objective to minimise: the time of a call."""

from __future__ import annotations

from burnish.core.objective import Objective

OBJECTIVES = {
    "seconds": Objective(
        "seconds",
        "s",
        "CPU time of a call, the minimum of several; arrays are in caches as far as they fit",
        dense=False,
        by_site=False,
        noisy=True,
        heading="seconds",
    ),
}
