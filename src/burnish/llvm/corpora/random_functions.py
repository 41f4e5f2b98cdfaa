"""Body of one random function, as LLVM IR: statements and values, always valid and never undefined.

Locals are allocas, as in the output of a front end, all initialized at entry. Indices are masked to the size
of their array, shift amounts to the width of their type. Divisors are positive, arithmetic wraps, and floats
are converted to integers only with saturation. Functions are short to run: the generator counts the steps of
calls and loops, and limits both by MOST_STEPS.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

MOST_STEPS = 20_000  # target: most instructions executed by one call of a function, including its callees
DEEPEST = 3  # levels of nested loops and branches
LANES = 4  # elements of a vector
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


def write_function(body: Body, statements: int) -> str:
    """Return the text of a function with `statements` top-level statements."""
    rng, signature = body.rng, body.signature
    for number, kind in enumerate(signature.parameters):
        _add_variable(body, kind, f"%p{number}")
    for kind in rng.sample(SCALARS, 3):
        _add_variable(body, kind, random_constant(rng, kind))
    if rng.random() < 0.5:
        _add_array(body)
    for _ in range(statements):
        _statement(body)
    result = _value(body, signature.result)
    body.do(f"ret {signature.result} {result}")
    text = "\n".join(["entry:", *body.entry, *body.lines])
    words = [f"{kind} %p{number}" for number, kind in enumerate(signature.parameters)]
    parameters = ", ".join(words + (["ptr %array"] if signature.array else []))
    return f"define internal {signature.result} @{signature.name}({parameters}) #0 {{\n{text}\n}}\n"


def _statement(body: Body) -> None:
    kinds: list[tuple[int, Callable[[Body], None]]] = [(8, _assign), (5, _store), (2, _vector), (4, _call)]
    if body.depth < DEEPEST:
        kinds += [(3, _branch), (3, _loop), (1, _switch), (1, _search)]
    (statement,) = body.rng.choices([kind for _, kind in kinds], [weight for weight, _ in kinds])
    statement(body)


def _block(body: Body) -> None:
    """Write some statements one level deeper."""
    body.depth += 1
    for _ in range(body.rng.randint(1, 3)):
        _statement(body)
    body.depth -= 1


def _assign(body: Body) -> None:
    name, kind = body.rng.choice(body.variables)
    body.do(f"store {kind} {_value(body, kind, 3)}, ptr {name}")


def _store(body: Body) -> None:
    array = body.rng.choice(body.arrays)
    value = _value(body, array.element)
    body.do(f"store {array.element} {value}, ptr {_address(body, array, array.length - 1)}")


def _vector(body: Body) -> None:
    """Combine four adjacent elements from each of two addresses; store the vector or its sum."""
    arrays = [array for array in body.arrays if array.element in ("i32", "double")]
    if not arrays:
        return _assign(body)
    array = body.rng.choice(arrays)
    kind, mask = f"<{LANES} x {array.element}>", array.length - LANES
    align = 4 if array.element == "i32" else 8
    one, other = _address(body, array, mask), _address(body, array, mask)
    left = body.emit(f"load {kind}, ptr {one}, align {align}")
    right = body.emit(f"load {kind}, ptr {other}, align {align}")
    whole = array.element == "i32"
    operation = body.rng.choice(("add", "mul", "xor", "sub") if whole else ("fadd", "fmul", "fsub"))
    value = body.emit(f"{operation} {kind} {left}, {right}")
    if body.rng.random() < 0.5:
        order = ", ".join(f"i32 {lane}" for lane in body.rng.sample(range(2 * LANES), LANES))
        value = body.emit(f"shufflevector {kind} {value}, {kind} {left}, <{LANES} x i32> <{order}>")
    if whole and body.rng.random() < 0.4:
        total = body.emit(f"call i32 @llvm.vector.reduce.add.v{LANES}i32({kind} {value})")
        _add_variable(body, "i32", "0")
        body.do(f"store i32 {total}, ptr {body.variables[-1][0]}")
    else:
        body.do(f"store {kind} {value}, ptr {one}, align {align}")
    return None


def _branch(body: Body) -> None:
    yes, no, end = body.new("then"), body.new("else"), body.new("end")
    otherwise = body.rng.random() < 0.6
    body.do(f"br i1 {_condition(body, 2)}, label {yes}, label {no if otherwise else end}")
    for name in (yes, no) if otherwise else (yes,):
        body.label(name)
        _block(body)
        body.do(f"br label {end}")
    body.label(end)


def _switch(body: Body) -> None:
    value, end = _value(body, "i32"), body.new("end")
    cases = [body.new("case") for _ in range(body.rng.randint(2, 6))]
    chosen = body.emit(f"and i32 {value}, 7")
    numbers = body.rng.sample(range(8), len(cases) - 1)
    table = " ".join(f"i32 {number}, label {case}" for number, case in zip(numbers, cases[1:], strict=True))
    body.do(f"switch i32 {chosen}, label {cases[0]} [ {table} ]")
    for case in cases:
        body.label(case)
        _assign(body)
        if body.rng.random() < 0.3 and case != cases[-1]:  # fall through
            body.do(f"br label {cases[cases.index(case) + 1]}")
        else:
            body.do(f"br label {end}")
    body.label(end)


def _loop(body: Body) -> None:
    """Write a counted loop whose counter is a phi."""
    wanted = body.rng.choice((2, 3, 4, 7, 8, 16, 33))
    trips = max(1, min(wanted, (MOST_STEPS - body.steps) // (64 * body.times)))
    head, inside, latch, end = (body.new(word) for word in ("head", "body", "latch", "exit"))
    counter, step = body.new("i"), body.new("next")
    count = str(trips)
    if body.rng.random() < 0.5:  # a trip count known only at run time
        bits = body.emit(f"and i64 {_value(body, 'i64', 1)}, {trips}")
        count = body.emit(f"add i64 {bits}, 1")
        trips += 1
    before = body.block
    body.do(f"br label {head}")
    body.label(head)
    body.do(f"{counter} = phi i64 [ 0, %{before} ], [ {step}, {latch} ]")
    body.do(f"br i1 {body.emit(f'icmp slt i64 {counter}, {count}')}, label {inside}, label {end}")
    body.label(inside)
    body.times *= trips + 1
    body.read_only.append((counter, "i64"))
    _block(body)
    body.do(f"br label {latch}")
    body.label(latch)
    body.do(f"{step} = add i64 {counter}, 1")
    body.do(f"br label {head}")
    body.read_only.pop()
    body.times //= trips + 1
    body.label(end)


def _search(body: Body) -> None:
    """Write a loop over an array that ends early at an element above a value."""
    array = body.rng.choice(body.arrays)
    if array.element not in INTEGERS:
        return _loop(body)
    head, inside, latch, end = (body.new(word) for word in ("head", "body", "latch", "exit"))
    counter, step, kind = body.new("i"), body.new("next"), array.element
    wanted = _value(body, kind)
    before = body.block
    body.do(f"br label {head}")
    body.label(head)
    body.do(f"{counter} = phi i64 [ 0, %{before} ], [ {step}, {latch} ]")
    body.do(f"br i1 {body.emit(f'icmp ult i64 {counter}, {array.length}')}, label {inside}, label {end}")
    body.label(inside)
    body.steps += 8 * body.times * array.length
    pointer = body.emit(f"getelementptr inbounds {kind}, ptr {array.pointer}, i64 {counter}")
    found = body.emit(f"icmp ugt {kind} {body.emit(f'load {kind}, ptr {pointer}')}, {wanted}")
    body.do(f"br i1 {found}, label {end}, label {latch}")
    body.label(latch)
    body.do(f"{step} = add nuw nsw i64 {counter}, 1")
    body.do(f"br label {head}")
    body.label(end)
    where = body.emit(f"phi i64 [ {counter}, %{head[1:]} ], [ {counter}, %{inside[1:]} ]")
    _add_variable(body, "i64", "0")
    body.do(f"store i64 {where}, ptr {body.variables[-1][0]}")
    return None


def _call(body: Body) -> None:
    left = MOST_STEPS - body.steps
    callees = [callee for callee in body.callees if callee.steps * body.times < left]
    arrays = {(array.element, array.length): array for array in body.arrays}
    callees = [one for one in callees if one.array is None or (one.array.element, one.array.length) in arrays]
    if not callees:
        return _assign(body)
    callee = body.rng.choice(callees)
    words = [f"{kind} {_value(body, kind, 1)}" for kind in callee.parameters]
    if callee.array:
        words.append(f"ptr {arrays[callee.array.element, callee.array.length].pointer}")
    value = body.emit(f"call {callee.result} @{callee.name}({', '.join(words)})")
    body.steps += callee.steps * body.times
    _add_variable(body, callee.result, random_constant(body.rng, callee.result))
    body.do(f"store {callee.result} {value}, ptr {body.variables[-1][0]}")
    return None


def _add_variable(body: Body, kind: str, value: str) -> None:
    """Add a local of a type, with its first value."""
    name = body.new("local")
    body.entry += [f"  {name} = alloca {kind}", f"  store {kind} {value}, ptr {name}"]
    body.variables.append((name, kind))


def _add_array(body: Body) -> None:
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


def _value(body: Body, kind: str, deep: int = 2) -> str:
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
        condition = _condition(body, deep - 1)
        one, other = _value(body, kind, deep - 1), _value(body, kind, deep - 1)
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
    left, right = _value(body, kind, deep), _value(body, kind, deep)
    if operation in ("shl", "lshr", "ashr"):
        right = body.emit(f"and {kind} {right}, {int(kind[1:]) - 1}")
    if operation == "div":
        operation = body.rng.choice(("udiv", "urem", "sdiv", "srem"))
        small = body.emit(f"and {kind} {right}, 126")
        right = body.emit(f"or {kind} {small}, 1")  # 1 ... 127: neither zero nor -1
    return body.emit(f"{operation} {kind} {left}, {right}")


def _converted(body: Body, kind: str, deep: int) -> str:
    other = body.rng.choice([name for name in SCALARS if name != kind])
    value = _value(body, other, deep)
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
    words = [f"{kind} {_value(body, kind, deep)}" for _ in range(count)]
    words += ["i1 false"] if name in ("abs", "ctlz") else []
    return body.emit(f"call {kind} @llvm.{name}.{kind}({', '.join(words)})")


def _float_value(body: Body, kind: str, deep: int) -> str:
    choice = body.rng.random()
    if choice < 0.55:
        operation = body.rng.choice(("fadd", "fsub", "fmul", "fdiv"))
        return body.emit(f"{operation} {kind} {_value(body, kind, deep)}, {_value(body, kind, deep)}")
    if choice < 0.7:
        integer = body.rng.choice(INTEGERS)
        return body.emit(f"sitofp {integer} {_value(body, integer, deep)} to {kind}")
    if choice < 0.8:
        if kind == "double":
            return body.emit(f"fpext float {_value(body, 'float', deep)} to double")
        return body.emit(f"fptrunc double {_value(body, 'double', deep)} to float")
    if choice < 0.9:
        name = body.rng.choice(("fabs", "sqrt"))
        return body.emit(f"call {kind} @llvm.{name}.{_suffix(kind)}({kind} {_value(body, kind, deep)})")
    return _element(body, kind)


def _condition(body: Body, deep: int) -> str:
    """Write a comparison of two values, and return the name of its i1."""
    if body.rng.random() < 0.2:
        predicate = body.rng.choice(("olt", "oge", "une", "oeq", "ult"))
        kind = body.rng.choice(("double", "float"))
        return body.emit(f"fcmp {predicate} {kind} {_value(body, kind, deep)}, {_value(body, kind, deep)}")
    kind = body.rng.choice(INTEGERS)
    predicate = body.rng.choice(("eq", "ne", "slt", "sgt", "ule", "uge"))
    return body.emit(f"icmp {predicate} {kind} {_value(body, kind, deep)}, {_value(body, kind, deep)}")


def _suffix(kind: str) -> str:
    return "f64" if kind == "double" else "f32"


def _address(body: Body, array: Array, mask: int) -> str:
    """Write the address of an array's element at a random, masked index, and return its name."""
    index = body.emit(f"and i64 {_value(body, 'i64', 1)}, {mask}")
    kind = f"[{array.length} x {array.element}]"
    return body.emit(f"getelementptr inbounds {kind}, ptr {array.pointer}, i64 0, i64 {index}")


def _element(body: Body, kind: str) -> str:
    arrays = [array for array in body.arrays if array.element == kind]
    if not arrays:
        return _leaf(body, kind)
    array = body.rng.choice(arrays)
    return body.emit(f"load {kind}, ptr {_address(body, array, array.length - 1)}")
