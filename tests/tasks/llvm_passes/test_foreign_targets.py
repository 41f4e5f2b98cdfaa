"""Modules for processors that this build makes no machine code for: what needs none works."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from burnish import _native
from burnish.cli import main
from burnish.core.errors import IllegalAction, NotMeasurable
from burnish.core.program import Program
from burnish.core.registry import load_task, task_names
from burnish.llvm.modules.passes import ACTIONS, NEED_BACK_END, PASSES
from burnish.llvm.modules.session import open_baseline, open_session

TARGETS = (
    "powerpc64le-unknown-linux-gnu",
    "sparcv9-unknown-linux-gnu",
    "x86_64-unknown-unknown-wasm",
    "abacus",
    r"\F8",
)
CODE = """
target triple = "%s"
@table = private unnamed_addr constant [3 x i32] [i32 5, i32 7, i32 1]
define i32 @f(i32 %%x) {
entry:
  %%place = alloca i32
  store i32 %%x, ptr %%place
  br label %%loop
loop:
  %%i = phi i32 [ 0, %%entry ], [ %%next, %%loop ]
  %%next = add i32 %%i, 1
  %%old = load i32, ptr %%place
  %%new = call i32 @g(i32 %%old)
  store i32 %%new, ptr %%place
  %%done = icmp eq i32 %%next, 10
  br i1 %%done, label %%end, label %%loop
end:
  ret i32 %%new
}
define internal i32 @g(i32 %%x) {
  %%y = mul i32 %%x, 3
  ret i32 %%y
}
"""


def foreign(target: str) -> Program:
    return Program("far.ll", "llvm", (CODE % target).encode())


@pytest.mark.parametrize("target", TARGETS)
def test_instructions_are_counted_after_every_legal_action(target: str) -> None:
    session = open_session(foreign(target))
    for action in np.flatnonzero(session.legal()):
        session.fork().apply(int(action))
    session.apply(ACTIONS.index("mem2reg"))
    assert session.measure("ir-instructions") < open_session(foreign(target)).measure("ir-instructions")
    assert open_baseline(foreign(target), "Oz").measure("ir-instructions") < 11


@pytest.mark.parametrize(
    "objective", ["loaded-bytes", "text-bytes", "object-bytes", "code-growth", "slowdown"]
)
def test_bytes_are_refused_in_one_line_that_names_the_target(objective: str) -> None:
    for task in (name for name in task_names() if name.startswith("llvm")):
        session = load_task(task).open(foreign("powerpc64le-unknown-linux-gnu"))
        with pytest.raises(NotMeasurable, match=r"^made for 'powerpc64le-unknown-linux-gnu', and this .*$"):
            session.measure(objective)


def test_passes_that_ask_the_back_end_are_illegal_without_one() -> None:
    asking = set()
    for item in PASSES:
        try:
            _native.Module((CODE % "mips").encode()).run(item.pipeline)
        except _native.PipelineError as error:
            assert "requires TargetMachine" in str(error)
            asking.add(item.text)
    assert asking == NEED_BACK_END
    session = open_session(foreign("mips"))
    for site in ("", "f"):
        legal = session.legal(site)
        assert not any(legal[ACTIONS.index(text)] for text in NEED_BACK_END)
    with pytest.raises(IllegalAction, match="typepromotion"):
        session.apply(ACTIONS.index("typepromotion"))


def test_all_observations_but_the_assembly_are_made_of_the_module_alone() -> None:
    session = open_session(foreign("mips"))
    for name in load_task("llvm_passes").observations:
        if name != "assembly":
            session.observe(name)
    with pytest.raises(NotMeasurable, match="made for 'mips'"):
        session.observe("assembly")


def test_a_missing_data_layout_is_the_targets() -> None:
    assert 'target datalayout = "E-m:m-p:32:32' in _native.Module(b'target triple = "mips"\n').print()


def test_it_is_optimized_and_evaluated_by_instructions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, result = tmp_path / "far.ll", str(tmp_path / "far.jsonl")
    file.write_text(CODE % "powerpc64le-unknown-linux-gnu")
    command = ["optimize", str(file), "--budget", "20 evaluations", "--workers", "1", "--quiet"]
    chosen = [*command, "--objective", "ir-instructions"]
    assert main([*chosen, "-o", str(tmp_path / "far.bc"), "--result", result, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert not row["beside"]
    assert row["valid"]
    assert main(["compare", result]) == 0
    assert main([*chosen, "-o", str(tmp_path / "far.o")]) == 2
    assert "cannot make machine code; write a .bc or .ll file" in capsys.readouterr().err
    assert main([*command, "-o", str(tmp_path / "far.o")]) == 2
    error = capsys.readouterr().err.strip()
    assert "far.ll: made for 'powerpc64le-unknown-linux-gnu'" in error
    assert "\n" not in error
    assert main(["apply", str(file), "gvn", "mem2reg"]) == 0
    assert "IR instrs" in capsys.readouterr().out
