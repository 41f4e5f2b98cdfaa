"""Parsing and normalisation of a program's text, which is its identity; errors name the line."""

from __future__ import annotations

import re
from typing import Any

from burnish.core.errors import ProgramError
from burnish.tasks.mlir_schedules.bindings import bindings, context

LANGUAGE = "mlir"
MAIN = "main"
HERE = "-"  # the parser's file name for a text
DIAGNOSTIC = re.compile(r'"-":(\d+):(\d+): ')
ELEMENTS = ("f32", "f64", "i32", "i64")  # of arguments and results
KEPT = ("sym_name", "function_type")  # of a function's attributes; others are about its calls and code
STRUCTURE = ("builtin.module", "func.func", "func.return")
TENSOR_OPS = tuple(
    "cast collapse_shape concat empty expand_shape extract extract_slice insert_slice pad splat yield".split()
)
OMITTED = ("linalg.pack", "linalg.unpack", "linalg.winograd_")  # ops that only schedules make
FORM = f"func.func @{MAIN}(%a: tensor<4x8xf32>, ...) -> tensor<...>"


def normal_text(text: str, name: str) -> str:
    """Return a program as MLIR prints it: without locations, comments and the source's names of values.

    The text is a module, or its function alone; errors begin with the name.

    Raises:
        ProgramError: the text is not MLIR, or not a program of this task; the message says what was expected.
        MissingTool: MLIR is not installed.
    """
    module = _parse(text, name)
    function = _function(module, name)
    kind = function.type
    for what, types in (("argument", kind.inputs), ("result", kind.results)):
        for number, one in enumerate(types):
            _check_type(one, f"{name}: {what} {number} of @{MAIN}")
    if not kind.results:
        raise ProgramError(f"{name}: @{MAIN} returns nothing; expected {FORM}")
    _check_ops(function, name)
    for operation, kept in ((function.operation, KEPT), (module.operation, ())):
        for attribute in [one for one in operation.attributes if one not in kept]:
            del operation.attributes[attribute]
    return str(module)


def _parse(text: str, name: str) -> Any:
    """Parse and verify a module; an error names the line of the text."""
    ir = bindings("ir")
    try:
        with context(), ir.Location.unknown():
            return ir.Module.parse(text)
    except ir.MLIRError as error:
        said = str(error).partition("error: ")[2].splitlines() or [str(error)]
        place = DIAGNOSTIC.match(said[0])
        where = f"line {place[1]}, column {place[2]}: " if place else ""
        raise ProgramError(f"{name}: {where}{DIAGNOSTIC.sub('', said[0], count=1)}") from None


def _function(module: Any, name: str) -> Any:
    """Return a module's only op, checked: the public function `main`, with a body of one block."""
    ops = list(module.body.operations)
    for op in ops:
        if op.operation.name != "func.func":
            raise ProgramError(
                f"{_where(op, name)}: {op.operation.name}; expected {FORM} alone in the module"
            )
    if len(ops) != 1:
        raise ProgramError(f"{name}: {len(ops)} functions in the module; expected one, {FORM}")
    (function,) = ops
    found = function.attributes["sym_name"].value
    if found != MAIN:
        raise ProgramError(f"{_where(function, name)}: the function is @{found}; expected @{MAIN}")
    visibility = (
        function.attributes["sym_visibility"].value if "sym_visibility" in function.attributes else "public"
    )
    if visibility != "public" or len(function.regions[0].blocks) != 1:
        raise ProgramError(f"{_where(function, name)}: expected a public function with a body of one block")
    return function


def _check_ops(function: Any, name: str) -> None:
    """Check every op of a function, nested ops included."""
    ir = bindings("ir")
    faults: list[str] = []

    def visit(op: Any) -> Any:
        fault = _fault(op)
        if fault:
            faults.append(f"{_where(op, name)}: {fault}")
        return ir.WalkResult.INTERRUPT if fault else ir.WalkResult.ADVANCE

    function.operation.walk(visit)
    if faults:
        raise ProgramError(faults[0])


def _fault(op: Any) -> str:
    """Return the reason why an op is not supported; "" if it is."""
    dialect, _, kind = op.name.partition(".")
    known = (
        op.name in STRUCTURE
        or (dialect == "linalg" and not op.name.startswith(OMITTED))
        or (dialect == "tensor" and kind in TENSOR_OPS)
        or dialect in ("arith", "math")
    )
    if not known:
        listed = f"ops of linalg, arith and math, and tensor.{', '.join(TENSOR_OPS)}"
        return f"{op.name} is not scheduled; expected {listed}"
    shaped = [one.type for one in op.results if isinstance(one.type, bindings("ir").ShapedType)]
    for one in shaped:
        if not _is_static(one):
            return f"{op.name} has the result {one}; expected a tensor with known, positive extents"
    if shaped and dialect in ("arith", "math") and op.name != "arith.constant":
        return f"{op.name} on tensors; expected a linalg op that computes it"
    return ""


def _check_type(kind: Any, what: str) -> None:
    if not _is_static(kind) or str(kind.element_type) not in ELEMENTS:
        raise ProgramError(
            f"{what} is {kind}; expected a tensor of {', '.join(ELEMENTS)} with known, positive extents"
        )


def _is_static(kind: Any) -> bool:
    ranked = isinstance(kind, bindings("ir").RankedTensorType) and kind.has_static_shape
    return ranked and all(extent > 0 for extent in kind.shape)


def _where(op: Any, name: str) -> str:
    """Return a program's name and an op's line; only the name if the text has locations of its own."""
    location = op.location
    if isinstance(location, bindings("ir").FileLineColLoc) and location.filename == HERE:
        return f"{name}: line {location.start_line}"
    return name
