"""Small modules whose calls are known."""

from __future__ import annotations

from burnish.core.program import Program

# `small` is worth inlining by any measure, `large` by none; `twice` calls both, and `small` once more.
TEXT = """
declare void @use(i32)

define internal i32 @small(i32 %x) {
  %y = add i32 %x, 1
  ret i32 %y
}

define i32 @large(i32 %x, i1 %way) {
  br i1 %way, label %left, label %right
left:
  call void @use(i32 1)
  call void @use(i32 2)
  call void @use(i32 3)
  call void @use(i32 4)
  call void @use(i32 5)
  br label %right
right:
  call void @use(i32 %x)
  call void @use(i32 7)
  ret i32 %x
}

define i32 @twice(i32 %x, i1 %way) {
  %a = call i32 @small(i32 %x)
  %b = call i32 @large(i32 42, i1 %way)
  %c = call i32 @small(i32 %b)
  %d = mul i32 %a, %c
  ret i32 %d
}
"""
SMALL_1, LARGE, SMALL_2 = "twice > small #1", "twice > large #1", "twice > small #2"


def module(text: str = TEXT, name: str = "calls") -> Program:
    """Return a program of LLVM IR."""
    return Program(name, "llvm", text.encode())


def calls(text: str, callee: str) -> int:
    """Return how many calls of a function are in IR."""
    return sum(f"@{callee}(" in line and "call" in line for line in text.splitlines())
