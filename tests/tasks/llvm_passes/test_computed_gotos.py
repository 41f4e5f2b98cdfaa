"""Computed gotos: fewer places of an interpreter's dispatch are slower, whatever else is expected."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.program import Program
from burnish.llvm.modules.objectives import ROOT, goto_losses
from burnish.llvm.modules.session import ModuleSession, open_baseline, open_session
from burnish.llvm.toolchain import compile_to_bitcode
from burnish.tasks.llvm_codegen.session import open_codegen
from tests.sources import program

OPERATIONS = 14
LABELS = ", ".join(f"&&do{i}" for i in range(OPERATIONS))
BODIES = "\n".join(
    f"do{i}: a = a * {2 * i + 3} + stack[{i}]; stack[a & 7] ^= a >> {i % 5 + 1}; goto *table[*code++];"
    for i in range(OPERATIONS)
)
INTERPRETER = f"""
long run(const unsigned char *code, long *stack) {{
  static void *table[] = {{{LABELS}, &&end}};
  long a = 0;
  goto *table[*code++];
  {BODIES}
end:
  return a;
}}
long plain(long x) {{ return x + 1; }}
"""
GOTO = "indirectbr ptr %next, [label %yes, label %no]"
SHARED = f"""
define void @f(i1 %c, i32 %a, i32 %b, ptr %p, ptr noalias %q) {{
  br i1 %c, label %yes, label %no
yes:
  store i32 %a, ptr %p
  store i32 2, ptr %q
  br label %end
no:
  store i32 %b, ptr %p
  store i32 2, ptr %q
  br label %end
end:
  %next = load ptr, ptr %q
  {GOTO}
}}
"""
PLACES = OPERATIONS + 1  # of each operation, and where it begins


@pytest.fixture
def interpreter(tmp_path: Path) -> ModuleSession:
    """An interpreter in the state that clang's passes lead to."""
    (tmp_path / "run.c").write_text(INTERPRETER)
    session = open_session(Program("run.c", "llvm", compile_to_bitcode(tmp_path / "run.c", ())))
    session.replay(["clang<Oz>"])
    return session


def test_half_of_the_places_is_6_percent() -> None:
    half = goto_losses({"run": 7, "more": 9, "new": 1}, {"run": 14, "more": 8, "gone": 3})
    assert half == {"run": pytest.approx(1.0595, abs=1e-4)}
    assert goto_losses({"run": 0}, {"run": 14}) == {}  # it goes on in another way


def test_each_operation_goes_on_from_a_place_of_its_own(interpreter: ModuleSession) -> None:
    assert interpreter.call_costs().gotos == {"run": PLACES} == interpreter.reference_calls().gotos
    assert interpreter.measure("slowdown") == 1
    assert open_session(program("matrix.c")).call_costs().gotos == {}


def test_a_baseline_is_its_own_measure(interpreter: ModuleSession) -> None:
    session = open_baseline(interpreter.origin.program, "Oz")
    assert session.reference_calls().gotos == {"run": PLACES} and session.measure("slowdown") == 1
    session.replay(["reg2mem"])
    assert session.measure("slowdown") == 1


def test_the_object_is_the_same_as_without_counting(interpreter: ModuleSession) -> None:
    assert interpreter.object_code() == interpreter.module.emit_object("Oz")


def test_one_function_of_many_is_enough(interpreter: ModuleSession) -> None:
    reference = replace(interpreter.reference_calls(), gotos={"run": 4 * PLACES})
    interpreter.origin.reference_calls = reference
    assert interpreter.measure("slowdown") == pytest.approx(4 ** (1 / ROOT))
    shares = interpreter.site_costs("slowdown")
    assert shares == {"run": pytest.approx(4 ** (1 / ROOT)), "plain": 1.0}
    goal = "loaded-bytes while slowdown<=1.05"
    assert interpreter.measure(goal) > 2 * interpreter.measure("loaded-bytes")


def test_no_other_function_makes_up_for_an_interpreter(interpreter: ModuleSession) -> None:
    reference = interpreter.reference_calls()
    before = dict(reference.of_call)
    faster = before | {"run": before["run"] / 1.2}
    interpreter.origin.reference_calls = replace(reference, of_call=faster)
    assert interpreter.measure("slowdown") == pytest.approx(1.2)
    faster = before | {"plain": before["plain"] / 1.2}
    interpreter.origin.reference_calls = replace(reference, of_call=faster)
    assert interpreter.measure("slowdown") == pytest.approx(((1 + 1.2**4) / 2) ** 0.25)


def test_sinking_leaves_what_comes_before_as_it_is() -> None:
    module = _native.Module(SHARED.encode(), "test")
    assert not module.run("function(sink-common)")
    assert _native.Module(SHARED.replace(GOTO, "ret void").encode(), "test").run("function(sink-common)")


def test_interpreters_are_not_outlined_where_it_may_be_often(interpreter: ModuleSession) -> None:
    session = open_codegen(interpreter)
    before = session.generation().executed["run"]
    session.apply(session.index("outline(seldom)"))
    assert session.generation().executed["run"] == before


def test_where_the_jump_stands_changes_no_expected_time(interpreter: ModuleSession) -> None:
    """With a jump behind each operation, the loop has as many ways in as there are operations."""
    session = open_codegen(interpreter)
    apart = session.generation().call_costs.of_call["run"]
    for skipped in ("skip(early-tailduplication)", "skip(tailduplication)"):
        session.apply(session.index(skipped), "run")
    assert 0.6 < session.generation().call_costs.of_call["run"] / apart < 1.6


def test_code_generation_has_the_same_limit(interpreter: ModuleSession) -> None:
    session = open_codegen(interpreter)
    assert session.measure("slowdown") == 1
    for skipped in ("skip(early-tailduplication)", "skip(tailduplication)"):
        session.apply(session.index(skipped), "run")
    (places,) = session.generation().call_costs.gotos.values()
    assert places < PLACES / 4
    lost = (PLACES / places) ** (1 / ROOT)
    assert session.measure("slowdown") >= lost and session.site_costs("slowdown")["run"] >= lost
