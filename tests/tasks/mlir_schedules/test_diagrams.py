"""Ops, tensors and loops of a module as diagrams."""

from __future__ import annotations

from burnish.core.diagram import Diagram
from burnish.tasks.mlir_schedules.diagrams import loops, ops
from tests.tasks.mlir_schedules.small import opened

TILED = ("matmul#1: tile(0, 2)", "matmul#1: tile(1, 8)", "matmul#1: tile(2, 1)")


def drawn(draw: object, *trace: str) -> Diagram:
    return draw(str(opened("layer", *trace).observe("module")), "")  # type: ignore[operator, no-any-return]


def arrows(diagram: Diagram) -> set[tuple[str, str]]:
    return {(one.source, one.target) for one in diagram.arrows}


def test_ops_read_tensors_of_ops_and_inputs() -> None:
    found = drawn(ops)
    assert [block.title for block in found.blocks] == [
        "input 12x8",
        "input 8x16",
        "input 16",
        "fill#0 12x16",
        "matmul#1 12x16",
        "generic#2 12x16",
        "generic#3 12x16",
        "output 12x16",
    ]
    assert arrows(found) == {
        ("input %arg0", "matmul#1"),
        ("input %arg1", "matmul#1"),
        ("fill#0", "matmul#1"),
        ("matmul#1", "generic#2"),
        ("input %arg2", "generic#2"),
        ("generic#2", "generic#3"),
        ("generic#3", "output %arg3"),
    }


def test_loops_and_slices_pass_tensors_on() -> None:
    assert arrows(drawn(ops, *TILED)) == arrows(drawn(ops))
    assert arrows(drawn(ops, "generic#3: tile_parallel(0, 2)")) == arrows(drawn(ops))
    vectors = {(source, target) for source, target in arrows(drawn(ops, *TILED, "matmul#1: vectorize"))}
    assert ("fill#0", "vector.contract 0") in vectors
    assert ("vector.contract 0", "generic#2") in vectors


def test_loops_are_a_tree_with_their_steps() -> None:
    found = drawn(loops, *TILED)
    titles = {block.name: block.title for block in found.blocks}
    assert titles["loop matmul#1/0"] == "loop matmul#1/0: 0 to 12 by 2"
    assert titles["matmul#1"] == "matmul#1 2x8"
    assert arrows(found) == {
        ("", "fill#0"),
        ("", "loop matmul#1/0"),
        ("loop matmul#1/0", "loop matmul#1/1"),
        ("loop matmul#1/1", "loop matmul#1/2"),
        ("loop matmul#1/2", "matmul#1"),
        ("", "generic#2"),
        ("", "generic#3"),
    }


def test_parallel_loop_names_its_iterations() -> None:
    found = drawn(loops, "generic#3: tile_parallel(0, 2)")
    assert "loop generic#3/0: 6 in parallel" in {block.title for block in found.blocks}
