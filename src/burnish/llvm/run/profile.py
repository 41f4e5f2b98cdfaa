"""A program's profile, from an instrumented run."""

from __future__ import annotations

from burnish import _native
from burnish.core.program import Workload
from burnish.llvm.run.block_counts import block_counts

SPLIT = "function(break-crit-edges)"  # then the counts of blocks are those of edges, too


def profile(module: _native.Module, workload: Workload) -> None:
    """Run a program, and write how often it did what into its module, as clang does with -fprofile-use.

    The module gets branch weights, entry counts of functions, the summary, and the attributes of hot and cold
    functions; see native/profile.h. Targets of indirect calls and sizes of memory operations are not counted.

    Raises:
        InputError: a run writes no counts; see `block_counts`.
    """
    split = module.clone()
    split.run(SPLIT)
    _native.set_profile(module, split, block_counts(split, workload).tolist())
