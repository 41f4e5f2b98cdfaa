"""Values of one random function, as LLVM IR: locals, operands, conditions and addresses, never undefined.

Locals are allocas, as in the output of a front end, all initialized at entry. Indices are masked to the size
of their array, shift amounts to the width of their type. Divisors are positive, arithmetic wraps, and floats
are converted to integers only with saturation.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

INTEGERS = ("i8", "i16", "i32", "i64")
SCALARS = (*INTEGERS, "double", "float")


@dataclass(frozen=True)
class Array:
    """Memory that a function may use: `length` elements from `pointer` on; `length` is a power of two."""

    pointer: str
    element: str
    length: int


@dataclass(frozen=True)
class Signature:
    """A function that other functions may call."""

    name: str
    result: str
    parameters: tuple[str, ...]  # scalars
    array: Array | None  # the last parameter points to an array of this type and length
    steps: int = 1  # most instructions executed by one call

    @property
    def type_text(self) -> str:
        """Return the parameters as in the definition."""
        words = [f"{kind} %p{number}" for number, kind in enumerate(self.parameters)]
        return ", ".join(words + (["ptr %array"] if self.array else []))


@dataclass
class Body:
    """A function under construction."""

    rng: random.Random
    signature: Signature
    arrays: list[Array]
    callees: Sequence[Signature]
    lines: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)  # allocas and their first values
    variables: list[tuple[str, str]] = field(default_factory=list)  # pointer and type
    read_only: list[tuple[str, str]] = field(default_factory=list)  # counters of the enclosing loops
    names: int = 0
    block: str = "entry"
    depth: int = 0
    times: int = 1  # most executions of the current block in one call
    steps: int = 0

    def new(self, word: str = "v") -> str:
        """Return an unused name."""
        self.names += 1
        return f"%{word}{self.names}"

    def emit(self, text: str) -> str:
        """Add an instruction with a result, and return the result's name."""
        name = self.new()
        self.lines.append(f"  {name} = {text}")
        self.steps += self.times
        return name

    def do(self, text: str) -> None:
        """Add an instruction without a result."""
        self.lines.append(f"  {text}")
        self.steps += self.times

    def label(self, name: str) -> None:
        """Begin a block."""
        self.block = name[1:]
        self.lines.append(f"{self.block}:")


def add_variable(body: Body, kind: str, value: str) -> None:
    """Add a local of a type, with its first value."""
    name = body.new("local")
    body.entry += [f"  {name} = alloca {kind}", f"  store {kind} {value}, ptr {name}"]
    body.variables.append((name, kind))


def add_array(body: Body) -> None:
    """Add a local array, filled with one byte."""
    element, length = body.rng.choice(("i32", "i64", "double")), body.rng.choice((8, 16, 32))
    name = body.new("memory")
    size = length * (4 if element == "i32" else 8)
    fill = f"ptr align 16 {name}, i8 {body.rng.randint(0, 63)}, i64 {size}, i1 false"
    body.entry.append(f"  {name} = alloca [{length} x {element}], align 16")
    body.entry.append(f"  call void @llvm.memset.p0.i64({fill})")
    body.arrays.append(Array(name, element, length))


def random_constant(rng: random.Random, kind: str) -> str:
    """Return a constant of a type; about 70 % of the integers are at most 16 in magnitude."""
    if kind in ("double", "float"):
        return f"{rng.randint(-64, 64) / 8:.6e}"
    bits = int(kind[1:])
    small = rng.random() < 0.7
    return str(rng.randint(-16, 16) if small else rng.randint(-(1 << bits - 1), (1 << bits - 1) - 1))


def write_value(body: Body, kind: str, deep: int = 2) -> str:
    """Write instructions that compute a value of a type, and return the value's name."""
    rng = body.rng
    if deep == 0 or rng.random() < 0.15:
        return _leaf(body, kind)
    if kind in ("double", "float"):
        return _float_value(body, kind, deep - 1)
    choice = rng.random()
    if choice < 0.5:
        return _arithmetic(body, kind, deep - 1)
    if choice < 0.62:
        return _converted(body, kind, deep - 1)
    if choice < 0.75:
        condition = write_condition(body, deep - 1)
        one, other = write_value(body, kind, deep - 1), write_value(body, kind, deep - 1)
        return body.emit(f"select i1 {condition}, {kind} {one}, {kind} {other}")
    if choice < 0.85:
        return _intrinsic(body, kind, deep - 1)
    return _element(body, kind)


def _leaf(body: Body, kind: str) -> str:
    known = [name for name, other in body.read_only if other == kind]
    if known and body.rng.random() < 0.4:
        return body.rng.choice(known)
    variables = [name for name, other in body.variables if other == kind]
    if variables and body.rng.random() < 0.8:
        return body.emit(f"load {kind}, ptr {body.rng.choice(variables)}")
    return random_constant(body.rng, kind)


