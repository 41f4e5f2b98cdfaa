"""Body of one random function, as LLVM IR: statements and control flow, always valid and short to run.

The generator counts the steps of calls and loops, and limits both by MOST_STEPS.
"""

from __future__ import annotations

from collections.abc import Callable

from burnish.llvm.corpora.random_values import (
    INTEGERS,
    SCALARS,
    Body,
    add_array,
    add_variable,
    random_constant,
    write_address,
    write_condition,
    write_value,
)

MOST_STEPS = 20_000  # target: most instructions executed by one call of a function, including its callees
DEEPEST = 3  # levels of nested loops and branches
LANES = 4  # elements of a vector


def write_function(body: Body, statements: int) -> str:
    """Return the text of a function with `statements` top-level statements."""
    rng, signature = body.rng, body.signature
    for number, kind in enumerate(signature.parameters):
        add_variable(body, kind, f"%p{number}")
    for kind in rng.sample(SCALARS, 3):
        add_variable(body, kind, random_constant(rng, kind))
    if rng.random() < 0.5:
        add_array(body)
    for _ in range(statements):
        _statement(body)
    result = write_value(body, signature.result)
    body.do(f"ret {signature.result} {result}")
    text = "\n".join(["entry:", *body.entry, *body.lines])
    return f"define internal {signature.result} @{signature.name}({signature.type_text}) #0 {{\n{text}\n}}\n"


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
    body.do(f"store {kind} {write_value(body, kind, 3)}, ptr {name}")


def _store(body: Body) -> None:
    array = body.rng.choice(body.arrays)
    value = write_value(body, array.element)
    body.do(f"store {array.element} {value}, ptr {write_address(body, array, array.length - 1)}")


def _vector(body: Body) -> None:
    """Combine four adjacent elements from each of two addresses; store the vector or its sum."""
    arrays = [array for array in body.arrays if array.element in ("i32", "double")]
    if not arrays:
        return _assign(body)
    array = body.rng.choice(arrays)
    kind, mask = f"<{LANES} x {array.element}>", array.length - LANES
    align = 4 if array.element == "i32" else 8
    one, other = write_address(body, array, mask), write_address(body, array, mask)
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
        add_variable(body, "i32", "0")
        body.do(f"store i32 {total}, ptr {body.variables[-1][0]}")
    else:
        body.do(f"store {kind} {value}, ptr {one}, align {align}")
    return None


def _branch(body: Body) -> None:
    yes, no, end = body.new("then"), body.new("else"), body.new("end")
    otherwise = body.rng.random() < 0.6
    body.do(f"br i1 {write_condition(body, 2)}, label {yes}, label {no if otherwise else end}")
    for name in (yes, no) if otherwise else (yes,):
        body.label(name)
        _block(body)
        body.do(f"br label {end}")
    body.label(end)


def _switch(body: Body) -> None:
    value, end = write_value(body, "i32"), body.new("end")
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
    trips = _affordable(body, body.rng.choice((2, 3, 4, 7, 8, 16, 33)))
    head, inside, latch, end = (body.new(word) for word in ("head", "body", "latch", "exit"))
    counter, step = body.new("i"), body.new("next")
    count = str(trips)
    if body.rng.random() < 0.5:  # a trip count known only at run time
        bits = body.emit(f"and i64 {write_value(body, 'i64', 1)}, {trips}")
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
    wanted = write_value(body, kind)
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
    add_variable(body, "i64", "0")
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
    words = [f"{kind} {write_value(body, kind, 1)}" for kind in callee.parameters]
    if callee.array:
        words.append(f"ptr {arrays[callee.array.element, callee.array.length].pointer}")
    value = body.emit(f"call {callee.result} @{callee.name}({', '.join(words)})")
    body.steps += callee.steps * body.times
    add_variable(body, callee.result, random_constant(body.rng, callee.result))
    body.do(f"store {callee.result} {value}, ptr {body.variables[-1][0]}")
    return None


def _affordable(body: Body, trips: int) -> int:
    """Return a loop's trip count: at most `trips`, fewer if MOST_STEPS requires it, at least 1."""
    left = max(MOST_STEPS - body.steps, 1)
    return max(1, min(trips, left // (64 * body.times)))
