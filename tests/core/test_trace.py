"""Entries of traces, site by site and stage by stage."""

from __future__ import annotations

from burnish.core.trace import entries_by_stage, is_begin


def test_stages_come_one_after_the_other() -> None:
    whole = ("clang<Oz>", "begin(code)")
    suffixes = {"f": ("sink", "begin(code)", "order(0)"), "g": ("reg2mem",), "h": ("begin(code)", "skip(a)")}
    assert entries_by_stage(whole, suffixes) == (
        "clang<Oz>", "f: sink", "g: reg2mem", "begin(code)", "f: order(0)", "h: skip(a)",
    )  # fmt: skip


def test_without_stages_the_whole_program_comes_first() -> None:
    assert entries_by_stage(("a", "b"), {"f": ("c",)}) == ("a", "b", "f: c")
    assert entries_by_stage((), {}) == ()


def test_a_site_is_no_beginning_of_a_stage() -> None:
    assert is_begin("begin(llvm_codegen)")
    assert not is_begin("f: begin(llvm_codegen)") and not is_begin("begin")
