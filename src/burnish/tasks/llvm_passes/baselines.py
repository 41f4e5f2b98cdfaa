"""clang's own levels, on the same module."""

from __future__ import annotations

from functools import partial

from burnish.core.task import Opener
from burnish.llvm.toolchain import LEVELS
from burnish.tasks.llvm_passes.session import open_baseline


def baselines(cpu: str) -> dict[str, Opener]:
    """Return how to reach the state that each -O level leads to.

    Pass for pass, attribute for attribute and in code generation these are what clang 23 runs: the
    object files are equal to clang's (tests/tasks/llvm_passes/test_baselines.py). One thing is not in a
    module: at -O0 clang's front end emits other code. For a C or C++ file, open the -O0 front end's
    module to have clang's -O0 exactly.
    """
    return {level: partial(open_baseline, level=level, cpu=cpu) for level in LEVELS}
