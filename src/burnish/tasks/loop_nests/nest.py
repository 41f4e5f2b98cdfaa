"""Loop nests: statements over dense tensors, and the extents of their iterators."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from burnish.core.errors import ProgramError
from burnish.core.program import Program

LANGUAGE = "nest"
FUNCTIONS = {"exp": 1, "sqrt": 1, "abs": 1, "tanh": 1, "max": 2, "min": 2}  # number of arguments
IDENTITIES = {"+": 0.0, "*": 1.0, "max": -math.inf, "min": math.inf}  # of reductions
DTYPES: Mapping[str, type[np.floating[Any]]] = {"f32": np.float32, "f64": np.float64}
MOST_ITERATORS = 12
MOST_ELEMENTS = 1 << 28  # of all tensors together

DType = Literal["f32", "f64"]


@dataclass(frozen=True)
class Affine:
    """An index: a sum of iterators, each times a whole number, plus an offset."""

    terms: tuple[tuple[str, int], ...]
    offset: int = 0

    def at(self, iterator: str) -> int:
        """Return the factor of an iterator; 0 if the index does not depend on it."""
        return dict(self.terms).get(iterator, 0)

    def __str__(self) -> str:
        parts = [name if factor == 1 else f"{factor}*{name}" for name, factor in self.terms]
        parts += [str(self.offset)] if self.offset or not parts else []
        return "+".join(parts).replace("+-", "-")


@dataclass(frozen=True)
class Access:
    """An element of a tensor."""

    tensor: str
    indices: tuple[Affine, ...]

    @cached_property
    def iterators(self) -> tuple[str, ...]:
        """The iterators in the indices, in order."""
        return tuple(dict.fromkeys(name for index in self.indices for name, _ in index.terms))

    def __str__(self) -> str:
        return f"{self.tensor}[{','.join(map(str, self.indices))}]"


@dataclass(frozen=True)
class Call:
    """An operation on expressions: '+', '-', '*', '/', 'neg', or one of FUNCTIONS."""

    function: str
    arguments: tuple[Expression, ...]

    def __str__(self) -> str:
        if self.function == "neg":
            return f"-{self.arguments[0]}"
        if self.function in FUNCTIONS:
            return f"{self.function}({', '.join(map(str, self.arguments))})"
        return f"({f' {self.function} '.join(map(str, self.arguments))})"


Expression = Access | Call | float


@dataclass(frozen=True)
class Statement:
    """`target = value` for all values of the target's iterators; the other iterators are reduced."""

    target: Access
    reduce: str  # one of IDENTITIES; "" without a reduction
    value: Expression

    @cached_property
    def accesses(self) -> tuple[Access, ...]:
        """The distinct reads, from left to right."""
        return tuple(dict.fromkeys(part for part in parts_of(self.value) if isinstance(part, Access)))

    @cached_property
    def free(self) -> tuple[str, ...]:
        """The iterators of the target."""
        return self.target.iterators

    @cached_property
    def iterators(self) -> tuple[str, ...]:
        """All iterators: the target's, then the reduced ones."""
        return tuple(
            dict.fromkeys([*self.free, *(name for read in self.accesses for name in read.iterators)])
        )

    @cached_property
    def reduced(self) -> tuple[str, ...]:
        """The iterators that are reduced."""
        return self.iterators[len(self.free) :]

    @cached_property
    def operations(self) -> int:
        """The operations of one iteration."""
        return sum(isinstance(part, Call) for part in parts_of(self.value)) + bool(self.reduce)

    def __str__(self) -> str:
        value = str(self.value)
        return f"{self.target} {self.reduce}= {value[1:-1] if value.startswith('(') else value}"


@dataclass(frozen=True)
class Nest:
    """Statements in order, and the extents of their iterators."""

    statements: tuple[Statement, ...]
    extents: Mapping[str, int]
    dtype: DType = "f32"

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The tensors' shapes, just large enough for all accesses; inputs in order of use, then others."""
        shapes: dict[str, tuple[int, ...]] = {}
        for access in [read for one in self.statements for read in one.accesses] + [
            one.target for one in self.statements
        ]:
            shape = tuple(self._reach(index) + 1 for index in access.indices)
            known = shapes.get(access.tensor, shape)
            shapes[access.tensor] = tuple(max(pair) for pair in zip(known, shape, strict=True))
        inputs = [name for name in shapes if name not in self.written]
        return {name: shapes[name] for name in (*inputs, *self.written)}

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The tensors that are written, in the order of the statements."""
        return tuple(one.target.tensor for one in self.statements)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The tensors that no statement writes, in order of use."""
        return tuple(name for name in self.shapes if name not in self.written)

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The tensors that are written and never read."""
        read = {access.tensor for one in self.statements for access in one.accesses}
        return tuple(name for name in self.written if name not in read)

    @cached_property
    def flops(self) -> int:
        """The operations of all statements."""
        return sum(
            one.operations * math.prod(self.extents[name] for name in one.iterators)
            for one in self.statements
        )

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return np.dtype(DTYPES[self.dtype]).itemsize

    @cached_property
    def moves(self) -> tuple[tuple[dict[str, int], ...], ...]:
        """The strides of each statement's accesses, the target first."""
        return tuple(
            tuple(self.strides(access) for access in (one.target, *one.accesses)) for one in self.statements
        )

    def strides(self, access: Access) -> dict[str, int]:
        """Return the stride of each iterator of an access, in elements, in C order."""
        return strides(access, self.shapes[access.tensor])[0]

    def offset(self, access: Access) -> int:
        """Return the element of an access, in C order, when all iterators are 0."""
        return strides(access, self.shapes[access.tensor])[1]

    def program(self, name: str = "") -> Program:
        """Return the nest as a program."""
        return Program(name or str(self.statements[0]), LANGUAGE, str(self).encode())

    def __str__(self) -> str:
        head = " ".join([self.dtype, *(f"{name}={extent}" for name, extent in self.extents.items())])
        return "\n".join([head, *map(str, self.statements), ""])

    def _reach(self, index: Affine) -> int:
        """Return the largest value of an index."""
        return index.offset + sum(max(0, factor * (self.extents[name] - 1)) for name, factor in index.terms)


