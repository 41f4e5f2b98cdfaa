"""The optimizer of the drop-in compilers: one translation unit, one worker process, a few seconds."""

from __future__ import annotations

import math
from pathlib import PurePath

from burnish.core.errors import CompilerCrash
from burnish.core.program import Program
from burnish.core.sandbox import Sandbox
from burnish.core.worker import Limits
from burnish.driver.requests import Optimized, OptimizeRequest, Unimproved
from burnish.policies import find as policies
from burnish.search import DEFAULT, Budget, search
from burnish.search.memory import Memory
from burnish.tasks.llvm_passes import LANGUAGE, Options, make_task


def optimize(bitcode: bytes, request: OptimizeRequest) -> Optimized:
    """Search for the passes of one file and return its bitcode after them.

    Raises:
        Unimproved: the search found nothing better than the level's own pipeline.
        BurnishError: the file cannot be optimized.
    """
    task = make_task(Options(level=request.level))
    program = Program(PurePath(request.name).name, LANGUAGE, bitcode)
    limits = Limits(deadline_seconds=max(10.0, 2 * request.budget_seconds))
    guide = policies.find_adviser(request.policy or policies.DEFAULT, task, request.objective)
    adviser = guide[0] if guide else None
    if request.memory:
        adviser = remembered = Memory(request.memory, task, program, request.objective, adviser)
    found = search(
        task,
        program,
        method=request.search or DEFAULT,
        objective=request.objective,
        budget=Budget(seconds=request.budget_seconds),
        seed=request.seed,
        adviser=adviser,
        workers=1,  # the build itself uses the other cores
        limits=limits,
    )
    if math.isinf(found.cost):
        raise Unimproved(f"nothing was measured within {request.budget_seconds:g} seconds")
    session = Sandbox(task.open, program, limits=limits)
    try:
        session.replay(found.trace)
        session.verify()
        content = session.observe("bitcode")
    except CompilerCrash as error:
        raise Unimproved(f"{error} (after {', '.join(found.trace)})", found.evaluations) from None
    finally:
        session.shutdown()
    assert isinstance(content, bytes)
    if request.memory:
        remembered.keep(found.trace, found.cost)
    return Optimized(content, found.trace, found.evaluations)
