"""Properties of a statement that do not depend on its schedule, for its features."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from burnish.tasks.loop_nests.nest import Access, Call, Expression, Nest

LINE = 64  # bytes
LONG = ("exp", "tanh")
SLOW = (*LONG, "/", "sqrt")


class Reach:
    """The part of a tensor that an access touches."""

    def __init__(self, nest: Nest, access: Access) -> None:
        self.size = nest.itemsize
        self.names = frozenset(access.iterators)
        self.dimensions = [
            (extent, [(name, abs(by)) for name, by in index.terms])
            for index, extent in zip(access.indices, nest.shapes[access.tensor], strict=True)
        ][::-1]

    def bytes(self, box: Mapping[str, int]) -> int:
        """Return the bytes of the cache lines that the access touches in a box."""
        rows, run, whole = 1, self.size, True  # whole: all inner dimensions are covered completely
        for extent, terms in self.dimensions:
            reach = 1
            for name, by in terms:
                reach += by * (box[name] - 1)
            if whole:
                run *= reach
                whole = reach >= extent
            else:
                rows *= reach
        return rows * ((run + LINE - 1) // LINE * LINE)


class StatementFacts:
    """Properties of a statement that do not depend on its schedule."""

    def __init__(self, nest: Nest, number: int, vector_bytes: int) -> None:
        self.nest, self.statement = nest, nest.statements[number]
        self.vector_bytes, self.size = vector_bytes, nest.itemsize
        self.lanes = vector_bytes // nest.itemsize
        self.accesses = (self.statement.target, *self.statement.accesses)
        self.strides = nest.moves[number]
        self.offsets = [nest.offset(access) for access in self.accesses]
        self.reaches = [Reach(nest, access) for access in self.accesses]
        self.box = {name: nest.extents[name] for name in self.statement.iterators}
        functions = list(_functions(self.statement.value))
        self.operations = max(1, self.statement.operations)
        self.slow = sum(name in SLOW for name in functions) + 5 * sum(name in LONG for name in functions)
        comparing = ("max", "min")
        self.comparisons = sum(name in comparing for name in functions) + (self.statement.reduce in comparing)
        self.products = self.statement.reduce == "+" and functions == ["*"]
        self.temporaries = [name for name in nest.written if name not in nest.outputs]


def _functions(value: Expression) -> Iterable[str]:
    if isinstance(value, Call):
        yield value.function
        for argument in value.arguments:
            yield from _functions(argument)
