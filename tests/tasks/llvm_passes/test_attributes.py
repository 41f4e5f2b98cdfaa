"""Attributes that the code generator follows: which functions get them, and what that costs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from burnish import _native
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.modules.passes import ACTIONS, PASSES
from burnish.llvm.modules.session import open_session
from tests.sources import C_FILES, printed, program

PIPELINES = {item.text: item.pipeline for item in PASSES}
FRAMES = [text for text in ACTIONS if text.startswith("frame-pointer")]
CALLS = """
declare void @g()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i32 @llvm.ctpop.i32(i32)
define i32 @none(i32 %x) { %y = call i32 @llvm.ctpop.i32(i32 %x)
  ret i32 %y }
define void @two(ptr %p) { call void @g()
  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 64, i1 false)
  ret void }
define void @four(ptr %f) { call void @g()
  call void %f()
  call void @g()
  tail call void @g()
  ret void }
define void @assembly() { call void @g()
  call void @g()
  call void asm sideeffect "push %rbp; pop %rbp", ""()
  ret void }
define void @naked() naked { call void @g()
  call void @g()
  unreachable }
define void @asked() "frame-pointer"="non-leaf" { call void @g()
  call void @g()
  ret void }
define void @untold() nounwind { call void @g()
  call void @g()
  ret void }
define void @frozen() noinline optnone { call void @g()
  call void @g()
  ret void }
"""
SWITCH = """
define i32 @{name}(i32 %x, i32 %n) {{
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %next ]
  %j = add i32 %i, 1
  {inside}
next:
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %after
after:
  {behind}
{ways}
}}
"""


def after(action: str, text: str) -> str:
    """Return a module after an action, verified, as text."""
    module = _native.Module(text.encode(), "test")
    module.run(PIPELINES[action])
    module.verify()
    return module.print()


def with_attribute(text: str, attribute: str) -> set[str]:
    """Return the functions that have an attribute, as LLVM prints it."""
    groups = dict(re.findall(r"^attributes #(\d+) = \{ (.*) \}$", text, re.MULTILINE))
    defined = re.findall(r"^define [^\n]*@(\w+)\([^\n]*\) #(\d+) ", text, re.MULTILINE)
    return {name for name, group in defined if attribute in groups[group].split()}


@pytest.mark.parametrize(
    ("least", "expected"),
    [(0, {"none", "two", "four"}), (2, {"two", "four"}), (4, {"four"})],
)
def test_a_frame_pointer_is_kept_by_functions_that_call(least: int, expected: set[str]) -> None:
    text = after(f"frame-pointer<calls={least}>", CALLS)
    assert with_attribute(text, '"frame-pointer"="all"') == expected
    assert with_attribute(text, '"frame-pointer"="non-leaf"') == {"asked"}


def switch(name: str, hot: bool) -> str:
    """Return a function with a switch of 8 ways: in its loop, or behind it."""
    choice = " ".join(f"i32 {value}, label %way{value}" for value in range(8))
    choice = f"switch i32 %x, label %{'next' if hot else 'way0'} [ {choice} ]"
    inside, behind = (choice, "ret i32 0") if hot else ("br label %next", choice)
    ways = "\n".join(f"way{value}:\n  call void @g()\n  ret i32 {value * value}" for value in range(8))
    return SWITCH.format(name=name, inside=inside, behind=behind, ways=ways)


def test_jump_tables_stay_where_they_are_in_loops() -> None:
    text = after("no-jump-tables", switch("hot", hot=True) + switch("cold", hot=False) + CALLS)
    assert with_attribute(text, '"no-jump-tables"="true"') == {"cold"}
    cold = "declare void @g()" + switch("cold", hot=False)
    table, compared = (
        _native.object_sizes(_native.Module(source.encode()).emit_object("Oz"))
        for source in (cold, after("no-jump-tables", cold))
    )
    addresses = 7 * 8  # way0 is where any other value leads to
    assert (table.read_only_bytes, compared.read_only_bytes) == (addresses, 0)


def test_minsize_goes_and_optsize_stays() -> None:
    text = """define i32 @f() minsize optsize { ret i32 1 }
define i32 @framed() minsize optsize "frame-pointer"="all" { ret i32 1 }"""
    left = after("no-minsize", text)
    assert with_attribute(left, "minsize") == {"framed"}
    assert with_attribute(left, "optsize") == {"f", "framed"}


def test_at_one_function_the_others_keep_theirs() -> None:
    session = open_session(program("matrix.c"))
    for action in (*FRAMES, "no-jump-tables", "no-minsize"):
        assert session.legal("multiply")[session.index(action)]
    session.replay(["multiply: frame-pointer<calls=0>"])
    text = session.module.print()
    assert with_attribute(text, '"frame-pointer"="all"') == {"multiply"}


@pytest.mark.parametrize("name", C_FILES)
def test_a_call_is_expected_to_take_a_little_longer(name: str) -> None:
    session = open_session(program(name))
    session.replay(["clang<Oz>"])
    assert session.cost("slowdown") == 1
    session.replay(["frame-pointer<calls=0>"])
    assert session.cost("slowdown") > 1
    assert all(share >= 1 for share in session.costs("slowdown").values())


def test_kept_where_it_pays_frames_save_more_than_their_code_costs() -> None:
    saved, before = 0.0, 0.0
    for name in C_FILES:
        session = open_session(program(name))
        session.replay(["clang<Oz>"])
        without = session.costs("loaded-bytes")
        session.replay(["frame-pointer<calls=0>"])
        framed = session.costs("loaded-bytes")
        saved += sum(max(0.0, without[site] - framed[site]) for site in without)
        before += sum(without.values())
    assert saved > 0.02 * before


def test_random_programs_print_what_they_did(tmp_path: Path) -> None:
    for seed in range(6):
        source = random_module(seed)
        module = open_session(source).module
        for text in ("clang<Oz>", "no-minsize", "frame-pointer<calls=0>", "no-jump-tables", "clang<O2>"):
            module.run(PIPELINES[text])
        module.verify()
        unchanged = _native.Module(source.content, source.name)
        assert printed(module, source, tmp_path, "Oz") == printed(unchanged, source, tmp_path), seed
