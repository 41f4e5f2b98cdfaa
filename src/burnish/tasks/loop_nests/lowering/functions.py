"""Expressions and their functions in LLVM IR; exp and tanh as polynomials: LLVM has no vector versions."""

from __future__ import annotations

import math
from collections.abc import Callable

from burnish.tasks.loop_nests.lowering.code import Code
from burnish.tasks.loop_nests.nest import Access, Call, Expression
from burnish.tasks.tensors.polynomials import (
    BIAS,
    EXP_POLYNOMIAL,
    EXP_RANGE,
    LN2_HIGH,
    LN2_LOW,
    ROUNDING,
    TANH_POLYNOMIALS,
    TANH_SMALL,
)


def emit_expression(code: Code, expression: Expression, width: int, load: Callable[[Access], str]) -> str:
    """Emit an expression and return its value."""
    match expression:
        case Access():
            return load(expression)
        case Call(function, arguments):
            parts = [emit_expression(code, argument, width, load) for argument in arguments]
            if len(parts) == 2:
                return code.combined(function, parts[0], parts[1], width)
            return _FUNCTIONS[function](code, parts[0], width)
    return code.constant(expression, width)


def _exp(code: Code, x: str, width: int) -> str:
    """Emit 2^n exp(r), where r = x - n log(2) and |r| < log(2) / 2."""
    kind, whole = code.type(width), code.type(width, f"i{8 * code.itemsize}")
    least, most = EXP_RANGE[code.suffix]
    x = code.combined("max", x, code.constant(least, width), width)
    x = code.combined("min", x, code.constant(most, width), width)
    rounding = code.constant(ROUNDING[code.suffix], width)
    rounded = code.intrinsic("fma", [x, code.constant(1 / math.log(2), width), rounding], width)
    n = code.combined("-", rounded, rounding, width)
    r = _multiply_add(code, n, -LN2_HIGH, x, width)
    r = _multiply_add(code, n, -LN2_LOW, r, width)
    value = _polynomial(code, r, EXP_POLYNOMIAL[code.suffix], width)
    bits = code.emit(f"bitcast {kind} {rounded} to {whole}")
    zero = code.emit(f"bitcast {kind} {rounding} to {whole}")
    number = code.emit(f"sub {whole} {bits}, {zero}")
    half = code.emit(f"ashr {whole} {number}, {code.integer(1, width)}")  # 2^n alone may over- or underflow
    rest = code.emit(f"sub {whole} {number}, {half}")
    bias, shift = BIAS[code.suffix]
    for exponent in (half, rest):
        biased = code.emit(f"add {whole} {exponent}, {code.integer(bias, width)}")
        bits = code.emit(f"shl {whole} {biased}, {code.integer(shift, width)}")
        power = code.emit(f"bitcast {whole} {bits} to {kind}")
        value = code.emit(f"fmul {kind} {value}, {power}")
    return value


def _tanh(code: Code, x: str, width: int) -> str:
    """Emit 1 - 2 / (exp(2x) + 1), and a polynomial for small |x|, where the difference loses digits."""
    kind = code.type(width)
    one = code.constant(1.0, width)
    grown = code.combined(
        "+", _exp(code, code.combined("*", x, code.constant(2.0, width), width), width), one, width
    )
    large = code.combined("-", one, code.combined("/", code.constant(2.0, width), grown, width), width)
    square = code.combined("*", x, x, width)
    above, below = (_polynomial(code, square, parts, width) for parts in TANH_POLYNOMIALS[code.suffix])
    small = code.combined("*", above, square, width)
    small = code.combined("/", small, below, width) if below else small
    small = code.intrinsic("fma", [small, x, x], width)
    size = code.intrinsic("fabs", [x], width)
    mask = code.emit(f"fcmp olt {kind} {size}, {code.constant(TANH_SMALL, width)}")
    return code.emit(f"select {code.type(width, 'i1')} {mask}, {kind} {small}, {kind} {large}")


def _polynomial(code: Code, x: str, coefficients: tuple[float, ...], width: int) -> str:
    """Emit a polynomial by Horner's scheme, highest power first; return "" without coefficients."""
    if not coefficients:
        return ""
    value = code.constant(coefficients[0], width)
    for coefficient in coefficients[1:]:
        value = code.intrinsic("fma", [value, x, code.constant(coefficient, width)], width)
    return value


def _multiply_add(code: Code, x: str, factor: float, y: str, width: int) -> str:
    return code.intrinsic("fma", [x, code.constant(factor, width), y], width)


_FUNCTIONS: dict[str, Callable[[Code, str, int], str]] = {
    "neg": lambda code, x, width: code.emit(f"fneg {code.type(width)} {x}"),
    "exp": _exp,
    "tanh": _tanh,
    "sqrt": lambda code, x, width: code.intrinsic("sqrt", [x], width),
    "abs": lambda code, x, width: code.intrinsic("fabs", [x], width),
}
