"""What becomes functions, and what that costs those that call them."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("last", ["outline", "outline(seldom)"])
def test_the_last_one_counts(last: str) -> None:
    assert outlined("outline(seldom)", "outline", last)[0].code == outlined(last)[0].code
