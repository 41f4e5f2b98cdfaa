"""A linked WebAssembly module after binaryen's passes: what clang has wasm-opt do at a link, searched."""

from __future__ import annotations

import importlib.util
import time
from dataclasses import replace
from operator import methodcaller
from pathlib import Path

from burnish.cc.isolation import LONGEST_SECONDS, Guard
from burnish.cc.jobs import ClangJob
from burnish.cc.lock import MODULE, locked_trace
from burnish.cc.outcomes import USED_UP, Build, Outcome, Sizes
from burnish.cc.refusals import SIZE_LEVELS
from burnish.cc.requests import KeptReference
from burnish.cc.searching import Found, find
from burnish.core.errors import BurnishError, MissingTool, install
from burnish.core.program import Program
from burnish.core.walk import replay_legal
from burnish.files import write_atomically
from burnish.search.problem import Problem
from burnish.workers.worker import Limits

FOR_PEOPLE = ("name", ".debug_")  # beginnings of custom sections that passes drop or make wrong
OZ = ("default<Oz>",)
LEAST_SECONDS = 0.05  # of a search if no time is left
# A search ends after this many evaluations in a row without a gain.
PATIENCE = 24


def improve_module(build: Build, link: ClangJob, level: str, folder: Path) -> Outcome | None:
    """Make the module of a link smaller; None if the command does not ask for size.

    A budget that is a multiple of clang's time is one of the time of wasm-opt -Oz.

    Args:
        level: The command's level.
        folder: For temporary files.
    """
    if level not in SIZE_LEVELS and build.options.objective is None:
        return None
    clock, path = build.compiled.clock, link.output_path
    start = clock.now()
    outcome = Outcome(MODULE, level, link.command)
    try:
        content = path.read_bytes()
        before = sizes_of(content)
        outcome = replace(outcome, before=before)
        made, found, reason = _searched(build, path, content, folder)
        outcome = replace(outcome, evaluations=found.evaluations, crashes=found.crashes, reason=reason)
        if len(made) >= len(content):
            raise KeptReference("nothing smaller was found")
        after, limit = sizes_of(made), build.options.ram_limit
        if limit is not None and after.ram_bytes > limit * before.ram_bytes:
            raise KeptReference("the smaller module needs more memory than --ram-limit allows")
        write_atomically(path, made)
        outcome = replace(outcome, action="optimized", after=after, trace=found.trace)
    except (KeptReference, BurnishError, OSError, ValueError) as why:
        outcome = replace(outcome, reason=str(why))
    return replace(outcome, seconds=clock.now() - start)


def sizes_of(content: bytes) -> Sizes:
    """Return the sizes of a linked module: of its file, its code, its data and its memory.

    The memory begins with whole pages of 64 KiB, so a limit of RAM holds for pages.
    """
    from burnish.tasks.wasm_passes.sections import memory_bytes, sections

    sizes = {section.kind: section.size for section in sections(content)}
    code, data = sizes.get("code", 0), sizes.get("data", 0)
    return Sizes(len(content), code, code + data, data, memory_bytes(content))


def _searched(build: Build, path: Path, content: bytes, folder: Path) -> tuple[bytes, Found[bytes], str]:
    """Return the smallest module that a search finds, or else wasm-opt -Oz's; the search's result; why none.

    With a lock, the module is that of its trace.

    Raises:
        KeptReference: the module has names or debug information, binaryen fails, or the lock has no trace.
        MissingTool: binaryen or wasmtime is not installed.
    """
    from burnish.tasks.wasm_passes.sections import sections

    if any(section.name.startswith(FOR_PEOPLE) for section in sections(content)):
        raise KeptReference("the module has names or debug information, which passes drop; link with -s")
    if not all(map(importlib.util.find_spec, ("icpp_binaryen", "wasmtime"))):
        raise MissingTool(f"binaryen is not installed: {install('wasm')}")
    program, clock = Program(path.name, "wasm", content), build.compiled.clock
    if build.options.lock:
        trace = locked_trace(build.options.lock, path, MODULE)

        def repeated() -> bytes:
            from burnish.tasks.wasm_passes import TASK

            session = TASK.open(program)
            replay_legal(session, trace)
            return session.object_code()

        made = Guard(folder, LONGEST_SECONDS, LONGEST_SECONDS).step(repeated)
        return made, Found[bytes](len(made), trace, 0, 0, None), ""

    def by_level() -> tuple[bytes, float]:
        from burnish.tasks.wasm_passes import TASK

        start = time.process_time()
        return TASK.baseline("Oz")(program).object_code(), time.process_time() - start

    by_oz, seconds = Guard(folder, LONGEST_SECONDS, LONGEST_SECONDS).step(by_level)
    level = Found[bytes](len(by_oz), OZ, 0, 0, None)
    with build.budget(seconds) as budget:
        if budget is None:
            return by_oz, level, USED_UP
        request = build.request(path.name, "Oz", seconds, clock.now(), budget)
        request = replace(request, code_share=0.0, patience=PATIENCE)
        if request.remembered:
            return by_oz, level, ""

        def search() -> Found[bytes]:
            from burnish.tasks.wasm_passes import TASK

            problem = Problem(TASK, program, "wasm-bytes", limits=Limits(begin="fork"))
            look, forked = methodcaller("object_code"), request.forked()
            return find(problem, forked, look, memory=None, least_seconds=LEAST_SECONDS, clangs=())

        try:
            found = build.guard(seconds, folder).search(search)
        except KeptReference as why:
            return by_oz, level, str(why)
    if isinstance(found.state, bytes) and len(found.state) < len(by_oz):
        return found.state, found, ""
    return by_oz, replace(found, trace=OZ), ""
