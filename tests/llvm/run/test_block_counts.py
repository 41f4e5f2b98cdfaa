"""Blocks are counted as often as they are executed, and what is executed is weighed by that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Program, Run, Workload
from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.run.block_counts import block_counts
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program

TEXT = """
target triple = "x86_64-unknown-linux-gnu"
declare i32 @atoi(ptr)
declare void @exit(i32)
declare void @abort()

define i64 @walk(ptr %p, i64 %n) noinline {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %v = load volatile i64, ptr %p
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 %next
}

define i64 @never(ptr %p) noinline {
  %v = load volatile i64, ptr %p
  ret i64 %v
}

define i32 @main(i32 %argc, ptr %argv) {
entry:
  %place = alloca i64
  store i64 1, ptr %place
  %first = getelementptr ptr, ptr %argv, i64 1
  %text = load ptr, ptr %first
  %count = call i32 @atoi(ptr %text)
  %many = zext i32 %count to i64
  %a = call i64 @walk(ptr %place, i64 %many)
  %b = call i64 @walk(ptr %place, i64 5)
  %bad = icmp eq i32 %count, 13
  br i1 %bad, label %give_up, label %done
give_up:
  call void @abort()
  unreachable
done:
  ret i32 0
}
"""


def counted(*arguments: str) -> Program:
    runs = tuple(Run(text, (text,)) for text in arguments)
    return Program("counted", "llvm", TEXT.encode(), workload=Workload(runs))


def test_blocks_are_counted_over_all_runs() -> None:
    program = counted("10", "100")
    assert program.workload
    counts = block_counts(_native.Module(program.content), program.workload)
    walk, never, main = [4, 10 + 5 + 100 + 5, 4], [0], [2, 0, 2]
    assert counts.tolist() == [*walk, *never, *main]


def test_spill_costs_are_those_of_what_was_executed() -> None:
    """Of `walk`, a load in each of 120 rounds weighs 4, and two copies in each of 4 calls 0.2."""
    session = open_program(counted("10", "100"))
    executed = session.executed_costs()
    assert executed.spill_costs["walk"] == pytest.approx(120 * 4 + 4 * 2 * 0.2)
    assert executed.spill_costs["never"] == 0
    assert session.costs("spill-cost")["never"] == 4
    assert session.costs("executed-spill-cost") == executed.spill_costs
    assert session.measure("executed-spill-cost") == sum(executed.spill_costs.values())


def test_straight_code_that_runs_once_weighs_what_llvm_expects() -> None:
    session = open_program(counted("7"))
    once = session.fork().executed_costs()
    assert once.instructions["walk"] > 7 + 5
    main, expected = once.spill_costs["main"], session.costs("spill-cost")["main"]
    assert main == pytest.approx(expected, rel=1e-3)  # the block that gives up is all but never run


def test_a_program_that_does_not_end_by_itself_has_no_counts() -> None:
    with pytest.raises(InputError, match=r"run '13' ended by signal SIGABRT"):
        open_program(counted("10", "13")).measure("executed-spill-cost")


def test_a_program_without_runs_has_no_executed_spill_cost() -> None:
    with pytest.raises(InputError, match="so it cannot be run"):
        open_program(replace(counted("7"), workload=None)).measure("executed-spill-cost")


def test_counts_of_another_module_are_refused() -> None:
    module = _native.Module(TEXT.encode())
    with pytest.raises(_native.InputError, match="3 counts of blocks, and the module has 7"):
        _native.generate_code(module, _native.BackEnd(), {}, scores=True, counts=np.zeros(3, dtype=np.uint64))


def test_names_that_counting_needs_may_not_be_the_programs_own() -> None:
    text = TEXT + "define i64 @write() {\n  ret i64 0\n}\n"
    program = replace(counted("7"), content=text.encode())
    with pytest.raises(InputError, match="own function 'write'"):
        open_program(program).measure("executed-spill-cost")


@pytest.mark.parametrize("kernel", ["fft", "quicksort"])
def test_counting_changes_neither_code_nor_decisions(kernel: str) -> None:
    session = open_program(load_kernel(kernel, ["small"]), CodegenOptions(pipeline="O2"))
    before = session.stock().code
    costs = session.executed_costs()
    assert session.stock().code == before
    assert set(costs.spill_costs) == set(session.costs("spill-cost"))
    assert sum(costs.instructions.values()) > 10_000
