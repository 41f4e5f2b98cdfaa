"""Functions apart from their module: they cost what their share of it is, and change as it does."""

from __future__ import annotations

import pytest

from burnish import _native
from burnish.core.program import Program
from burnish.core.session import Part, Session
from burnish.llvm.modules.origin import CallCosts
from burnish.llvm.modules.session import ModuleSession
from burnish.llvm.programs import load_program
from burnish.tasks.llvm_passes import TASK
from tests.sources import C_FILES, DATA, FILES, program

LIMITED = "loaded-bytes while slowdown<=1.05"
TAIL = ("function-simplification<O2>", "sink", "simplifycfg<hoist-common-insts;sink-common-insts>")

LOCAL = b"""
target triple = "x86_64-unknown-linux-gnu"
@own = private unnamed_addr constant [4 x i32] [i32 5, i32 7, i32 9, i32 4]
@shared = private unnamed_addr constant [4 x i32] [i32 1, i32 2, i32 8, i32 4]
@state = internal global i32 0
@labels = internal constant [2 x ptr] [ptr blockaddress(@index, %a), ptr blockaddress(@index, %b)]
define internal fastcc i32 @strlen(i32 %i) minsize optsize noinline {
  %p = getelementptr [4 x i32], ptr @shared, i32 0, i32 %i
  %v = load i32, ptr %p
  store i32 %v, ptr @state
  ret i32 %v
}
define i32 @user(i32 %i) minsize optsize {
  %p = getelementptr [4 x i32], ptr @own, i32 0, i32 %i
  %q = getelementptr [4 x i32], ptr @shared, i32 0, i32 %i
  %v = load i32, ptr %p
  %w = load i32, ptr %q
  %s = load i32, ptr @state
  %x = call fastcc i32 @strlen(i32 %s)
  %y = add i32 %v, %w
  %z = add i32 %x, %y
  ret i32 %z
}
define ptr @index(i32 %i) minsize optsize {
  %p = getelementptr [2 x ptr], ptr @labels, i32 0, i32 %i
  %t = load ptr, ptr %p
  indirectbr ptr %t, [label %a, label %b]
a:
  ret ptr null
b:
  ret ptr @state
}
define ptr @other() minsize optsize {
  ret ptr @labels
}
!llvm.module.flags = !{!0}
!0 = !{i32 8, !"PIC Level", i32 2}
"""


def opened(name: str) -> Session:
    session = TASK.open(program(name))
    session.replay(("clang<Oz>",))
    return session


def part_of(session: Session, site: str) -> tuple[Part, Session]:
    part = session.part(site, LIMITED)
    assert part
    return part, part.open(part.program)


@pytest.mark.parametrize("objective", ["loaded-bytes", "text-bytes", "ir-instructions", "slowdown", LIMITED])
@pytest.mark.parametrize("name", C_FILES)
def test_part_costs_what_its_share_is(name: str, objective: str) -> None:
    session = opened(name)
    shares = session.site_costs(objective)
    assert shares
    for site, share in shares.items():
        part, alone = part_of(session, site)
        assert alone.sites() == (site,)
        assert alone.measure(objective, part.site) == pytest.approx(share)


def test_a_part_that_takes_no_time_any_more_is_compared_with_itself() -> None:
    session = TASK.open(Program("a.ll", "llvm", b"define void @f() minsize optsize { ret void }"))
    assert isinstance(session, ModuleSession)
    did_more = CallCosts({"f": 8.0}, frozenset(), {}, {})
    session.origin.reference_calls = did_more
    assert session.costs("slowdown") == {"f": 1 / 8}
    part, alone = part_of(session, "f")
    assert alone.measure(LIMITED, part.site) == alone.measure("loaded-bytes", part.site) > 0


@pytest.mark.parametrize("name", FILES)
def test_what_a_part_gains_is_what_the_whole_gains(name: str) -> None:
    session = opened(name)
    whole, before = session.fork(), session.measure("loaded-bytes")
    gain = 0.0
    for site in session.sites():
        _, alone = part_of(session, site)
        begin = alone.measure("loaded-bytes", site)
        for text in TAIL:
            alone.apply(alone.index(text), site)
            whole.apply(whole.index(text), site)
        gain += begin - alone.measure("loaded-bytes", site)
    assert before - whole.measure("loaded-bytes") == pytest.approx(gain, abs=16)  # sections are aligned


def test_part_of_a_slower_state_counts_from_the_reference() -> None:
    source = program("matrix.c")
    session = TASK.open(source)  # unoptimized
    ratios = session.site_costs("slowdown")
    assert max(ratios.values()) > 1.5
    for site, ratio in ratios.items():
        _, alone = part_of(session, site)
        assert alone.measure("slowdown", site) == pytest.approx(ratio)


def test_part_keeps_how_it_is_compiled() -> None:
    module = _native.Module(LOCAL)
    text = _native.Module(module.part_bitcode("user")).print()
    assert "@own = private unnamed_addr constant" in text
    assert "@shared = available_externally hidden unnamed_addr constant" in text
    assert "@state = external hidden global i32" in text
    assert "declare hidden fastcc i32 @strlen(i32)" in text
    assert "nobuiltin" in text  # or it would be the C library's
    assert "minsize" in text and '"PIC Level", i32 2' in text
    code = _native.Module(module.part_bitcode("user")).emit_object("Oz")
    assert b"_GLOBAL_OFFSET_TABLE_" not in code
    alone = _native.object_sizes(code).functions_loaded
    assert alone[0] in _native.object_sizes(module.emit_object("Oz")).functions_loaded


def test_part_has_its_own_labels_and_no_others() -> None:
    module = _native.Module(LOCAL)
    assert "blockaddress(@index" in _native.Module(module.part_bitcode("index")).print()
    assert "@labels = external hidden" in _native.Module(module.part_bitcode("other")).print()


def test_part_has_no_debug_information() -> None:
    loaded = load_program(DATA / "strings.c", level="Oz", arguments=["-g"])
    module = _native.Module(loaded.content)
    before = module.digest()
    for function in module.functions:
        assert "DISubprogram" not in _native.Module(module.part_bitcode(function)).print()
    assert module.digest() == before and "DISubprogram" in module.print()


def test_declaration_is_no_part() -> None:
    module = _native.Module(b"declare void @f()\n")
    for name in ("f", "g"):
        with pytest.raises(_native.PipelineError, match=f"no function '{name}' with a body"):
            module.part_bitcode(name)
