"""Programs written out: named operations, and those of one element."""

from __future__ import annotations

from collections.abc import Sequence

Shape = tuple[int, ...]


def tensor(shape: Sequence[int], element: str = "f32") -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def program(inputs: Sequence[Shape], output: Shape, body: str) -> str:
    """Return a function whose body leaves its result in %r."""
    arguments = ", ".join(f"%a{i}: {tensor(shape)}" for i, shape in enumerate(inputs))
    return (
        f"func.func @main({arguments}) -> {tensor(output)} {{\n"
        f"  %zero = arith.constant 0.0 : f32\n  {body}\n  return %r : {tensor(output)}\n}}"
    )


def named(op: str, inputs: Sequence[Shape], output: Shape, start: str = "0.0", attributes: str = "") -> str:
    """Return a program of one named operation, on an output that is filled."""
    names = ", ".join(f"%a{i}" for i in range(len(inputs)))
    types = ", ".join(map(tensor, inputs))
    out = tensor(output)
    return program(
        inputs,
        output,
        f"""%c = arith.constant {start} : f32
  %e = tensor.empty() : {out}
  %f = linalg.fill ins(%c : f32) outs(%e : {out}) -> {out}
  %r = linalg.{op} {attributes} ins({names} : {types}) outs(%f : {out}) -> {out}""",
    )


def generic(shape: Shape, body: str, yielded: str = "%y") -> str:
    """Return a program that computes each element from one, %x."""
    letters = ", ".join(f"d{i}" for i in range(len(shape)))
    kinds = ", ".join(['"parallel"'] * len(shape))
    same = f"affine_map<({letters}) -> ({letters})>"
    kind = tensor(shape)
    return program(
        [shape],
        shape,
        f"""%e = tensor.empty() : {kind}
  %r = linalg.generic {{indexing_maps = [{same}, {same}], iterator_types = [{kinds}]}}
    ins(%a0 : {kind}) outs(%e : {kind}) {{
  ^bb0(%x: f32, %o: f32):
    {body}
    linalg.yield {yielded} : f32
  }} -> {kind}""",
    )
