"""A search works on the program that its task names for that: a module without debug information."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.errors import ProgramError
from burnish.core.guide import GuideFor
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.evaluation import optimize
from burnish.evaluation.optimization import Strategy
from burnish.llvm.corpora.kernels import find_kernel
from burnish.llvm.programs import load_program
from burnish.search import Budget
from burnish.search.problem import Problem
from burnish.search.stages import search_stages
from burnish.workers.worker import GIB, Limits
from tests.loaded_code import loaded_code
from tests.sources import DATA

pytestmark = pytest.mark.usefixtures("nothing_left")

LIMITS = Limits(60, 4 * GIB)
SOURCES = [
    DATA / "machine.c",
    pytest.param(DATA / "structs.c", marks=pytest.mark.slow),
    pytest.param(find_kernel("huffman").source, marks=pytest.mark.slow),
]


def loaded_code_of(problem: Problem, result: Result) -> object:
    session = problem.open()
    try:
        session.replay(result.trace)
        return loaded_code(session.object_code())
    finally:
        session.shutdown()


@pytest.mark.parametrize("source", SOURCES, ids=["machine", "structs", "huffman"])
@pytest.mark.parametrize("task", ["llvm_passes", "llvm_passes_and_codegen"])
def test_same_is_found_with_debug_information(source: Path, task: str, tmp_path: Path) -> None:
    """The same trace and code at the same count of evaluations, also where something is remembered.

    Costs may differ: with debug information LLVM writes unwind tables for every function, needed or not.
    """
    found = []
    for number, options in enumerate(((), ("-g",))):
        problem = Problem(load_task(task), load_program(source, options), "loaded-bytes", limits=LIMITS)
        memory = tmp_path / f"memory{number}" if task == "llvm_passes" else None
        result = optimize(
            problem, Budget(evaluations=60, workers=1), strategy=Strategy(memory=memory), baselines=["Oz"]
        )
        assert result.digest == problem.program.digest
        assert result.valid and not result.fallback and result.cost < result.baselines["Oz"]
        found.append((result.trace, result.evaluations, loaded_code_of(problem, result)))
    assert found[0] == found[1]


def test_search_opens_a_module_without_debug_information() -> None:
    task = load_task("llvm_passes")
    seen: list[Program] = []

    def guide_of(part: Problem) -> GuideFor | None:
        seen.append(part.program)
        return None

    given = load_program(DATA / "machine.c", ["-g"])
    problem = Problem(task, given, limits=LIMITS)
    result = search_stages(problem, Budget(evaluations=1, workers=1), guide_of, method="random")
    assert [_native.Module(one.content).has_debug_info for one in (given, *seen)] == [True, False]
    assert result.digest == given.digest


def die(_program: Program) -> Program:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_program_that_kills_the_compiler_is_named() -> None:
    passes = load_task("llvm_passes")
    task = replace(passes, files=replace(passes.files, searched=die))
    problem = Problem(task, load_program(DATA / "machine.c"), limits=LIMITS)
    with pytest.raises(ProgramError, match=r"machine\.c: the compiler failed on this input"):
        search_stages(problem, Budget(evaluations=1), lambda _: None, method="random")
