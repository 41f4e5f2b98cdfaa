"""Expressions and their functions in LLVM IR; exp and tanh as polynomials: LLVM has no vector versions.

After Moshier's Cephes library (exp.c, expf.c, tanhf.c); for f64, exp is a Taylor series on |r| < 0.35.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from burnish.tasks.loop_nests.lowering.code import Code
from burnish.tasks.loop_nests.nest import Access, Call, Expression

EXP_RANGE = {"f32": (-104.0, 89.0), "f64": (-746.0, 710.0)}  # beyond: 0 or infinity
EXP_POLYNOMIAL = {
    "f32": (
        1.9875691500e-4,
        1.3981999507e-3,
        8.3334519073e-3,
        4.1665795894e-2,
        1.6666665459e-1,
        0.5,
        1.0,
        1.0,
    ),
    "f64": tuple(1 / math.factorial(i) for i in range(13, -1, -1)),
}
LN2_HIGH = 0.693145751953125  # log(2) without its last bits: products with small whole numbers are exact
LN2_LOW = 1.42860682030941723212e-6  # log(2) - LN2_HIGH
BIAS = {"f32": (127, 23), "f64": (1023, 52)}  # bias and position of the exponent's bits
ROUNDING = {"f32": 1.5 * 2**23, "f64": 1.5 * 2**52}  # x + this rounds x to a whole number, in the last bits
TANH_SMALL = 0.625  # below, tanh is a polynomial
TANH_POLYNOMIALS = {  # numerator and denominator
    "f32": (
        (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1),
        (),
    ),
    "f64": (
        (-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3),
        (1.0, 1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3),
    ),
}


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


def _negative(code: Code, x: str, width: int) -> str:
    return code.emit(f"fneg {code.type(width)} {x}")


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
    grown = code.combined("+", _exp(code, _times(code, x, 2.0, width), width), one, width)
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


def _times(code: Code, x: str, factor: float, width: int) -> str:
    return code.combined("*", x, code.constant(factor, width), width)


def _multiply_add(code: Code, x: str, factor: float, y: str, width: int) -> str:
    return code.intrinsic("fma", [x, code.constant(factor, width), y], width)


def _plain(name: str) -> Callable[[Code, str, int], str]:
    return lambda code, x, width: code.intrinsic(name, [x], width)


_FUNCTIONS: dict[str, Callable[[Code, str, int], str]] = {
    "neg": _negative,
    "exp": _exp,
    "tanh": _tanh,
    "sqrt": _plain("sqrt"),
    "abs": _plain("fabs"),
}
