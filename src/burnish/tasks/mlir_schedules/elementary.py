"""Polynomials for exp, tanh and erf of f32: MLIR would call a library for each element of a vector.

exp and tanh are those of burnish.tasks.loop_nests.lowering.functions. The polynomials of erf were fitted by
weighted least squares to minimise the largest relative error: of erf(x) / x - 1 in x^2 up to ERF_SMALL, and
of log(1 - erf(x)) / x in x from there to where 1 - erf(x) is negligible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from burnish.tasks.mlir_schedules import bindings
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

ELEMENT = "f32"
ERF_SMALL = 0.925
ERF_POLYNOMIAL = (
    -5.976606043986976e-4,
    4.990417044609785e-3,
    -2.6764757931232452e-2,
    1.128176599740982e-1,
    -3.7612488865852356e-1,
    1.2837915122509003e-1,
)
ERFC_POLYNOMIAL = (
    2.138179261237383e-4,
    -3.2135758083313704e-3,
    2.2885527461767197e-2,
    -1.0525490343570709e-1,
    -6.357235908508301e-1,
    -1.1285127401351929,
)
ERF_MOST = 4.0  # beyond, erf is 1
INLINED = "inline{default-pipeline=},symbol-dce"


def expand(module: Any) -> None:
    """Replace math.exp, math.tanh and math.erf of f32, and of vectors of f32, by arithmetic.

    Raises:
        torch_mlir.ir.MLIRError: a pass fails.
    """
    ir, func = bindings.bindings("ir"), bindings.bindings("dialects.func")
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name in FUNCTIONS and _is_known(operation.results[0].type):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    if not found:
        return
    kinds = sorted({(operation.name, str(operation.results[0].type)) for operation in found})
    names = {kind: f"burnish.{kind[0]}.{number}" for number, kind in enumerate(kinds)}
    with bindings.context(), ir.Location.unknown():
        for kind, name in names.items():
            written = ir.Module.parse(_function(name, *kind))
            module.body.append(written.body.operations[0].operation.clone())
        for operation in found:
            result = operation.results[0]
            name = names[operation.name, str(result.type)]
            with ir.InsertionPoint(operation):
                call = func.CallOp([result.type], ir.FlatSymbolRefAttr.get(name), list(operation.operands))
            result.replace_all_uses_with(call.operation.results[0])
            operation.erase()
    bindings.run_passes(module, INLINED)


def _is_known(kind: Any) -> bool:
    return str(getattr(kind, "element_type", kind)) == ELEMENT


def _function(name: str, operation: str, kind: str) -> str:
    """Return a private function that computes an operation on a scalar or vector type."""
    lines = _Lines(kind)
    result = FUNCTIONS[operation](lines, "%x")
    body = "".join(f"  {line}\n" for line in lines.lines)
    return f"func.func private @{name}(%x: {kind}) -> {kind} {{\n{body}  return {result} : {kind}\n}}\n"


class _Lines:
    """Operations on values of one type, one on each line."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.whole = kind.replace(ELEMENT, "i32")
        self.truth = kind.replace(ELEMENT, "i1")
        self.lines: list[str] = []

    def add(self, text: str) -> str:
        """Append an operation and return its result."""
        self.lines.append(f"%v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}"

    def number(self, value: float) -> str:
        return self._constant(f"{value:.17e}", self.kind)

    def integer(self, value: int) -> str:
        return self._constant(str(value), self.whole)

    def _constant(self, text: str, kind: str) -> str:
        return self.add(f"arith.constant {f'dense<{text}>' if kind.startswith('vector') else text} : {kind}")

    def do(self, operation: str, *values: str) -> str:
        """Append an operation on floats."""
        return self.add(f"{operation} {', '.join(values)} : {self.kind}")

    def on_integers(self, operation: str, *values: str) -> str:
        return self.add(f"{operation} {', '.join(values)} : {self.whole}")

    def compared(self, predicate: str, one: str, other: str) -> str:
        return self.add(f"arith.cmpf {predicate}, {one}, {other} : {self.kind}")

    def select(self, truth: str, one: str, other: str) -> str:
        types = f"{self.truth}, {self.kind}" if self.kind.startswith("vector") else self.kind
        return self.add(f"arith.select {truth}, {one}, {other} : {types}")

    def bitcast(self, value: str, before: str, after: str) -> str:
        return self.add(f"arith.bitcast {value} : {before} to {after}")

    def multiply_add(self, x: str, factor: str, y: str) -> str:
        return self.do("math.fma", x, factor, y)

    def bounded(self, predicate: str, bound: float, x: str) -> str:
        """Return `bound` if `bound predicate x` holds, else x, even a NaN; that is one instruction."""
        limit = self.number(bound)
        return self.select(self.compared(predicate, limit, x), limit, x)

    def polynomial(self, x: str, coefficients: tuple[float, ...]) -> str:
        """Append Horner's scheme; the coefficient of the highest power comes first."""
        value = self.number(coefficients[0])
        for coefficient in coefficients[1:]:
            value = self.multiply_add(value, x, self.number(coefficient))
        return value


def _exp(lines: _Lines, x: str) -> str:
    """Return 2^n exp(r), where r = x - n log(2) and |r| < log(2) / 2."""
    least, most = EXP_RANGE[ELEMENT]
    x = lines.bounded("olt", most, lines.bounded("ogt", least, x))
    rounding = lines.number(ROUNDING[ELEMENT])
    rounded = lines.multiply_add(x, lines.number(1 / math.log(2)), rounding)
    n = lines.do("arith.subf", rounded, rounding)
    r = lines.multiply_add(n, lines.number(-LN2_HIGH), x)
    r = lines.multiply_add(n, lines.number(-LN2_LOW), r)
    value = lines.polynomial(r, EXP_POLYNOMIAL[ELEMENT])
    bits, zero = (lines.bitcast(one, lines.kind, lines.whole) for one in (rounded, rounding))
    number = lines.on_integers("arith.subi", bits, zero)
    half = lines.on_integers("arith.shrsi", number, lines.integer(1))  # 2^n itself may be out of range
    bias, shift = BIAS[ELEMENT]
    for exponent in (half, lines.on_integers("arith.subi", number, half)):
        biased = lines.on_integers("arith.addi", exponent, lines.integer(bias))
        power = lines.on_integers("arith.shli", biased, lines.integer(shift))
        value = lines.do("arith.mulf", value, lines.bitcast(power, lines.whole, lines.kind))
    return value


def _tanh(lines: _Lines, x: str) -> str:
    """Return 1 - 2 / (exp(2x) + 1); a polynomial for small |x|, where that difference cancels."""
    one, two = lines.number(1.0), lines.number(2.0)
    grown = lines.do("arith.addf", _exp(lines, lines.do("arith.addf", x, x)), one)
    large = lines.do("arith.subf", one, lines.do("arith.divf", two, grown))
    square = lines.do("arith.mulf", x, x)
    part = lines.do("arith.mulf", lines.polynomial(square, TANH_POLYNOMIALS[ELEMENT][0]), square)
    small = lines.multiply_add(part, x, x)
    size = lines.do("math.absf", x)
    return lines.select(lines.compared("olt", size, lines.number(TANH_SMALL)), small, large)


def _erf(lines: _Lines, x: str) -> str:
    """Return x + x p(x^2) for small |x|, else the sign of x times 1 - exp(|x| q(|x|))."""
    size = lines.do("math.absf", x)
    square = lines.do("arith.mulf", x, x)
    small = lines.multiply_add(lines.polynomial(square, ERF_POLYNOMIAL), x, x)
    most = lines.bounded("olt", ERF_MOST, size)
    power = _exp(lines, lines.do("arith.mulf", lines.polynomial(most, ERFC_POLYNOMIAL), most))
    rest = lines.do("arith.subf", lines.number(1.0), power)
    large = lines.do("math.copysign", rest, x)
    return lines.select(lines.compared("olt", size, lines.number(ERF_SMALL)), small, large)


FUNCTIONS: Mapping[str, Callable[[_Lines, str], str]] = {
    "math.exp": _exp,
    "math.tanh": _tanh,
    "math.erf": _erf,
}
