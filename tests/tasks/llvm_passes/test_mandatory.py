"""What a program's author demands is done before anything is counted."""

from __future__ import annotations

from burnish.tasks.llvm_passes import TASK, Options, make_task
from tests.sources import program


def test_always_inline_is_honoured_on_opening() -> None:
    session = TASK.open(program("always_inline.c"))
    assert "step" not in session.sites()
    assert "walk" in session.sites()


def test_noinline_is_honoured_always() -> None:
    session = TASK.open(program("always_inline.c"))
    session.replay(["module-inline<threshold=100>", "inliner-wrapper<threshold=225>", "clang<O3>"])
    ir = session.observe("ir")
    assert isinstance(ir, str)
    assert "@stay(" in ir.partition("@call_stay(")[2]


def test_option_to_ignore_it_is_named() -> None:
    assert TASK.options == {}
    task = make_task(Options(always_inline=False))
    assert task.options == {"always_inline": "False"}
    assert "step" in task.open(program("always_inline.c")).sites()


def test_ignoring_it_is_what_makes_files_seem_smaller() -> None:
    honoured = TASK.open(program("always_inline.c"))
    ignored = make_task(Options(always_inline=False)).open(program("always_inline.c"))
    assert ignored.measure("ir-instructions") < honoured.measure("ir-instructions")


def test_options_that_differ_are_named() -> None:
    assert make_task(Options(level="O3", cpu="x86-64-v3")).options == {"level": "O3", "cpu": "x86-64-v3"}
    assert make_task(Options(level="O3")).reference == "O3"
