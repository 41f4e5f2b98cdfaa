"""clang's own levels as baselines, on the same module."""

from __future__ import annotations

from functools import partial

from burnish.core.task import Opener
from burnish.llvm.modules.session import open_baseline
from burnish.llvm.toolchain import LEVELS


def baselines(cpu: str) -> dict[str, Opener]:
    """Return, by level, an opener of the state after clang's -O pipeline.

    Passes, attributes and code generation are those of clang 23: the object files are equal to clang's
    (tests/tasks/llvm_passes/test_baselines.py). There is one exception: at -O0, clang's front end emits
    different code. For clang's exact -O0 of a C or C++ file, open the front end's module for -O0.
    """
    return {level: partial(open_baseline, level=level, cpu=cpu) for level in LEVELS}
