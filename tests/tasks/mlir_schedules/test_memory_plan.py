"""Buffers share memory where none of them is needed while another is, and code gets all of it at once."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch_mlir")

from hypothesis import given
from hypothesis import strategies as some
from numpy.typing import NDArray

from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.kernel import CompiledSchedule, lowered
from burnish.tasks.mlir_schedules.memory_plan import BODY, Lifetime, MemoryPlace, plan_memory, share
from tests.tasks.mlir_schedules.small import opened

BUFFERS = """
func.func @kernel(%x: memref<64xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<64xf32>
  %a = memref.alloc() : memref<64xf32>
  memref.store %v, %a[%c0] : memref<64xf32>
  %b = memref.alloc() : memref<3x5xf64>
  memref.dealloc %a : memref<64xf32>
  %c = memref.alloc() : memref<60xi1>
  %unknown = memref.alloc(%n) : memref<?xf32>
  memref.store %v, %unknown[%c0] : memref<?xf32>
  memref.dealloc %unknown : memref<?xf32>
  memref.dealloc %b : memref<3x5xf64>
  memref.dealloc %c : memref<60xi1>
  %nested = memref.alloc() : memref<64xf32>
  %large = arith.cmpi sgt, %n, %c0 : index
  scf.if %large {
    memref.dealloc %nested : memref<64xf32>
  }
  return
}
"""


def test_largest_buffers_come_first_and_the_others_where_nothing_is_then() -> None:
    """Of 256, 120 and 60 bytes the first and the last are there at different times."""
    places = share([256, 120, 60], [Lifetime(0, 3), Lifetime(2, 8), Lifetime(4, 9)])
    assert places == [MemoryPlace(256, [0, 2]), MemoryPlace(120, [1])]
    assert [place.reserved for place in places] == [256, 128]


def test_a_buffer_that_ends_where_another_begins_is_beside_it() -> None:
    assert len(share([8, 8], [Lifetime(0, 4), Lifetime(4, 6)])) == 2
    assert len(share([8, 8], [Lifetime(0, 4), Lifetime(5, 6)])) == 1


@given(some.lists(some.tuples(some.integers(1, 300), some.integers(0, 20), some.integers(0, 9)), max_size=20))
def test_every_buffer_has_a_place_that_is_large_enough_and_its_own(drawn: list[tuple[int, int, int]]) -> None:
    sizes = [size for size, _, _ in drawn]
    lifetimes = [Lifetime(first, first + length) for _, first, length in drawn]
    places = share(sizes, lifetimes)
    assert sorted(number for place in places for number in place.members) == list(range(len(drawn)))
    for place in places:
        assert place.size == max(sizes[number] for number in place.members)
        ops = [op for n in place.members for op in range(lifetimes[n].first, lifetimes[n].last + 1)]
        assert len(ops) == len(set(ops))
    assert [place.size for place in places] == sorted((place.size for place in places), reverse=True)


def test_kernel_allocates_one_block_for_what_is_known() -> None:
    """64 floats, or 60 truths in their place; 15 doubles beside them; what is freed elsewhere stays."""
    module = bindings.parse(BUFFERS)
    plan_memory(module)
    assert module.operation.verify()
    text = str(module)
    (caller,) = re.findall(r"func\.func @kernel\(.*?\n  }", text, re.DOTALL)
    assert re.findall(r"memref\.alloc\(.*: (\S+)", caller) == [f"memref<{256 + 128}xi8>"]
    assert re.findall(r"memref\.view %\S+\[%(\S+)\]\[\] : \S+ to (\S+)", caller) == [
        *(("c0", "memref<256xi8>"), ("c256", "memref<120xi8>"))
    ]
    assert f"call @{BODY}(%arg0, %arg1, %view, %view_0)" in caller
    (body,) = re.findall(rf"func\.func @{BODY}\(.*?\n  }}", text, re.DOTALL)
    assert re.findall(r"memref\.view (%\w+)\[.*to (\S+)", body) == [
        *(("%arg2", "memref<64xf32>"), ("%arg3", "memref<3x5xf64>"), ("%arg2", "memref<60xi1>"))
    ]
    assert re.findall(r"memref\.(alloc|dealloc)\b.*: (\S+)", body) == [
        *(("alloc", "memref<?xf32>"), ("dealloc", "memref<?xf32>")),
        *(("alloc", "memref<64xf32>"), ("dealloc", "memref<64xf32>")),
    ]


def test_kernel_without_buffers_allocates_nothing() -> None:
    assert "malloc" not in str(lowered(opened("add").payload))


def test_buffers_of_loops_are_allocated_once() -> None:
    """Blocks of an operand, stored anew in each iteration."""
    trace = [f"matmul#1: {text}" for text in ("tile(0, 4)", "tile(1, 8)", "tile(2, 3)", "pack(1, 1)")]
    text = str(lowered(opened("matmul", *trace).payload))
    assert text.count("llvm.call @malloc") == 1 == text.count(f"llvm.call @{BODY}")


@pytest.mark.parametrize("name", ["mlp", "attention", "norm"])
def test_calls_of_several_threads_share_nothing(name: str) -> None:
    session = opened(name)
    trial, compiled = session.shared.trial, CompiledSchedule(session.payload)
    compiled.run(trial.arrays)
    expected = [array.copy() for array in trial.outputs]
    outputs = [[np.empty_like(array) for array in trial.outputs] for _ in range(8)]

    def run_often(mine: list[NDArray[Any]]) -> None:
        for _ in range(50):
            compiled.run([*trial.inputs, *mine])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run_often, outputs))
    for mine in outputs:
        for array, other in zip(mine, expected, strict=True):
            np.testing.assert_array_equal(array, other)
