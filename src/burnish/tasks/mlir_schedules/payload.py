"""The module that transforms work on: one function of memrefs, in which each linalg op has a name.

The program's function is inlined into `kernel(inputs..., outputs...)`, which reads its inputs as tensors and
materializes its results in the outputs; the program does not change otherwise. The n-th linalg op, of kind
KIND, is the site 'KIND#n' (n from 0); the name is an attribute that transforms keep. `Script` writes such
transforms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from burnish.core.errors import CompilerCrash, ProgramError
from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.reference.evaluate import TensorType, program_function, tensor_type

KERNEL = "kernel"
SITE = "burnish.site"
LOOP = "burnish.loop"
ANY = "!transform.any_op"
SEQUENCE = "__transform_main"
CLEANING = (
    "canonicalization",
    "linalg.tiling_canonicalization",
    "scf.for_loop_canonicalization",
    "tensor.merge_consecutive_insert_extract_slice",
)


class TransformFailed(CompilerCrash):
    """A failure of MLIR to apply an action that should have been legal."""


@dataclass(frozen=True)
class Payload:
    """A module, and the types that its kernel takes."""

    module: Any
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]

    def transformed(self, lines: str) -> Payload:
        """Return the payload after some ops of the transform dialect, which see the module as %module.

        Raises:
            TransformFailed: one of them cannot be applied.
        """
        copy = bindings.clone(self.module)
        apply(copy, lines)
        return Payload(copy, self.inputs, self.outputs)


def apply(module: Any, lines: str) -> None:
    """Apply ops of the transform dialect to a module.

    Raises:
        TransformFailed: one of them cannot be applied; the module may be half transformed.
    """
    ir = bindings.bindings("ir")
    try:
        with bindings.context(), ir.Location.unknown():
            script = ir.Module.parse(sequence(lines))
            interpreter = bindings.bindings("dialects.transform.interpreter")
            interpreter.apply_named_sequence(module.operation, script.body.operations[0], script)
    except (ir.MLIRError, ValueError) as error:
        raise TransformFailed(_diagnosis(str(error))) from None


def sequence(lines: str) -> str:
    """Return a module with a named sequence, the input of `mlir-opt --transform-interpreter`."""
    return (
        "module attributes {transform.with_named_sequence} {\n"
        f"  transform.named_sequence @{SEQUENCE}(%module: {ANY} {{transform.readonly}}) {{\n"
        f"{lines}    transform.yield\n  }}\n}}\n"
    )


def _diagnosis(text: str) -> str:
    """Return the message of an interpreter's diagnostic: one line, at most 300 characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line.partition(": ")[2] for line in lines if "at loc(" in line]
    return (said or lines or ["the transform failed"])[0][:300]


class Script:
    """Lines of a named sequence in which each value has a unique name."""

    def __init__(self, step: int | str) -> None:
        self.step = step  # distinguishes the values of different steps
        self.lines: list[str] = []
        self._count = 0

    def __str__(self) -> str:
        return "".join(f"    {line}\n" for line in self.lines)

    def new(self, stem: str) -> str:
        """Return the name of a new value."""
        self._count += 1
        return f"%{stem}_{self.step}_{self._count}"

    def add(self, line: str) -> None:
        """Append a line."""
        self.lines.append(line)

    def find(self, key: str, value: str) -> str:
        """Match the ops whose attribute `key` is `value`; return the handle."""
        handle = self.new("op")
        self.add(
            f'{handle} = transform.structured.match attributes{{{key} = "{value}"}} '
            f"in %module : ({ANY}) -> {ANY}"
        )
        return handle

    def find_all(self, kind: str) -> str:
        """Match all ops of a kind, such as 'scf.for'; return the handle."""
        handle = self.new("all")
        self.add(f'{handle} = transform.structured.match ops{{["{kind}"]}} in %module : ({ANY}) -> {ANY}')
        return handle

    def annotate(self, handle: str, key: str, value: str) -> None:
        """Give an op an attribute."""
        text = annotation(handle, key, value, self.new("name"))
        self.lines += [line.strip() for line in text.splitlines()]

    def split_handle(self, handle: str, count: int) -> list[str]:
        """Return a handle for each of several ops."""
        if count == 1:
            return [handle]
        parts = [self.new("part") for _ in range(count)]
        types = ", ".join([ANY] * count)
        self.add(f"{', '.join(parts)} = transform.split_handle {handle} : ({ANY}) -> ({types})")
        return parts

    def producer(self, handle: str, operand: int, kind: str = ANY, *, of: str = ANY) -> str:
        """Return a handle of the op that makes an operand."""
        made = self.new("made")
        self.add(f"{made} = transform.get_producer_of_operand {handle}[{operand}] : ({of}) -> {kind}")
        return made

    def cast(self, handle: str, kind: str) -> str:
        """Return a handle of any kind of op for a handle of one kind."""
        plain = self.new("plain")
        self.add(f"{plain} = transform.cast {handle} : {kind} to {ANY}")
        return plain

    def patterns(self, *names: str, within: str = "") -> None:
        """Apply rewrite patterns to the function, or only within one of its ops."""
        self.add(f"transform.apply_patterns to {within or self.find_all('func.func')} {{")
        self.lines += [f"  transform.apply_patterns.{name}" for name in names]
        self.add(f"}} : {ANY}")

    def clean(self, within: str = "") -> None:
        """Simplify nested slices, duplicated constants and unused ops; see `patterns`."""
        self.patterns(*CLEANING, within=within)
        self.add(f"transform.apply_cse to {within or self.find_all('func.func')} : {ANY}")


