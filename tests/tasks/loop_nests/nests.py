"""Nests for tests: small ones of every family, and any that hypothesis makes up."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from burnish.core.errors import ProgramError
from burnish.tasks.loop_nests.families import FAMILIES, find
from burnish.tasks.loop_nests.features import Featurizer
from burnish.tasks.loop_nests.nest import IDENTITIES, Access, Call, Expression, Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.sketches import Sketch
from burnish.tasks.loop_nests.tree import Leaf, Loop, Node, Tree, leaves_of

ITERATORS = ("i", "j", "k")
SIZES = (11, 9, 13, 5, 3, 4)
LARGER = ("max", "min")
COMBINE = {"+": np.add, "*": np.multiply, "max": np.maximum, "min": np.minimum}
ONE = {"neg": np.negative, "exp": np.exp, "sqrt": np.sqrt, "abs": np.abs, "tanh": np.tanh}
TWO = {**COMBINE, "-": np.subtract, "/": np.divide}


def small(family: str, sizes: tuple[int, ...] = SIZES) -> Nest:
    """Return a nest of a family that NumPy and any schedule are done with at once."""
    count = len(FAMILIES[family].iterators)
    return find(f"{family}:{'x'.join(map(str, sizes[:count]))}")


def plain(nest: Nest, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the statements write, element by element, in double precision."""
    known = {name: np.asarray(array, dtype=np.float64) for name, array in inputs.items()}

    def value(node: Expression, at: Mapping[str, int]) -> Any:
        match node:
            case Access(tensor, indices):
                place = (sum(by * at[name] for name, by in index.terms) + index.offset for index in indices)
                return known[tensor][tuple(place)]
            case Call(function, arguments):
                parts = [value(part, at) for part in arguments]
                return (ONE if len(parts) == 1 else TWO)[function](*parts)
        return np.float64(node)

    for one in nest.statements:
        out = np.full([nest.extents[name] for name in one.free], IDENTITIES.get(one.reduce, np.nan))
        for numbers in itertools.product(*(range(nest.extents[name]) for name in one.iterators)):
            at = dict(zip(one.iterators, numbers, strict=True))
            place, new = tuple(at[name] for name in one.free), value(one.value, at)
            out[place] = COMBINE[one.reduce](out[place], new) if one.reduce else new
        known[one.target.tensor] = out
    return {name: known[name] for name in nest.written}


def random_inputs(nest: Nest, seed: int = 0) -> dict[str, Any]:
    """Return arrays for the inputs."""
    rng = np.random.default_rng(seed)
    return {name: rng.uniform(-2, 2, nest.shapes[name]) for name in nest.inputs}


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    """Make up a nest of one to three statements, the later of which may read what the earlier wrote."""
    extents = {name: draw(st.integers(1, 4)) for name in ITERATORS}
    written: list[tuple[str, tuple[str, ...]]] = []
    lines: list[str] = []
    for number in range(draw(st.integers(1, 3))):
        free = tuple(draw(st.lists(st.sampled_from(ITERATORS), unique=True, max_size=3)))
        value = draw(_values(tuple(written), number))
        reduce = draw(st.sampled_from(["", "+", "*", "max", "min"]))
        lines.append(f"t{number}[{','.join(free)}] {reduce}= {value}")
        written.append((f"t{number}", free))
    head = " ".join(f"{name}={extent}" for name, extent in extents.items())
    dtype = draw(st.sampled_from(["f32", "f64"]))
    return _legal(dtype, head, lines)


def _legal(dtype: str, head: str, lines: list[str]) -> Nest:
    """Return the nest of the lines; one that reduces wherever something is to be reduced."""
    try:
        return parse("\n".join([f"{dtype} {head}", *lines]))
    except ProgramError:
        fixed = [line.replace("] = ", "] += ") for line in lines]
        return parse("\n".join([f"{dtype} {head} z=1", *fixed, "last[z] += 1"]))


def _values(written: tuple[tuple[str, tuple[str, ...]], ...], number: int) -> st.SearchStrategy[str]:
    """Return expressions, whose inputs are new ones of each statement, so that no two ranks differ."""
    index = st.builds(
        lambda name, by, more, offset: f"{by}*{name}{more}+{offset}",
        st.sampled_from(ITERATORS),
        st.integers(1, 2),
        st.sampled_from(["", *(f"+{name}" for name in ITERATORS)]),
        st.integers(0, 2),
    )
    inputs = [index.map(lambda text: f"x{number}[{text}]")]
    inputs += [st.tuples(index, index).map(lambda pair: f"y{number}[{pair[0]},{pair[1]}]")]
    inputs += [st.just(f"{name}[{','.join(free)}]") for name, free in written]
    leaf = st.one_of(*inputs, st.sampled_from(["0.5", "2", "3.25"]))

    def larger(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        both = st.tuples(part, part)
        operators = st.sampled_from("+-*/")
        return st.one_of(
            st.builds(lambda pair, sign: f"({pair[0]} {sign} {pair[1]})", both, operators),
            st.builds(
                lambda pair, name: f"{name}({pair[0]}, {pair[1]})", both, st.sampled_from(["max", "min"])
            ),
            st.builds(lambda one, name: f"{name}({one})", part, st.sampled_from(["abs", "tanh", "-"])),
        )

    return st.recursive(leaf, larger, max_leaves=5)


def tree_of(nest: Nest, sketch: Sketch) -> Tree:
    """Return the tree of a sketch, without checking that it is legal."""

    def build(numbers: Sequence[int], depth: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        at = 0
        while at < len(numbers):
            loops = sketch.loops[numbers[at]]
            if depth == len(loops):
                nodes.append(Leaf(numbers[at]))
                at += 1
                continue
            end = at + 1
            while end < len(numbers) and sketch.shared[numbers[end]] > depth:
                end += 1
            level = loops[depth]
            body = build(numbers[at:end], depth + 1)
            nodes.append(Loop(level.iterator, level.step, body, level.kind, level.packs))
            at = end
        return tuple(nodes)

    return Tree(nest, build(range(len(nest.statements)), 0))


def chains(
    nodes: tuple[Node, ...], above: tuple[Loop, ...], shared: int
) -> Iterable[tuple[int, tuple[Loop, ...], int]]:
    """Yield each statement, the loops around it, and how many of these contain other statements too."""
    for node in nodes:
        if isinstance(node, Leaf):
            yield node.statement, above, shared
        else:
            yield from chains(node.body, (*above, node), shared + (len(set(leaves_of(node))) > 1))


def features(tree: Tree, vector_bytes: int) -> Any:
    """Return the features of a tree's statements."""
    return Featurizer(tree.nest, vector_bytes).rows(chains(tree.roots, (), 0))