def strides(access: Access, shape: Sequence[int]) -> tuple[dict[str, int], int]:
    """Return the stride of each iterator of an access, and its offset; both in elements, in C order."""
    steps = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    moved = {
        name: sum(index.at(name) * step for index, step in zip(access.indices, steps, strict=True))
        for name in access.iterators
    }
    return moved, sum(index.offset * step for index, step in zip(access.indices, steps, strict=True))


def make_nest(
    statements: Sequence[Statement], extents: Mapping[str, int], dtype: DType = "f32", name: str = "nest"
) -> Nest:
    """Return a nest after checking its statements and extents.

    Raises:
        ProgramError: the statements or the extents are invalid, or do not fit each other.
    """
    if not statements:
        raise ProgramError(f"{name}: expected a statement, such as 'c[m, n] += a[m, k] * b[k, n]'")
    used = tuple(dict.fromkeys(key for one in statements for key in one.iterators))
    tensors = (access.tensor for one in statements for access in (*one.accesses, one.target))
    for key in (*used, *tensors):
        if not key.isascii():
            raise ProgramError(f"{name}: {key}: expected names of ASCII letters, digits and _")
    if missing := [key for key in used if extents.get(key, 0) < 1]:
        found = f"is {extents[missing[0]]}" if missing[0] in extents else "has no extent"
        raise ProgramError(f"{name}: {missing[0]} {found}; expected {missing[0]}=N, at least 1")
    if not used:
        raise ProgramError(f"{name}: expected an iterator, such as i in 'o[i] = 2 * x[i]'")
    if len(used) > MOST_ITERATORS:
        raise ProgramError(f"{name}: {len(used)} iterators; expected at most {MOST_ITERATORS}")
    ranks: dict[str, int] = {}
    read: set[str] = set()
    written: set[str] = set()
    for one in statements:
        for access in (*one.accesses, one.target):
            if ranks.setdefault(access.tensor, len(access.indices)) != len(access.indices):
                raise ProgramError(f"{name}: {access}: {access.tensor} has {ranks[access.tensor]} dimensions")
            for index in access.indices:
                least = index.offset + sum(min(0, by * (extents[key] - 1)) for key, by in index.terms)
                if least < 0:
                    raise ProgramError(f"{name}: {access}: {index} begins at {least}; expected 0 or more")
        read |= {access.tensor for access in one.accesses}
        if one.target.tensor in written | read:
            raise ProgramError(f"{name}: {one.target.tensor} is written twice, or after it was read")
        written.add(one.target.tensor)
    nest = Nest(tuple(statements), {key: extents[key] for key in used}, dtype)
    _check_reads(nest, name)
    if (count := sum(map(math.prod, nest.shapes.values()))) > MOST_ELEMENTS:
        raise ProgramError(f"{name}: tensors of {count:,} elements; expected at most {MOST_ELEMENTS:,}")
    return nest


def _check_reads(nest: Nest, name: str) -> None:
    """Check that reads of a written tensor stay within the elements that its statement writes."""
    targets = {one.target.tensor: one.target for one in nest.statements}
    for access in (access for one in nest.statements for access in one.accesses):
        if access.tensor not in targets:
            continue
        sizes = [nest.extents[key] for key in targets[access.tensor].iterators]
        if any(extent > size for extent, size in zip(nest.shapes[access.tensor], sizes, strict=True)):
            raise ProgramError(f"{name}: {access}: expected elements of {targets[access.tensor]}, {sizes}")


def parts_of(value: Expression) -> Iterator[Expression]:
    """Yield an expression and all its parts, from left to right."""
    yield value
    if isinstance(value, Call):
        for argument in value.arguments:
            yield from parts_of(argument)
