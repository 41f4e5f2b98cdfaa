"""One thread and one core for all who are compared."""

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
"""What libraries read when they are loaded."""


def restart(core: int | None = None) -> None:
    """Begin the program anew where libraries were loaded without ENVIRONMENT; keep to one core.

    Args:
        core: Which one; by default the last that the process may use.
    """
    if any(os.environ.get(name) != value for name, value in ENVIRONMENT.items()):
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ENVIRONMENT})
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0)) if core is None else core})
