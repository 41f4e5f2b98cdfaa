"""The parser of the language of loop nests: statements over dense tensors.

    f32 m=128 n=128 k=64
    c[m, n] += a[m, k] * b[k, n]
    d[m, n] = max(c[m, n] + e[n], 0)

The first line has the type and the extents of the iterators. Each other line is a statement. It computes an
element of a tensor for all values of the iterators on the left. The right side has tensor elements, numbers,
+ - * / and FUNCTIONS; indices are sums of iterators, each times a whole number. `+=`, `*=`, `max=` or `min=`
reduce the iterators that are on the right only. A reduction ignores the tensor's old content. A tensor that
no statement writes is an input.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from typing import cast

from burnish.core.errors import ProgramError
from burnish.tasks.loop_nests.nest import (
    FUNCTIONS,
    Access,
    Affine,
    Call,
    DType,
    Expression,
    Nest,
    Statement,
    make_nest,
)

OPERATORS: Mapping[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_STATEMENT = re.compile(
    r"(?P<left>\w+\s*\[[^\]]*\])\s*(?P<reduce>\+|\*|max|min)?=(?!=)(?P<right>.*)", re.DOTALL
)
_HEAD = re.compile(r"(f32|f64)((?:\s+\w+=[0-9]{1,12})*)")


def parse(text: str, name: str = "nest") -> Nest:
    """Parse a nest.

    Raises:
        ProgramError: the text is not a nest; the message names the line and what was expected.
    """
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line]
    first = numbered[0][0] if numbered else 1
    if not numbered or not (head := _HEAD.fullmatch(numbered[0][1])):
        raise ProgramError(f"{name}: line {first}: expected the type and extents, such as 'f32 m=128 n=64'")
    extents = {key: int(value) for key, _, value in (pair.partition("=") for pair in head[2].split())}
    statements = [parse_statement(line, f"{name}: line {number}") for number, line in numbered[1:]]
    return make_nest(statements, extents, cast(DType, head[1]), name)


def parse_statement(text: str, where: str = "nest") -> Statement:
    """Parse one statement.

    Raises:
        ProgramError: the text is not a statement.
    """
    found = _STATEMENT.fullmatch(text.strip())
    if not found:
        raise ProgramError(
            f"{where}: {text!r}: expected 'c[m, n] += a[m, k] * b[k, n]', or =, *=, max=, min="
        )
    target, value = (_expression(_python(found[side], where), where) for side in ("left", "right"))
    assert isinstance(target, Access)
    if len(set(target.iterators)) != len(target.indices) or any(
        index.offset or index.terms[0][1] != 1 for index in target.indices
    ):
        raise ProgramError(f"{where}: {target}: expected different iterators, without numbers")
    statement = Statement(target, found["reduce"] or "", value)
    if statement.reduced and not statement.reduce:
        raise ProgramError(
            f"{where}: {', '.join(statement.reduced)} is on the right only; expected +=, *=, max= or min="
        )
    return statement


def _python(text: str, where: str) -> ast.expr:
    try:
        return ast.parse(re.sub(r"\[\s*\]", "[()]", text.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # all that ast.parse raises
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ProgramError(f"{where}: {text.strip()[:80]!r}: {what}") from None


def _expression(node: ast.expr, where: str) -> Expression:
    match node:
        case ast.Constant(value=int() | float() as number) if _is_number(number):
            return float(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Call("neg", (_expression(operand, where),))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            return Call(OPERATORS[type(operator)], (_expression(left, where), _expression(right, where)))
        case ast.Subscript(value=ast.Name(id=tensor), slice=indices):
            parts = indices.elts if isinstance(indices, ast.Tuple) else [indices]
            return Access(tensor, tuple(_affine(part, where) for part in parts))
        case ast.Call(func=ast.Name(id=name), args=arguments) if FUNCTIONS.get(name) == len(arguments):
            return Call(name, tuple(_expression(argument, where) for argument in arguments))
    known = ", ".join(FUNCTIONS)
    raise ProgramError(f"{where}: {ast.unparse(node)}: expected numbers, a[i, j], + - * /, and {known}")


def _affine(node: ast.expr, where: str) -> Affine:
    match node:
        case ast.Name(id=name):
            return Affine(((name, 1),))
        case ast.Constant(value=int(number)) if _is_number(number):
            return Affine((), number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _scaled(_affine(operand, where), -1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum(_affine(left, where), _affine(right, where))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _sum(_affine(left, where), _scaled(_affine(right, where), -1))
        case ast.BinOp(left=ast.Constant(value=int(by)), op=ast.Mult(), right=right):
            return _scaled(_affine(right, where), by)
        case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int(by))):
            return _scaled(_affine(left, where), by)
    raise ProgramError(f"{where}: {ast.unparse(node)}: expected a sum of iterators such as 2*i + k - 1")


def _is_number(value: float) -> bool:
    return not isinstance(value, bool) and math.isfinite(value)


def _scaled(index: Affine, by: int) -> Affine:
    return Affine(tuple((name, by * factor) for name, factor in index.terms), by * index.offset)


def _sum(one: Affine, other: Affine) -> Affine:
    factors = dict(one.terms)
    for name, factor in other.terms:
        factors[name] = factors.get(name, 0) + factor
    return Affine(
        tuple((name, factor) for name, factor in factors.items() if factor), one.offset + other.offset
    )
