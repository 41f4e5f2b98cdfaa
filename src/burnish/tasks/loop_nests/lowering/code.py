"""LLVM IR as text: scalars, vectors, pointers, loops."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

INSTRUCTIONS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
INTRINSICS = {"max": "maximum", "min": "minimum"}

Term = tuple[str, int]
"""An index value, and its stride in elements."""


class Code:
    """Builds the text of a function.

    A width is the number of used lanes of a vector, or 1 for a scalar. Vectors always have all lanes.
    """

    def __init__(self, scalar: str, lanes: int) -> None:
        self.scalar, self.lanes = scalar, lanes
        self.suffix = "f32" if scalar == "float" else "f64"
        self.itemsize = 4 if scalar == "float" else 8
        self.lines: list[str] = []
        self.block = "entry"
        self.declared: dict[str, None] = {}
        self._count = 0

    def name(self, word: str) -> str:
        """Return an unused name."""
        self._count += 1
        return f"{word}.{self._count}"

    def emit(self, instruction: str) -> str:
        """Append an instruction and return its value."""
        value = f"%{self.name('v')}"
        self.lines.append(f"  {value} = {instruction}")
        return value

    # Values

    def type(self, width: int, scalar: str = "") -> str:
        """Return the type of values of a width."""
        return f"<{self.lanes} x {scalar or self.scalar}>" if width > 1 else scalar or self.scalar

    def constant(self, number: float, width: int) -> str:
        """Return a constant, written as the bits of a double: LLVM expects these for floats too."""
        if self.scalar == "float":
            (number,) = struct.unpack("<f", struct.pack("<f", number))
        text = f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
        return f"splat ({self.scalar} {text})" if width > 1 else text

    def integer(self, number: int, width: int) -> str:
        """Return an integer constant of the element's size."""
        kind = f"i{8 * self.itemsize}"
        return f"splat ({kind} {number})" if width > 1 else str(number)

    def splat(self, number: str) -> str:
        """Return a vector with a scalar in all lanes."""
        kind = self.type(2)
        first = self.emit(f"insertelement {kind} poison, {self.scalar} {number}, i64 0")
        return self.emit(f"shufflevector {kind} {first}, {kind} poison, <{self.lanes} x i32> zeroinitializer")

    def padded(self, vector: str, width: int, number: float) -> str:
        """Return a vector with a constant in the unused lanes."""
        if width == self.lanes:
            return vector
        kind = self.type(2)
        vector = vector if width > 1 else self.splat(vector)
        return self.emit(f"select {self._mask(width)}, {kind} {vector}, {kind} {self.constant(number, 2)}")

    def combined(self, operation: str, one: str, other: str, width: int) -> str:
        """Return + - * / max min of two values; max and min propagate NaN, as NumPy's do."""
        kind = self.type(width)
        if operation in INSTRUCTIONS:
            return self.emit(f"{INSTRUCTIONS[operation]} contract {kind} {one}, {other}")
        if not other.startswith("%"):
            return self._bounded(operation, other, one, width)
        if not one.startswith("%"):
            return self._bounded(operation, one, other, width)
        name = self._declare(INTRINSICS[operation], width, 2)
        return self.emit(f"call nsz {kind} @{name}({kind} {one}, {kind} {other})")

    def reduced(self, operation: str, vector: str) -> str:
        """Return the reduction of a vector's lanes."""
        kind, lanes = self.type(2), self.lanes
        while lanes > 1:
            lanes //= 2
            order = [i + lanes if i < lanes else -1 for i in range(self.lanes)]
            vector = self.combined(operation, vector, self.shuffled(vector, "poison", order), 2)
        return self.emit(f"extractelement {kind} {vector}, i64 0")

    def shuffled(self, one: str, other: str, order: Sequence[int]) -> str:
        """Return a vector of lanes of two vectors, by index; -1 for an undefined lane."""
        kind = self.type(2)
        lanes = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in order)
        return self.emit(f"shufflevector {kind} {one}, {kind} {other}, <{self.lanes} x i32> <{lanes}>")

    def intrinsic(self, name: str, values: Sequence[str], width: int) -> str:
        """Return the result of one of LLVM's intrinsic functions."""
        kind = self.type(width)
        full = self._declare(name, width, len(values))
        arguments = ", ".join(f"{kind} {value}" for value in values)
        return self.emit(f"call contract {kind} @{full}({arguments})")

    # Memory

    def moved(self, pointer: str, elements: int) -> str:
        """Return a pointer advanced by a number of elements."""
        if not elements:
            return pointer
        return self.emit(f"getelementptr inbounds {self.scalar}, ptr {pointer}, i64 {elements}")

    def pointer(self, base: str, terms: Sequence[Term], constant: int = 0) -> str:
        """Return a pointer advanced by terms ("" stands for 0) and a constant, in elements."""
        index = ""
        for value, step in terms:
            if not value:
                continue
            term = value if step == 1 else self.emit(f"mul nsw i64 {value}, {step}")
            index = self.emit(f"add nsw i64 {index}, {term}") if index else term
        if index:
            base = self.emit(f"getelementptr inbounds {self.scalar}, ptr {base}, i64 {index}")
        return self.moved(base, constant)

    def load(self, pointer: str, width: int, step: int) -> str:
        """Load a scalar, or a vector of elements at a stride of `step`: 0 loads one element to all lanes."""
        if width == 1 or step == 0:
            number = self.emit(f"load {self.scalar}, ptr {pointer}, align {self.itemsize}")
            return number if width == 1 else self.splat(number)
        kind = self.type(width)
        if step == 2 and width == self.lanes:
            return self._every_second(pointer)
        if step != 1:
            return self._gathered(pointer, width, step)
        if width == self.lanes:
            return self.emit(f"load {kind}, ptr {pointer}, align {self.itemsize}")
        name = f"llvm.masked.load.v{self.lanes}{self.suffix}.p0"
        self.declared[f"declare {kind} @{name}(ptr, <{self.lanes} x i1>, {kind})"] = None
        arguments = f"ptr align {self.itemsize} {pointer}, {self._mask(width)}, {kind} zeroinitializer"
        return self.emit(f"call {kind} @{name}({arguments})")

    def store(self, value: str, pointer: str, width: int, step: int = 1) -> None:
        """Store a scalar, or the used lanes of a vector, to elements at a stride of `step`."""
        kind = self.type(width)
        if width > 1 and step != 1:
            for lane in range(width):
                number = self.emit(f"extractelement {kind} {value}, i64 {lane}")
                self.store(number, self.moved(pointer, lane * step), 1)
            return
        if width in (1, self.lanes):
            self.lines.append(f"  store {kind} {value}, ptr {pointer}, align {self.itemsize}")
            return
        name = f"llvm.masked.store.v{self.lanes}{self.suffix}.p0"
        self.declared[f"declare void @{name}({kind}, ptr, <{self.lanes} x i1>)"] = None
        self.lines.append(
            f"  call void @{name}({kind} {value}, ptr align {self.itemsize} {pointer}, {self._mask(width)})"
        )

    # Loops

    def repeat(self, count: int, body: Callable[[str], None]) -> None:
        """Emit a loop; `body` takes the counter, or "" if there is only one iteration."""
        if count == 1:
            body("")
            return

        def one(value: str, _: list[str]) -> list[str]:
            body(value)
            return []

        self.carry(count, [], one)

    def carry(
        self, count: int, carried: Sequence[tuple[str, str]], body: Callable[[str, list[str]], list[str]]
    ) -> list[str]:
        """Emit a loop with carried values (pairs of type and initial value); return the final values."""
        head, end = self.name("loop"), self.name("end")
        before = self.block
        counter, following = self.name("i"), self.name("next")
        inside = [self.name("carried") for _ in carried]
        self.lines += [f"  br label %{head}", f"{head}:"]
        phis = len(self.lines)
        self.block = head
        results = body(f"%{counter}", [f"%{name}" for name in inside])
        self.lines[phis:phis] = [
            f"  %{counter} = phi i64 [ 0, %{before} ], [ %{following}, %{self.block} ]",
            *(
                f"  %{name} = phi {kind} [ {first}, %{before} ], [ {result}, %{self.block} ]"
                for name, (kind, first), result in zip(inside, carried, results, strict=True)
            ),
        ]
        condition = self.name("more")
        self.lines += [
            f"  %{following} = add nuw nsw i64 %{counter}, 1",
            f"  %{condition} = icmp ult i64 %{following}, {count}",
            f"  br i1 %{condition}, label %{head}, label %{end}",
            f"{end}:",
        ]
        self.block = end
        return results

    def _bounded(self, operation: str, bound: str, value: str, width: int) -> str:
        """Return max or min with a constant; NaN propagates: a comparison with NaN selects `value`."""
        kind, mask = self.type(width), self.type(width, "i1")
        order = "ogt" if operation == "max" else "olt"
        condition = self.emit(f"fcmp {order} {kind} {bound}, {value}")
        return self.emit(f"select {mask} {condition}, {kind} {bound}, {kind} {value}")

    def _every_second(self, pointer: str) -> str:
        """Load a vector of elements at a stride of 2, without a read beyond the last element."""
        kind, lanes = self.type(2), self.lanes
        first = self.emit(f"load {kind}, ptr {pointer}, align {self.itemsize}")
        second = self.emit(f"load {kind}, ptr {self.moved(pointer, lanes - 1)}, align {self.itemsize}")
        order = [2 * i if 2 * i < lanes else lanes + 2 * i - (lanes - 1) for i in range(lanes)]
        return self.shuffled(first, second, order)

    def _gathered(self, pointer: str, width: int, step: int) -> str:
        kind = self.type(width)
        vector = "poison" if width == self.lanes else "zeroinitializer"
        for lane in range(width):
            here = self.moved(pointer, lane * step)
            number = self.emit(f"load {self.scalar}, ptr {here}, align {self.itemsize}")
            vector = self.emit(f"insertelement {kind} {vector}, {self.scalar} {number}, i64 {lane}")
        return vector

    def _declare(self, name: str, width: int, arguments: int) -> str:
        kind = self.type(width)
        full = f"llvm.{name}.v{self.lanes}{self.suffix}" if width > 1 else f"llvm.{name}.{self.suffix}"
        self.declared[f"declare {kind} @{full}({', '.join([kind] * arguments)})"] = None
        return full

    def _mask(self, width: int) -> str:
        bits = ", ".join(f"i1 {int(lane < width)}" for lane in range(self.lanes))
        return f"<{self.lanes} x i1> <{bits}>"