def open_payload(text: str, name: str) -> Payload:
    """Parse a program, build its kernel, and name its linalg ops.

    Raises:
        ProgramError: the text is not a program; the message says what was expected.
    """
    try:
        module, main = program_function(text)
    except ProgramError as error:
        raise ProgramError(f"{name}: {error}") from None
    inputs, outputs = (tuple(map(tensor_type, types)) for types in (main.type.inputs, main.type.results))
    ir = bindings.bindings("ir")
    with bindings.context(), ir.Location.unknown():
        main.operation.attributes["sym_visibility"] = ir.StringAttr.get("private")
        around = ir.Module.parse(_around(main.name.value, inputs, outputs))
        module.body.append(around.body.operations[1].operation.clone())
        bindings.run_passes(module, "inline{default-pipeline=},symbol-dce")
        for number, op in enumerate(_linalg_ops(module)):
            op.attributes[SITE] = ir.StringAttr.get(f"{op.name.partition('.')[2]}#{number}")
    return Payload(module, inputs, outputs)


def naming(module: Any) -> str:
    """Return the transforms that name the linalg ops of a fresh module as those of `module` are named."""
    names = [op.attributes[SITE].value for op in _linalg_ops(module)]
    kinds = ", ".join(f'"{kind}"' for kind in dict.fromkeys(f"linalg.{n.partition('#')[0]}" for n in names))
    handles = [f"%named{number}" for number in range(len(names))]
    lines = f"    %all = transform.structured.match ops{{[{kinds}]}} in %module : ({ANY}) -> {ANY}\n"
    if len(names) > 1:
        types = ", ".join([ANY] * len(names))
        lines += f"    {', '.join(handles)} = transform.split_handle %all : ({ANY}) -> ({types})\n"
    else:
        handles = ["%all"]
    return lines + "".join(
        annotation(h, SITE, n, f"%name{i}") for i, (h, n) in enumerate(zip(handles, names, strict=True))
    )


def annotation(handle: str, key: str, value: str, parameter: str) -> str:
    """Return the transforms that give an op an attribute."""
    return (
        f'    {parameter} = transform.param.constant "{value}" -> !transform.any_param\n'
        f'    transform.annotate {handle} "{key}" = {parameter} : {ANY}, !transform.any_param\n'
    )


def ops_of_kind(module: Any, kind: str) -> list[Any]:
    """Return the ops of a module of a kind, such as 'scf.for', in order."""
    ir = bindings.bindings("ir")
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name == kind:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def _linalg_ops(module: Any) -> Iterator[Any]:
    for function in module.body.operations:
        for op in function.regions[0].blocks[0].operations:
            if op.operation.name.startswith("linalg."):
                yield op.operation


def _inside(one: TensorType) -> str:
    """Return the inside of a tensor's or memref's type: '4x8xf32'."""
    return "x".join([*map(str, one.shape), one.dtype])


def _around(main: str, inputs: tuple[TensorType, ...], outputs: tuple[TensorType, ...]) -> str:
    """Return the declaration of the program's function, and the kernel that calls it."""
    tensors = [f"tensor<{_inside(one)}>" for one in inputs]
    results = [f"tensor<{_inside(one)}>" for one in outputs]
    takes = [f"%in{i}: memref<{_inside(one)}>" for i, one in enumerate(inputs)]
    takes += [f"%out{i}: memref<{_inside(one)}>" for i, one in enumerate(outputs)]
    lines = [
        f"%t{i} = bufferization.to_tensor %in{i} restrict : memref<{_inside(one)}> to tensor<{_inside(one)}>"
        for i, one in enumerate(inputs)
    ]
    given = ", ".join(f"%t{i}" for i in range(len(inputs)))
    kind = f"({', '.join(tensors)}) -> ({', '.join(results)})"
    lines.append(f"%r:{len(outputs)} = func.call @{main}({given}) : {kind}")
    lines += [
        f"bufferization.materialize_in_destination %r#{i} in restrict writable %out{i} : "
        f"(tensor<{_inside(one)}>, memref<{_inside(one)}>) -> ()"
        for i, one in enumerate(outputs)
    ]
    body = "".join(f"  {line}\n" for line in lines)
    return (
        f"func.func private @{main}{kind}\nfunc.func @{KERNEL}({', '.join(takes)}) {{\n{body}  return\n}}\n"
    )
