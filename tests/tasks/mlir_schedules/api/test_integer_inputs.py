"""Programs that take whole numbers, such as tokens of an embedding, compute what torch does."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

pytest.importorskip("torch_mlir")

from burnish.cli import main
from burnish.core.errors import InputError
from burnish.schedules import ScheduledModule, compile_schedule
from burnish.tasks.mlir_schedules import TASK
from burnish.tasks.mlir_schedules.actions import INDEX
from burnish.tasks.mlir_schedules.api.from_torch.importing import import_module
from burnish.tasks.mlir_schedules.api.from_torch.networks import bert_layer
from burnish.tasks.mlir_schedules.outputs import link_shared
from burnish.tasks.mlir_schedules.programs import program
from burnish.tasks.mlir_schedules.reference.evaluate import evaluate
from burnish.tasks.mlir_schedules.reference.inputs import bounds_of, inputs_of

WORDS, LENGTH, WIDTH = 11, 6, 8
TOKENS = torch.tensor([[1, 4, 10, 0, 3, 3]])
MASK = torch.tensor([[1, 1, 1, 1, 0, 0]])
ARGMAX = """
func.func @main(%ids: tensor<6xi32>, %table: tensor<11x8xf32>) -> (tensor<6xi32>, tensor<6x8xf32>) {
  %one = arith.constant 1 : i32
  %empty = tensor.empty() : tensor<6xi32>
  %next = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%ids : tensor<6xi32>) outs(%empty : tensor<6xi32>) {
    ^bb0(%id: i32, %out: i32):
      %sum = arith.addi %id, %one : i32
      linalg.yield %sum : i32
  } -> tensor<6xi32>
  %rows = tensor.empty() : tensor<6x8xf32>
  %found = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<6xi32>) outs(%rows : tensor<6x8xf32>) {
    ^bb0(%id: i32, %out: f32):
      %row = arith.index_cast %id : i32 to index
      %column = linalg.index 1 : index
      %element = tensor.extract %table[%row, %column] : tensor<11x8xf32>
      linalg.yield %element : f32
  } -> tensor<6x8xf32>
  return %next, %found : tensor<6xi32>, tensor<6x8xf32>
}
"""


class Encoder(nn.Module):
    """BERT: words, positions (a buffer of whole numbers) and a mask, then a layer of the encoder."""

    positions: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(2 * LENGTH, WIDTH)
        self.register_buffer("positions", torch.arange(2 * LENGTH)[None])
        self.norm = nn.LayerNorm(WIDTH)
        self.layer = bert_layer(length=LENGTH, width=WIDTH, heads=2).module

    def forward(self, tokens: Any, mask: Any) -> Any:
        places = self.places(self.positions[:, : tokens.shape[1]])
        value = self.norm(self.words(tokens) + places)
        return self.layer(value * mask[:, :, None])


@pytest.fixture(scope="module")
def encoder() -> ScheduledModule:
    return ScheduledModule(Encoder().eval(), [TOKENS, MASK])


def test_an_embedding_is_what_torch_computes() -> None:
    module = nn.Embedding(WORDS, WIDTH).eval()
    found = import_module(module, [TOKENS])
    (computed,) = evaluate(found.text, [TOKENS.numpy(), *found.weights(module)])
    np.testing.assert_array_equal(computed, module(TOKENS).detach().numpy())
    scheduled = ScheduledModule(module, [TOKENS], ["generic#0: tile_parallel(0, 2)", "generic#0: tile(1, 4)"])
    torch.testing.assert_close(scheduled(TOKENS.flip(1)), module(TOKENS.flip(1)))


def test_bert_is_what_torch_computes_from_tokens(encoder: ScheduledModule) -> None:
    tokens, mask = TOKENS.flip(1), 1 - MASK
    torch.testing.assert_close(encoder(tokens, mask), Encoder().eval()(tokens, mask), rtol=1e-4, atol=1e-4)


def test_indices_are_made_in_range(encoder: ScheduledModule) -> None:
    text = encoder.function.program.content.decode()
    bounds = [bound for bound in bounds_of(text) if bound is not None]
    assert bounds == [WORDS, 2 * LENGTH]
    tokens, mask, *_ = inputs_of(text)
    assert tokens.dtype == np.int64 and tokens.min() >= 0 and tokens.max() < WORDS
    assert set(np.unique(mask)) == {0, 1}


def test_indices_out_of_range_are_refused(encoder: ScheduledModule) -> None:
    tokens = TOKENS.clone()
    tokens[0, 2] = WORDS
    with pytest.raises(InputError, match=r"input 0\[0, 2\] is 11; expected an index from 0 to 10"):
        encoder(tokens, MASK)
    with pytest.raises(InputError, match=r"input 0\[0, 0\] is -1; expected an index"):
        encoder(TOKENS - 2, MASK)
    with pytest.raises(InputError, match=r"input 1 is torch.float32 on cpu; expected torch.int64"):
        encoder(TOKENS, MASK.float())


def test_whole_numbers_come_out() -> None:
    ids, table = np.array([0, 10, 3, 4, 5, 9], np.int32), np.arange(88, dtype=np.float32).reshape(11, 8)
    function = compile_schedule(ARGMAX, ["generic#1: tile(0, 3)", "generic#0: tile(0, 2)"])
    following, rows = function(ids, table)
    np.testing.assert_array_equal(following, ids + 1)
    np.testing.assert_array_equal(rows, table[ids])


def test_indices_of_largest_elements_come_out() -> None:
    class Largest(nn.Module):
        def forward(self, value: Any) -> Any:
            return value.argmax(-1)

    value = torch.randn((3, 4), generator=torch.Generator().manual_seed(1))
    found = ScheduledModule(Largest().eval(), [value])
    torch.testing.assert_close(found(-value), (-value).argmax(-1))


def test_ops_that_look_up_elements_are_not_vectorized() -> None:
    session = TASK.open(program(ARGMAX, "argmax.mlir"))
    assert session.legal("generic#0")[INDEX["vectorize"]]
    session.apply_entry("generic#1: tile(0, 1)")
    assert not session.legal("generic#1")[INDEX["vectorize"]]


def test_c_programs_take_whole_numbers(tmp_path: Path) -> None:
    session = TASK.open(program(ARGMAX, "lookup.mlir"))
    header = str(session.observe("c_header"))
    assert "#include <stdint.h>" in header
    assert "const int32_t input0[6], indices from 0 to 10" in header
    assert "(const int32_t *input0, const float *input1, int32_t *output0, float *output1);" in header
    path = tmp_path / "lookup.so"
    path.write_bytes(link_shared(session.object_code()))
    ids, table = np.array([2, 0, 1, 4, 10, 9], np.int32), np.ones((11, 8), np.float32)
    following, rows = np.zeros(6, np.int32), np.zeros((6, 8), np.float32)
    arrays = (ids, table, following, rows)
    ctypes.CDLL(str(path)).lookup(*(ctypes.c_void_p(array.ctypes.data) for array in arrays))
    np.testing.assert_array_equal(following, ids + 1)
    np.testing.assert_array_equal(rows, 1)


def test_modules_of_tokens_are_imported_by_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text("from torch import nn\nwords = nn.Embedding(7, 4).eval()\n")
    assert main(["import-torch", "net.py:words", "--inputs", "1x3xi64", "-o", "net.mlir"]) == 0
    assert "net.mlir: 1 generic\n" in capsys.readouterr().out
    assert "%arg0: tensor<1x3xi64>" in Path("net.mlir").read_text()
    assert main(["import-torch", "net.py:words", "--inputs", "1x3xi8", "-o", "net.mlir"]) == 2
    assert "expected a shape such as 1x3x224x224, or 1x128xi64" in capsys.readouterr().err
