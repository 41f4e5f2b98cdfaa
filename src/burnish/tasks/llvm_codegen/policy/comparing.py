"""Evaluation of a policy of evictions against LLVM's heuristic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from burnish.core.errors import CompilerCrash, ProgramError
from burnish.core.program import Program
from burnish.evaluation.against import Against
from burnish.tasks.llvm_codegen.actions import EVICT
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program
from burnish.workers.worker import Limits, Worker


def against_heuristic(
    programs: Iterable[Program], options: CodegenOptions, objective: str, limits: Limits = Limits()
) -> Iterator[Against]:
    """Yield the result of each module; modules without evictions, or that do not compile, are left out.

    Args:
        programs: The modules.
        options: The pipeline before code generation, and the policy.
        objective: What is measured, such as "spill-cost".
        limits: The limits of the process that compiles.

    Raises:
        InputError: the policy's file is not a policy of evictions, or a program has no such cost.
    """
    worker = Worker(limits)
    try:
        for program in programs:
            try:
                found = worker.finish(worker.begin(_measured, program, options, objective))
            except (CompilerCrash, ProgramError):
                continue
            if found is not None:
                yield found
    finally:
        worker.close()


def _measured(program: Program, options: CodegenOptions, objective: str) -> Against | None:
    session = open_program(program, options)
    heuristic = session.measure(objective)
    session.apply(session.index(EVICT))
    log = session.evictions()
    if not len(log):
        return None
    others = int((log.chosen != log.llvms).sum())
    return Against(program.name, heuristic, session.measure(objective), len(log), others)