def _arithmetic(body: Body, kind: str, deep: int) -> str:
    operation = body.rng.choice(("add", "sub", "mul", "and", "or", "xor", "shl", "lshr", "ashr", "div"))
    left, right = write_value(body, kind, deep), write_value(body, kind, deep)
    if operation in ("shl", "lshr", "ashr"):
        right = body.emit(f"and {kind} {right}, {int(kind[1:]) - 1}")
    if operation == "div":
        operation = body.rng.choice(("udiv", "urem", "sdiv", "srem"))
        small = body.emit(f"and {kind} {right}, 126")
        right = body.emit(f"or {kind} {small}, 1")  # 1 ... 127: neither zero nor -1
    return body.emit(f"{operation} {kind} {left}, {right}")


def _converted(body: Body, kind: str, deep: int) -> str:
    other = body.rng.choice([name for name in SCALARS if name != kind])
    value = write_value(body, other, deep)
    if other in ("double", "float"):
        return body.emit(f"call {kind} @llvm.fptosi.sat.{kind}.{_suffix(other)}({other} {value})")
    if int(other[1:]) > int(kind[1:]):
        return body.emit(f"trunc {other} {value} to {kind}")
    return body.emit(f"{body.rng.choice(('zext', 'sext'))} {other} {value} to {kind}")


def _intrinsic(body: Body, kind: str, deep: int) -> str:
    name = body.rng.choice(
        ("umin", "umax", "smin", "smax", "ctpop", "fshl", "abs", "ctlz", "uadd.sat", "bswap")
    )
    if name == "bswap" and kind == "i8":
        name = "ctpop"
    count = {"ctpop": 1, "abs": 1, "ctlz": 1, "bswap": 1, "fshl": 3}.get(name, 2)
    words = [f"{kind} {write_value(body, kind, deep)}" for _ in range(count)]
    words += ["i1 false"] if name in ("abs", "ctlz") else []
    return body.emit(f"call {kind} @llvm.{name}.{kind}({', '.join(words)})")


def _float_value(body: Body, kind: str, deep: int) -> str:
    choice = body.rng.random()
    if choice < 0.55:
        operation = body.rng.choice(("fadd", "fsub", "fmul", "fdiv"))
        return body.emit(
            f"{operation} {kind} {write_value(body, kind, deep)}, {write_value(body, kind, deep)}"
        )
    if choice < 0.7:
        integer = body.rng.choice(INTEGERS)
        return body.emit(f"sitofp {integer} {write_value(body, integer, deep)} to {kind}")
    if choice < 0.8:
        if kind == "double":
            return body.emit(f"fpext float {write_value(body, 'float', deep)} to double")
        return body.emit(f"fptrunc double {write_value(body, 'double', deep)} to float")
    if choice < 0.9:
        name = body.rng.choice(("fabs", "sqrt"))
        return body.emit(f"call {kind} @llvm.{name}.{_suffix(kind)}({kind} {write_value(body, kind, deep)})")
    return _element(body, kind)


def write_condition(body: Body, deep: int) -> str:
    """Write a comparison of two values, and return the name of its i1."""
    if body.rng.random() < 0.2:
        predicate = body.rng.choice(("olt", "oge", "une", "oeq", "ult"))
        kind = body.rng.choice(("double", "float"))
        return body.emit(
            f"fcmp {predicate} {kind} {write_value(body, kind, deep)}, {write_value(body, kind, deep)}"
        )
    kind = body.rng.choice(INTEGERS)
    predicate = body.rng.choice(("eq", "ne", "slt", "sgt", "ule", "uge"))
    return body.emit(
        f"icmp {predicate} {kind} {write_value(body, kind, deep)}, {write_value(body, kind, deep)}"
    )


def _suffix(kind: str) -> str:
    return "f64" if kind == "double" else "f32"


def write_address(body: Body, array: Array, mask: int) -> str:
    """Write the address of an array's element at a random, masked index, and return its name."""
    index = body.emit(f"and i64 {write_value(body, 'i64', 1)}, {mask}")
    kind = f"[{array.length} x {array.element}]"
    return body.emit(f"getelementptr inbounds {kind}, ptr {array.pointer}, i64 0, i64 {index}")


def _element(body: Body, kind: str) -> str:
    arrays = [array for array in body.arrays if array.element == kind]
    if not arrays:
        return _leaf(body, kind)
    array = body.rng.choice(arrays)
    return body.emit(f"load {kind}, ptr {write_address(body, array, array.length - 1)}")
