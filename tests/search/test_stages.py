"""A task of several stages is searched one after the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.core.errors import InputError
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.evaluation import optimize
from burnish.evaluation.optimization import Strategy
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.search.stages import ended, search_stages
from burnish.tasks.llvm_passes_and_codegen import TASK
from burnish.workers.worker import GIB, Limits
from tests.sources import program

pytestmark = pytest.mark.usefixtures("nothing_left")

PROBLEM = Problem(TASK, program("machine.c"), "loaded-bytes", limits=Limits(60, 4 * GIB))
BEGIN = "begin(llvm_codegen)"


def test_both_stages_are_searched_and_confirmed_as_one() -> None:
    result = optimize(PROBLEM, Budget(evaluations=40, workers=1))
    passes, code = result.trace[: result.trace.index(BEGIN)], result.trace[result.trace.index(BEGIN) + 1 :]
    assert result.valid and not result.fallback
    assert passes and code
    for stage, trace in zip(TASK.stages, (passes, code), strict=True):
        assert {text.rpartition(": ")[2] for text in trace} <= set(stage.actions)
    assert result.task == TASK.id
    assert result.evaluations <= 41
    assert result.cost < result.baselines["Oz"]


def test_stages_are_not_remembered(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="llvm_passes_and_codegen has several stages"):
        optimize(PROBLEM, Budget(evaluations=1), strategy=Strategy(memory=tmp_path / "memory"))


def test_a_stage_that_finds_nothing_is_gone_through() -> None:
    """Nothing gains from answers here, nor do passes without a policy within three evaluations."""
    task = load_task("llvm_inlining_passes_and_codegen")
    problem = replace(PROBLEM, task=task)
    result = optimize(problem, Budget(evaluations=24, workers=1), strategy=Strategy(policy="none"))
    assert result.valid and not result.fallback
    assert result.task == task.id
    begins = [text for text in result.trace if text.startswith("begin")]
    assert begins == ["begin(llvm_passes)", BEGIN]
    code = result.trace[result.trace.index(BEGIN) + 1 :]
    assert code
    assert {text.rpartition(": ")[2] for text in code} <= set(task.stages[-1].actions)


def test_entries_that_begin_what_is_empty_are_left_out() -> None:
    task = load_task("llvm_inlining_passes_and_codegen")
    assert ended(task, ("f > g #1: inline", "begin(llvm_passes)", BEGIN)) == ("f > g #1: inline",)
    assert ended(task, ("begin(llvm_passes)", BEGIN, "f: skip(dse)")) == (
        "begin(llvm_passes)",
        BEGIN,
        "f: skip(dse)",
    )


@pytest.mark.parametrize(("budget", "count"), [(Budget(0.001, workers=1), 1), (Budget(60, 20, workers=1), 2)])
def test_a_slow_program_s_first_stage_has_all_the_time(
    budget: Budget, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []

    def note(problem: Problem, *arguments: Any, **options: Any) -> Result:
        searched.append(problem.task.name)
        return search(problem, *arguments, **options)

    monkeypatch.setattr("burnish.search.stages.search", note)
    found = search_stages(PROBLEM, budget, lambda _: None, method="mixed")
    assert searched == [stage.name for stage in TASK.stages[:count]]
    assert found.trace
    assert (BEGIN in found.trace) == (count == 2)
