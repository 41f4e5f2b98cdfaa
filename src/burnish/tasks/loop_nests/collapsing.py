"""Collapsing two iterators that always occur together: it turns a contraction of many indices into a product.

OpenMP calls this `collapse`. The memory layout stays: [.., i, j, ..] in C order is [.., i * J + j, ..].
"""

from __future__ import annotations

from dataclasses import replace

from burnish.tasks.loop_nests.nest import Access, Affine, Call, Expression, Nest, Statement


def collapsed(nest: Nest, outer: str, inner: str) -> tuple[Nest, str] | None:
    """Return the nest with one iterator for two, and its name; None if they do not always occur together.

    Each access must have neither, or both as adjacent plain indices; the tensor's extent in the second of
    these dimensions must be that of the inner iterator.
    """
    name = outer + inner
    while name in nest.extents:
        name += "_"
    statements = []
    for one in nest.statements:
        target = _access(nest, one.target, outer, inner, name)
        value = _value(nest, one.value, outer, inner, name)
        if target is None or value is None:
            return None
        statements.append(Statement(target, one.reduce, value))
    extents = {}
    for known, extent in nest.extents.items():
        if known == outer:
            extents[name] = extent * nest.extents[inner]
        elif known != inner:
            extents[known] = extent
    return replace(nest, statements=tuple(statements), extents=extents), name


def _access(nest: Nest, access: Access, outer: str, inner: str, name: str) -> Access | None:
    used = [bool(index.at(outer)) or bool(index.at(inner)) for index in access.indices]
    if not any(used):
        return access
    at = used.index(True)
    both = access.indices[at : at + 2]
    whole = nest.shapes[access.tensor][at + 1 : at + 2] == (nest.extents[inner],)
    if sum(used) != 2 or both != (Affine(((outer, 1),)), Affine(((inner, 1),))) or not whole:
        return None
    return replace(access, indices=(*access.indices[:at], Affine(((name, 1),)), *access.indices[at + 2 :]))


def _value(nest: Nest, value: Expression, outer: str, inner: str, name: str) -> Expression | None:
    match value:
        case Access():
            return _access(nest, value, outer, inner, name)
        case Call(function, arguments):
            parts = [_value(nest, argument, outer, inner, name) for argument in arguments]
            whole = tuple(part for part in parts if part is not None)
            return Call(function, whole) if len(whole) == len(parts) else None
    return value
