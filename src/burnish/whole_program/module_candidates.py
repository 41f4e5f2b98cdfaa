"""What is made of a program's module before its code is generated: each is linked, and the smallest stays.

Other decisions that need the whole program, those of the code generator among them, belong here: another
candidate, or what `generate` is told with one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from burnish.driver.guard import guarded
from burnish.driver.improve import Deadlines
from burnish.driver.requests import Optimized, Optimizer, OptimizeRequest, Unimproved


def candidates(
    bitcode: bytes, request: OptimizeRequest, optimizer: Optimizer, waits: Deadlines, workspace: Path
) -> Iterator[Optimized | Unimproved]:
    """Give the module after the level's own passes, and then what a search finds, or why it does not.

    Args:
        bitcode: Of the module, before any pass.
        request: To the optimizer.
        optimizer: The search.
        waits: When a step hangs.
        workspace: For temporary files of theirs.
    """
    for make, deadline_seconds in (
        (_by_level, waits.step_seconds),
        (optimizer, waits.search_seconds),
    ):
        try:
            yield _checked(
                guarded(_call(make, bitcode, request), deadline_seconds=deadline_seconds, workspace=workspace)
            )
        except Unimproved as why:
            yield why


def _call(make: Optimizer, bitcode: bytes, request: OptimizeRequest) -> Callable[[], Optimized]:
    return lambda: make(bitcode, request)


def _by_level(bitcode: bytes, request: OptimizeRequest) -> Optimized:
    """Run what clang runs at the level, on the program as if it were one file."""
    from burnish import _native

    module = _native.Module(bitcode, request.name)
    module.set_level_attributes(request.level)
    module.honour_mandatory()
    pipeline = f"clang<{request.level}>"
    module.run(pipeline, request.level)
    return Optimized(module.bitcode(), (pipeline,), 0)


def _checked(found: Optimized) -> Optimized:
    if not isinstance(found, Optimized):
        raise Unimproved(f"expected Optimized from the optimizer, got {type(found).__name__}")
    return found
