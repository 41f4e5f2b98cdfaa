"""Small modules whose code is known."""

from __future__ import annotations

from burnish.core.program import Program

# `sum` has a loop that strength reduction changes; `copy` one load and one store; `many` more values alive
# than there are registers.
_VALUES = 24
_LOADS = "".join(
    f"  %a{i} = getelementptr i64, ptr %p, i64 {i}\n  %v{i} = load volatile i64, ptr %a{i}\n"
    for i in range(_VALUES)
)
_SUMS = "  %s0 = add i64 %v0, 7\n" + "".join(
    f"  %s{i} = mul i64 %s{i - 1}, %v{i}\n" for i in range(1, _VALUES)
)
_STORES = "  store volatile i64 %s23, ptr %q\n" + "".join(
    f"  store volatile i64 %v{i}, ptr %q\n" for i in range(_VALUES)
)
TEXT = f"""
target triple = "x86_64-unknown-linux-gnu"

define i64 @sum(ptr %p, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %s = phi i64 [ 0, %entry ], [ %t, %loop ]
  %j = mul i64 %i, 24
  %a = getelementptr i8, ptr %p, i64 %j
  %v = load i64, ptr %a
  %b = getelementptr i8, ptr %a, i64 8
  %w = load i64, ptr %b
  %u = add i64 %v, %w
  %t = add i64 %s, %u
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 %t
}}

define void @copy(ptr %p, ptr %q) {{
  %v = load i64, ptr %p
  store i64 %v, ptr %q
  ret void
}}

define void @many(ptr %p, ptr %q) {{
{_LOADS}{_SUMS}{_STORES}  ret void
}}
"""
LOOP = TEXT[: TEXT.index("define void @many")]


def module(text: str = TEXT, name: str = "small") -> Program:
    """Return a program of LLVM IR."""
    return Program(name, "llvm", text.encode())
