"""What becomes functions, and what that costs those that call them."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.llvm.programs import load_program
from burnish.tasks.llvm_codegen.generations import GeneratedCode
from burnish.tasks.llvm_codegen.session import open_program
from tests.tasks.llvm_codegen.modules import module

STORES = "".join(f"  store volatile i64 {1000003 * (i + 1)}, ptr %p\n" for i in range(12))
LOOP = f"""
define void @NAME(ptr %p, i64 %n) minsize optsize {{
entry:
  br label %again
again:
  %i = phi i64 [ 0, %entry ], [ %next, %again ]
{STORES}  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %again, label %done
done:
{STORES}  ret void
}}
"""
TEXT = f"""
target triple = "x86_64-unknown-linux-gnu"
define void @once(ptr %p) minsize optsize {{
{STORES}  ret void
}}
{LOOP.replace("NAME", "loop")}{LOOP.replace("NAME", "other")}
"""
CALL = 12  # call, return, and ten instructions more
FUNCTIONS = ("once", "loop", "other")


def outlined(*actions: str) -> tuple[GeneratedCode, float]:
    """Return the code and the slowdown."""
    session = open_program(module(TEXT))
    for action in actions:
        session.apply(session.index(action))
    return session.generation(), session.measure("slowdown")


def test_what_is_outlined_is_executed_and_called() -> None:
    plain, found = outlined()[0], outlined("outline")[0]
    assert {*dict(found.sizes.functions)} == {*FUNCTIONS, "OUTLINED_FUNCTION_0"}
    assert found.executed["once"] - plain.executed["once"] in (0, CALL)  # 0: its end, which is a jump
    for name in ("loop", "other"):
        assert found.executed[name] > 1.5 * plain.executed[name]


def test_seldom_is_what_functions_spend_little_time_in() -> None:
    (plain, _), (found, slowdown) = outlined(), outlined("outline(seldom)")
    assert found.executed["once"] == plain.executed["once"]
    for name in ("loop", "other"):
        assert found.executed[name] <= plain.executed[name] + CALL
    before, after = (sum(dict(one.sizes.functions).values()) for one in (plain, found))
    assert after < before
    assert slowdown < 1.05 < outlined("outline")[1]


def test_outlined_code_is_part_of_its_callers(tmp_path: Path) -> None:
    """Otherwise outlining the call of a recursive function would look like the end of a recursion."""
    step = "use(walk(p, 1111111, 2222222, 3333333));"
    callers = "".join(f"int {name}(int *p, int r) {{ {step} return r; }}\n" for name in ("first", "second"))
    (tmp_path / "walk.c").write_text(f"""
    void use(int);
    __attribute__((noinline)) int walk(int *p, int a, int b, int c) {{
      int r = p[9];
      for (int i = 0; i < 100; i++) r += p[i] * p[i + 3] + a * b - c;
      if (r > 3) {step}
      return r;
    }}
    {callers}""")
    session = open_program(load_program(tmp_path / "walk.c", ("--target=aarch64-linux-gnu",)))
    outlined = session.generation()
    assert "OUTLINED_FUNCTION_0" in dict(outlined.sizes.functions)
    session.apply(session.index("skip(machine-outliner)"))
    before, after = session.generation().call_costs, outlined.call_costs
    assert [*after.bodies] == [*before.bodies] == ["walk", "first", "second"]
    for name, body in before.bodies.items():
        assert after.bodies[name].own == pytest.approx(body.own, abs=2)
        assert after.bodies[name].calls == pytest.approx(body.calls)
        assert after.of_call[name] == pytest.approx(before.of_call[name], abs=5)
        assert after.stacks[name] == before.stacks[name]


@pytest.mark.parametrize("last", ["outline", "outline(seldom)"])
def test_the_last_one_counts(last: str) -> None:
    assert outlined("outline(seldom)", "outline", last)[0].code == outlined(last)[0].code


# The first four stores are the same in three functions.
SAME = """define void @NAME(ptr %p) minsize optsize nounwind uwtable {
CALL  store volatile i64 1000003, ptr %p
  store volatile i64 2000006, ptr %p
  store volatile i64 3000009, ptr %p
  store volatile i64 4000012, ptr %p
  store volatile i64 NUMBER, ptr %p
  ret void
}
"""
TABLES = "\ndeclare void @g(ptr)\n" + "".join(
    SAME.replace("NAME", name).replace("CALL", "").replace("NUMBER", str(number))
    for number, name in enumerate(("one", "two", "three"))
)


@pytest.mark.parametrize(
    "triple", ["aarch64-unknown-linux-gnu", "riscv64-unknown-linux-gnu", "x86_64-pc-linux"]
)
def test_what_is_never_on_the_stack_in_a_call_needs_no_unwind_table(triple: str) -> None:
    session = open_program(module(f'target triple = "{triple}"\n{TABLES}'))
    before, by_default = session.sizes(), not triple.startswith("x86")
    session.apply(session.index("outline"))
    after = session.sizes()
    made = [name for name in dict(after.functions) if name.startswith("OUTLINED_FUNCTION_")]
    assert made
    loaded, code = dict(after.functions_loaded), dict(after.functions)
    assert all(loaded[name] == code[name] for name in made)
    assert all(loaded[name] > code[name] for name in ("one", "two", "three"))
    if by_default:  # the outliner runs anyway
        assert code == dict(before.functions)
        assert all(dict(before.functions_loaded)[name] > code[name] for name in made)


def test_what_calls_keeps_its_unwind_table() -> None:
    """LLVM outlines a call in the midst of other instructions if it knows that the callee needs no stack."""
    without_calls = SAME.replace("CALL", "")
    called = without_calls.replace("NAME", "g").replace("NUMBER", "9").replace("minsize", "minsize noinline")
    second = "  store volatile i64 2"
    stores = without_calls.replace(second, f"  call void @g(ptr %p)\n{second}")
    calling = "".join(
        stores.replace("NAME", name).replace("NUMBER", str(number))
        for number, name in enumerate(("one", "two", "three"))
    )
    session = open_program(module(f'target triple = "aarch64-unknown-linux-gnu"\n{called}{calling}'))
    session.apply(session.index("outline"))
    loaded, code = dict(session.sizes().functions_loaded), dict(session.sizes().functions)
    made = [name for name in code if name.startswith("OUTLINED_FUNCTION_")]
    assert any(loaded[name] > code[name] for name in made)
