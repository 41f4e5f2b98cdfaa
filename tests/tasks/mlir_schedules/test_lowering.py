"""What every schedule is brought to: no tensor, no linalg op and no call of a library is left."""

from __future__ import annotations

import re

import numpy as np
import pytest

from burnish.tasks.mlir_schedules import bindings, lowering
from burnish.tasks.mlir_schedules.kernel import CompiledSchedule, LoweringFailed, code_digest, lowered
from burnish.tasks.mlir_schedules.memory_plan import BODY
from burnish.tasks.mlir_schedules.payload import Payload
from tests.tasks.mlir_schedules.small import SMALL, opened

M = "matmul#1"
PACKED = [f"{M}: {text}" for text in ("tile(0, 4)", "tile(1, 8)", "pack(1, 2)", "tile(2, 1)", "vectorize")]


@pytest.mark.parametrize("name", SMALL)
def test_all_of_it_is_llvm_dialect(name: str) -> None:
    text = str(lowered(opened(name).payload))
    assert set(re.findall(r"^ *(?:%\S+ = )?\"?([a-z_]+)\.", text, re.MULTILINE)) <= {"llvm", "module"}
    called = re.findall(r"llvm\.call @([\w.]+)", text)
    assert set(called) <= {BODY, "malloc", "free", "memcpy", "expf", "exp", "tanhf", "erff", "rsqrtf"}
    assert called.count("malloc") == called.count("free") == called.count(BODY) <= 1


def test_kernel_takes_a_pointer_for_each_array() -> None:
    text = str(lowered(opened("layer").payload))
    (arguments,) = re.findall(r"llvm\.func @kernel\((.*?)\)(?: attributes)? ", text)
    assert arguments.count("!llvm.ptr {llvm.noalias}") == 4 == arguments.count("%arg")


def test_packed_operand_is_padded_into_memory_of_its_own() -> None:
    module = bindings.clone(opened("matmul", *PACKED).payload.module)
    assert "tensor.pad" in str(module)
    script = lowering.finish(module)
    assert "tensor.pad" not in str(module)
    assert "rewrite_in_destination_passing_style" in script
    assert "vector.contract" not in str(module)
    assert "vector<8xf32>" in str(module)


def test_softmax_is_decomposed_where_no_action_did() -> None:
    module = bindings.clone(opened("softmax").payload.module)
    assert "linalg.softmax" in str(module)
    assert "decompose_interface" in lowering.finish(module)
    assert "linalg.softmax" not in str(module)


def test_session_is_not_changed_by_being_compiled() -> None:
    session = opened("matmul", *PACKED)
    before = session.digest()
    CompiledSchedule(session.payload)
    assert session.digest() == before


def test_same_schedule_is_the_same_code_and_another_is_other_code() -> None:
    first, again, other = (
        code_digest(lowered(opened("matmul", *trace).payload)) for trace in (PACKED, PACKED, PACKED[:2])
    )
    assert first == again != other


def test_every_element_of_an_output_is_written() -> None:
    session = opened("matmul", *PACKED)
    trial = session.shared.trial
    for array in trial.outputs:
        array.fill(np.nan)
    CompiledSchedule(session.payload).run(trial.arrays)
    assert all(np.isfinite(array).all() for array in trial.outputs)


def test_code_that_calls_what_is_not_there_is_refused() -> None:
    session = opened("add")
    text = str(session.payload.module).replace(
        "func.func @kernel", "func.func private @nowhere()\n  func.func @kernel"
    )
    text = text.replace("    return\n", "    call @nowhere() : () -> ()\n    return\n")
    broken = Payload(bindings.parse(text), session.payload.inputs, session.payload.outputs)
    with pytest.raises(LoweringFailed):
        CompiledSchedule(broken)
