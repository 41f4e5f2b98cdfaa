"""What the shipped policies choose first, unmeasured, for machines with AVX2 and with AVX-512."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.policies.find import shipped
from burnish.tasks.loop_nests.api.schedule import follow
from burnish.tasks.loop_nests.boxes import LoopBoxes, StatementFacts
from burnish.tasks.loop_nests.families import find
from burnish.tasks.loop_nests.features import COLUMNS
from burnish.tasks.loop_nests.nest import DType, Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy.proposals import KIND, propose
from burnish.tasks.loop_nests.streams import detour, run_bytes, stream_of
from burnish.tasks.loop_nests.tiles import MOST_LINES, emitted_lines
from burnish.tasks.loop_nests.tree import Loop, Tree, naive
from burnish.tasks.tensors.policy.cost_model import CostModel, load_cost_model
from tests.tasks.loop_nests.nests import chains, features

MACHINES = {"avx2": 32, "avx512": 64}
FDTD = {  # of PolyBench's fdtd-2d, 1000 x 1200
    "ey": "i=999 j=1200\no[i,j] = e[i+1,j] - 0.5*(h[i+1,j] - h[i,j])",
    "ex": "i=1000 j=1199\no[i,j] = e[i,j+1] - 0.5*(h[i,j+1] - h[i,j])",
    "hz": "i=999 j=1199\no[i,j] = h[i,j] - 0.7*(x[i,j+1] - x[i,j] + y[i+1,j] - y[i,j])",
}
machines = pytest.mark.parametrize("machine", MACHINES)


def model_of(machine: str) -> CostModel:
    return load_cost_model(shipped()[f"loop_nests-seconds-{machine}"], COLUMNS, KIND)


def first_choice(nest: Nest, machine: str) -> Tree:
    return follow(nest, next(propose(nest, model_of(machine), MACHINES[machine])))


def loops_of(tree: Tree) -> tuple[Loop, ...]:
    ((_, loops, _),) = chains(tree.roots, (), 0)
    return loops


def values_of_row(tree: Tree) -> int:
    return next(place.extent for place in tree.places.values() if place.loop.kind == "vectorize")


def has_tile(tree: Tree) -> bool:
    return "[vectorize]" in str(tree) and emitted_lines(tree, 2 * MOST_LINES) <= MOST_LINES


@machines
@pytest.mark.parametrize("extents", [(190, 210, 220), (1140, 42, 173), (139, 510, 748), (983, 83, 820)])
def test_products_whose_tiles_leave_much_over_have_code_that_fits(
    machine: str, extents: tuple[int, int, int]
) -> None:
    """The first proposal for one of these had 21,530 lines."""
    dtype: DType = "f64" if extents[0] == 190 else "f32"
    assert has_tile(first_choice(find(f"matmul:{'x'.join(map(str, extents))}", dtype), machine))


CONTRACTIONS = (
    ("c[m,n] += a[m,k] * b[k,n]", "mnk"),
    ("c[m,n] += a[k,m] * b[n,k]", "mnk"),
    ("c[b,m,n] += x[b,m,k] * y[b,k,n]", "bmnk"),
    ("o[y,x,f] += a[y+i,x+j,c] * w[i,j,c,f]", "yxfcij"),
)


@pytest.mark.slow
@machines
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_contractions_of_any_extents_are_never_naive(machine: str, data: st.DataObject) -> None:
    statement, names = data.draw(st.sampled_from(CONTRACTIONS))
    most = 1200 if len(names) == 3 else 80
    extents = [data.draw(st.integers(1, 7 if name in "ij" else most), label=name) for name in names]
    dtype = data.draw(st.sampled_from(["f32", "f64"]))
    head = " ".join(f"{name}={size}" for name, size in zip(names, extents, strict=True))
    nest = parse(f"{dtype} {head}\n{statement}")
    if nest.flops > 1000:
        assert has_tile(first_choice(nest, machine))


@machines
@pytest.mark.parametrize("name", FDTD)
def test_large_stencils_go_row_by_row(name: str, machine: str) -> None:
    nest = parse(f"f64 {FDTD[name]}")
    tree = first_choice(nest, machine)
    facts = StatementFacts(nest, 0, MACHINES[machine])
    stream, boxes = stream_of(facts), LoopBoxes(facts, loops_of(tree), 0)
    assert stream
    assert run_bytes(stream, boxes) >= nest.extents["j"] * nest.itemsize
    assert detour(stream, boxes) < 0.3
    assert values_of_row(tree) <= 8 * MACHINES[machine] // nest.itemsize


@machines
@pytest.mark.parametrize("extents", ["1x4096x4096", "4096x1x4096"])
def test_a_matrix_that_is_read_once_is_not_copied(extents: str, machine: str) -> None:
    tree = first_choice(find(f"matmul:{extents}"), machine)
    matrix = "b" if extents.startswith("1x") else "a"
    assert not any(matrix in place.loop.packs for place in tree.places.values())


def test_what_never_varied_in_training_says_nothing() -> None:
    """The policy of AVX-512 has seen numbers of 4 bytes only: of 8, it cannot know what they cost."""
    rows, both = features(naive(find("matmul:700x800x900")), 64), model_of("avx2")
    before = model_of("avx512").log2_seconds([rows]), both.log2_seconds([rows])
    rows[0][COLUMNS.index("bytes of an element")] = 8 / 8
    assert model_of("avx512").log2_seconds([rows]) == before[0]
    assert both.log2_seconds([rows]) != before[1]  # has seen numbers of 8 bytes, too
