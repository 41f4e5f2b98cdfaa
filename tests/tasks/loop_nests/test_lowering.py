"""What loop trees become: numbers as NumPy's, memory for what is needed in between, threads."""

from __future__ import annotations

import re

import numpy as np
import pytest

from burnish.core.trace import split_entry
from burnish.tasks.loop_nests.actions import apply
from burnish.tasks.loop_nests.kernel import Bench, CodeTooLong, CompiledNest
from burnish.tasks.loop_nests.lowering.lower import lower
from burnish.tasks.loop_nests.nest import DTYPES
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.tiles import LOOP_LINES, emitted_lines
from burnish.tasks.loop_nests.tree import Tree, naive
from burnish.tasks.tensors.arrays import Array, aligned
from burnish.tasks.tensors.machine import Machine, host


def scheduled(text: str, *entries: str) -> Tree:
    tree = naive(parse(text))
    for entry in entries:
        site, action = split_entry(entry)
        after = apply(tree, action, tree.places[site])
        assert after is not None, f"{entry} is illegal:\n{tree}"
        tree = after
    return tree


def computed(tree: Tree, **inputs: Array) -> Array:
    nest = tree.nest
    arrays = {name: aligned(nest.shapes[name], DTYPES[nest.dtype]) for name in (*nest.inputs, *nest.outputs)}
    for name, values in inputs.items():
        arrays[name][...] = values
    CompiledNest(tree, host()).run(arrays)
    return arrays[nest.outputs[0]]


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1000.0, -1000.0, 88.0, -87.0, -103.0, 709.0, -745.0]


@pytest.mark.parametrize("vector", [True, False])
@pytest.mark.parametrize(("dtype", "function", "most"), [
    ("f32", "exp", 1.0), ("f64", "exp", 1.0), ("f32", "tanh", 3.0), ("f64", "tanh", 3.0),
])  # fmt: skip
def test_functions_are_right_to_the_last_places(dtype: str, function: str, most: float, vector: bool) -> None:
    entries = ("n: split(32)", "n.1: vectorize") if vector else ()
    tree = scheduled(f"{dtype} n=4000\no[n] = {function}(x[n])", *entries)
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=1988) * 30, rng.normal(size=2000) * 0.01, SPECIAL])
    x = x.astype(DTYPES[tree.nest.dtype])
    with np.errstate(all="ignore"):
        exact = getattr(np, function)(x.astype(np.longdouble))
        rounded = exact.astype(x.dtype)
    found = computed(tree, x=x)
    finite = np.isfinite(rounded)
    apart = np.abs(found[finite] - exact[finite])
    assert np.all(apart <= most * np.spacing(np.abs(rounded[finite])))
    np.testing.assert_array_equal(found[~finite], rounded[~finite])


@pytest.mark.parametrize("entries", [(), ("n: vectorize",), ("n: split(8)", "n.1: vectorize")])
def test_nan_stays_in_largest_and_smallest(entries: tuple[str, ...]) -> None:
    x = np.arange(24, dtype=np.float32)
    x[3] = np.nan
    for statement, numpys in (
        ("o[n] = max(x[n], 5)", np.maximum(x, 5)),
        ("o[n] = min(5, x[n])", np.minimum(5, x)),
        ("o[n] = max(x[n], y[n])", np.maximum(x, x[::-1])),
    ):
        tree = scheduled(f"f32 n=24\n{statement}", *entries)
        both = {"x": x, "y": x[::-1]}
        found = computed(tree, **{name: both[name] for name in tree.nest.inputs})
        np.testing.assert_array_equal(found, numpys)
    largest = scheduled("f32 m=1 n=24\no[m] max= x[n]", *entries)
    assert np.isnan(computed(largest, x=x)[0])


@pytest.mark.parametrize("entries", [
    ("x: vectorize",), ("x: split(16)", "x.1: vectorize"), ("y: swap_down", "y: vectorize"),
])  # fmt: skip
def test_vectors_of_elements_that_are_apart(entries: tuple[str, ...]) -> None:
    """Two apart ends with the last element that is there; a target's own steps count, too."""
    tree = scheduled("f32 y=5 x=40\no[y,x] = a[y,2*x] + b[x,y]", *entries)
    Bench(tree.nest).check(CompiledNest(tree, host()))


