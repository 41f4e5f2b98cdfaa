"""What is made of a program's module before its code is generated: each is linked, and the smallest stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from burnish.cc.guard import guarded
from burnish.cc.improve import Deadlines, machine_code
from burnish.cc.requests import Generated, KeptReference, MachineCode, Optimized, Optimizer, OptimizeRequest


@dataclass(frozen=True)
class ProgramModule:
    """A program's module before any pass, and when what is done to it hangs."""

    bitcode: bytes
    waits: Deadlines
    workspace: Path  # for temporary files


def by_level(module: ProgramModule, request: OptimizeRequest) -> Optimized:
    """Run what clang runs at the level, on the program as if it were one file.

    Raises:
        KeptReference: that fails.
    """
    forked = request.forked()
    return _guarded(module, lambda: _passes(module.bitcode, forked), module.waits.step_seconds)


def by_functions(module: ProgramModule, level: Optimized, request: OptimizeRequest) -> Optimized:
    """Choose for each function what the code generator is told of it, after the level's own passes.

    See function_variants.

    Raises:
        KeptReference: that fails.
    """
    from burnish.cc.link import function_variants

    seconds, forked = module.waits.search_seconds, request.forked()
    return _guarded(module, lambda: function_variants.by_functions(level.bitcode, forked), seconds)


def by_search(module: ProgramModule, request: OptimizeRequest, optimizer: Optimizer) -> Optimized:
    """Search.

    Raises:
        KeptReference: nothing was found, or it fails.
    """
    forked = request.forked()
    return _guarded(module, lambda: optimizer(module.bitcode, forked), module.waits.search_seconds)


def by_code_generation(module: ProgramModule, generated: Generated, request: OptimizeRequest) -> MachineCode:
    """Decide the code of functions.

    Raises:
        KeptReference: nothing was found, or it fails.
    """
    seconds, forked = module.waits.search_seconds, request.forked()
    return guarded(
        lambda: machine_code(generated, forked), deadline_seconds=seconds, workspace=module.workspace
    )


def _guarded(module: ProgramModule, make: Callable[[], Optimized], deadline_seconds: float) -> Optimized:
    found = guarded(make, deadline_seconds=deadline_seconds, workspace=module.workspace)
    if not isinstance(found, Optimized):
        raise KeptReference(f"expected Optimized from the optimizer, got {type(found).__name__}")
    return found


def _passes(bitcode: bytes, request: OptimizeRequest) -> Optimized:
    from burnish import _native
    from burnish.llvm.modules.module import emit_described
    from burnish.llvm.modules.origin import RunTimes

    module = _native.Module(bitcode, request.name)
    module.set_level_attributes(request.level)
    module.honour_mandatory()
    pipeline = f"clang<{request.level}>"
    module.run(pipeline, request.level)
    # what is known here need not be made again for the limits of code generation
    if not request.code_share or request.speed_limit is None:
        return Optimized(module.bitcode(), (pipeline,), 0)
    times = RunTimes.of(emit_described(module, request.level, "x86-64"))
    return Optimized(module.bitcode(), (pipeline,), 0, times.of_call)
