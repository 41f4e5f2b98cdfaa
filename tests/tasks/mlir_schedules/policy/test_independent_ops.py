"""Programs of one op of another program."""

from __future__ import annotations

import numpy as np
import pytest

from burnish.tasks.mlir_schedules.kernel import Trial
from burnish.tasks.mlir_schedules.policy.independent_ops import part
from burnish.tasks.mlir_schedules.programs import program
from burnish.tasks.mlir_schedules.session import open_program
from burnish.tasks.mlir_schedules.sketches import opened
from tests.tasks.mlir_schedules.small import SMALL, small

BODY = """func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  %q = linalg.matmul ins(%p, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  %r = linalg.matmul ins(%q, %b : tensor<4x8xf32>, tensor<8x8xf32>) outs(%p : tensor<4x8xf32>)
      -> tensor<4x8xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%r : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%x: f32, %y: f32):
    %t = arith.mulf %x, %two : f32
    linalg.yield %t : f32
  } -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}"""


def test_ops_that_are_alike_have_the_same_text() -> None:
    payload = open_program(program(BODY, "chain")).payload
    first, second, third = (part(payload, f"matmul#{number}") for number in (1, 2, 3))
    assert first.text == second.text
    assert "linalg.fill" in first.text and first.text.count("%arg") >= 2
    assert third.text != first.text  # it starts from what another op made
    assert "linalg.fill" not in third.text and "%arg2: tensor<4x8xf32>" in third.text


def test_arguments_of_the_program_are_cold() -> None:
    payload = open_program(program(BODY, "chain")).payload
    assert [part(payload, f"matmul#{number}").cold for number in (1, 2, 3)] == [(0, 1), (1,), (1,)]
    assert part(payload, "generic#4").cold == ()


def test_constants_of_a_body_come_along() -> None:
    payload = open_program(program(BODY, "chain")).payload
    trial = Trial(program(part(payload, "generic#4").text, "doubled").content.decode())
    np.testing.assert_allclose(trial.expected[0], 2 * trial.inputs[0])


@pytest.mark.parametrize("name", SMALL)
def test_parts_have_the_op_and_compute_what_numpy_does(name: str) -> None:
    session = open_program(small(name))
    before, ops = opened(session)
    session.replay(before)
    for site, op in ops.items():
        alone = open_program(program(part(session.payload, site).text, site))
        found = alone.ops.by_name[alone.ops.last].op
        assert (found.kind, found.extents, found.accesses) == (op.kind, op.extents, op.accesses)
        alone.compiled()  # compared
    assert session.trace == list(before)  # and the program is as it was