def test_what_is_only_needed_in_between_is_as_small_as_its_loops() -> None:
    text = "f32 m=64 n=48\nt[m,n] = a[m,n] * 2\no[m,n] = t[m,n] + 1"
    whole = scheduled(text)
    row = scheduled(text, "m.1: fuse")
    part = scheduled(text, "n: split(16)", "n.2: split(16)", "m.1: fuse", "n.2: fuse")
    assert [lower(tree, 32).scratch_bytes for tree in (whole, row, part)] == [64 * 48 * 4, 48 * 4, 16 * 4]
    for tree in (whole, row, part):
        Bench(tree.nest).check(CompiledNest(tree, host()))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_share_the_outermost_loop(threads: int) -> None:
    """With what is left over by it, copies, and temporary tensors of each thread's own."""
    text = "f32 m=50 n=24 k=9\nc[m,n] += a[m,k] * b[k,n]\nr[m,n] = max(c[m,n], 0)"
    entries = ("m: split(8)", "m.2: split(8)", "m.2: fuse", "m.1: pack(0)", "m: parallel")
    tree = scheduled(text, *entries)
    machine = Machine(host().cpu, host().features, threads)
    bench = Bench(tree.nest)
    compiled = CompiledNest(tree, machine)
    for _ in range(20):
        bench.check(compiled)
    assert lower(tree, 32).thread_bytes >= 8 * 24 * 4


def test_sums_of_products_are_fused() -> None:
    tree = scheduled("f32 m=6 n=32 k=8\nc[m,n] += a[m,k] * b[k,n]", "k: swap_up", "n: vectorize")
    text = lower(tree, 32).text
    assert re.search(r"fmul contract <8 x float>", text)
    assert re.search(r"fadd contract <8 x float>", text)


def test_code_is_counted_with_what_is_left_over() -> None:
    """10 = 3 * 3 + 1 in two dimensions: 9 + 3 + 3 + 1 values of four bodies, in 2 + 4 loops."""
    text = "f32 y=10 x=10\no[y,x] = a[y,x]"
    tree = scheduled(text, "y: split(3)", "x: split(3)", "y.1: swap_down", "x.1: unroll", "y.1: unroll")
    value = 2 * 2  # a load and a store, with their addresses
    assert emitted_lines(tree, 1000) == 16 * value + (2 + 4) * LOOP_LINES
    assert emitted_lines(naive(tree.nest), 1000) == value + 2 * LOOP_LINES


def test_loops_in_what_is_unrolled_are_counted_for_each_iteration() -> None:
    """64 bodies with a loop in each, and 64 loads one by one where a vector's elements are apart."""
    text = "f32 m=64 k=64\nc[m] += a[k,m]"
    unrolled = scheduled(text, "m: unroll")
    body = 1 + 2 * 2  # an addition, a load and a store
    assert emitted_lines(unrolled, 10**6) == 64 * (body + LOOP_LINES)
    apart = scheduled(text, "k: vectorize")
    assert emitted_lines(apart, 10**6) == LOOP_LINES + 8 * (body + 2 * 8)


def test_code_that_is_too_long_is_not_compiled() -> None:
    """17 = 2 * 8 + 1 and 8 = 2 * 3 + 2: bodies of 3, 2 and 1 values in each of five dimensions."""
    steps = ("{}: split(8)", "{}.1: split(3)", "{}.2: unroll")
    extents = " ".join(f"{name}=17" for name in "abcde")
    entries = [step.format(name) for name in "abcde" for step in steps]
    tree = scheduled(f"f32 {extents}\no[a,b,c,d,e] = x[a,b,c,d,e]", *entries)
    assert emitted_lines(tree, 10**6) > 6**5 * 4
    with pytest.raises(CodeTooLong, match="split by divisors"):
        CompiledNest(tree, host())


@pytest.mark.parametrize(("vector_bytes", "held"), [(32, 8), (64, 16)])
def test_what_reduces_nothing_holds_no_more_values_than_there_is_room_for(
    vector_bytes: int, held: int
) -> None:
    """32 vectors would need twice as many registers as AVX2 has, if all were there before the first store."""
    count = 32 * vector_bytes // 8
    tree = scheduled(f"f64 n={count}\no[n] = 2 * x[n]", "n: vectorize")
    kinds = re.findall(r"= (fmul)|(store) <", lower(tree, vector_bytes).text)
    order = "".join("m" if product else "s" for product, _ in kinds)
    assert order == ("m" * held + "s" * held) * (32 // held)
