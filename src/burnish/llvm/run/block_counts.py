"""Execution counts of a program's basic blocks, from an instrumented run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Workload
from burnish.llvm.run.executable import link
from burnish.llvm.run.folder import temporary_folder
from burnish.llvm.run.running import PATIENT, execute

LEVEL = "O1"  # of the instrumented code, which runs only once per input


def block_counts(module: _native.Module, workload: Workload) -> NDArray[np.uint64]:
    """Run a program with counters in all blocks; return the sums over its runs: uint64[blocks].

    The blocks are those of the module, function by function. Counters are plain additions in memory, as in
    LLVM's own instrumentation. So some counts of programs with several threads are lost.

    Raises:
        InputError: a run writes no counts, because it does not end by a return from main or by exit.
    """
    back_end = _native.BackEnd()
    back_end.level = LEVEL
    blocks = _native.count_blocks(module)
    with temporary_folder() as folder:
        records = folder / "counts"
        try:
            counting = _native.counting(module, str(records.absolute()))
        except _native.InputError as error:
            raise InputError(f"blocks cannot be counted: {error}") from None
        made = _native.generate_code(counting, back_end, {})
        executable = link(made.object, workload, folder / "program")
        for number, run in enumerate(workload.runs):
            ended = execute(executable, run, files=workload.files, limits=PATIENT)
            written = records.stat().st_size if records.exists() else 0
            if written != (number + 1) * blocks * 8:
                raise InputError(
                    f"blocks cannot be counted: run {run.name!r} ended by {ended.ending} without "
                    "writing counts; expected a program that returns from main or calls exit"
                )
        every: NDArray[np.uint64] = np.fromfile(records, dtype=np.uint64).reshape(-1, blocks)
        total: NDArray[np.uint64] = every.sum(axis=0, dtype=np.uint64)
        return total
