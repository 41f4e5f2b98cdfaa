"""One thread and one core for all contenders."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

ENVIRONMENT: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "MKL_NUM_THREADS",
            "BLIS_NUM_THREADS",
            "NUMEXPR_NUM_THREADS",
            "NUMBA_NUM_THREADS",
            "VECLIB_MAXIMUM_THREADS",
        ),
        "1",
    ),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
}
"""Variables that libraries read when they are loaded."""


def restart(core: int | None = None) -> None:
    """Restart the program with ENVIRONMENT, if it has other values, and bind it to one core.

    Args:
        core: The core; by default the last one that the process may use.
    """
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if core is None else core})
