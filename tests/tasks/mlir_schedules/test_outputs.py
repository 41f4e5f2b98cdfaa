"""Schedules are C functions: objects and shared objects, with headers that say what arrays they take."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch_mlir")

from burnish.cli import main
from burnish.core.errors import CompileError, InputError
from burnish.core.program import Program
from burnish.llvm.toolchain import find_tool
from burnish.tasks.mlir_schedules import TASK
from burnish.tasks.mlir_schedules.outputs import function_name, link_shared, write_header
from burnish.tasks.mlir_schedules.reference.evaluate import evaluate
from burnish.tasks.mlir_schedules.session import ScheduleSession
from burnish.tasks.tensors.c_interface import check_name
from tests.tasks.mlir_schedules.small import opened, small

MATMUL = ("matmul#1: tile(0, 4)", "matmul#1: tile(1, 3)", "matmul#1: pack(1, 2)", "matmul#1: vectorize")

PROGRAM = """
#include "matmul_20x24x9.h"
#include "softmax_6x16.h"
#include <stdio.h>

float a[20 * 9 + 1], b[9 * 24 + 1], c[20 * 24], x[6 * 16], y[6 * 16];

int main(void) {
    for (int i = 0; i < 20 * 9; i++) a[i + 1] = i % 7 - 3;
    for (int i = 0; i < 9 * 24; i++) b[i + 1] = i % 5 - 2;
    for (int i = 0; i < 6 * 16; i++) x[i] = (i * 11) % 17 / 4.0f;
    matmul_20x24x9(a + 1, b + 1, c);
    softmax_6x16(x, y);
    for (int i = 0; i < 20 * 24; i++) printf("%a\\n", c[i]);
    for (int i = 0; i < 6 * 16; i++) printf("%a\\n", y[i]);
}
"""


def test_c_programs_call_objects_of_several_schedules(tmp_path: Path) -> None:
    for session in (opened("matmul", *MATMUL), opened("softmax")):
        name = function_name(session.program.name)
        (tmp_path / f"{name}.o").write_bytes(TASK.files.emitters[".o"](session, (), "naive"))
        (tmp_path / f"{name}.h").write_bytes(TASK.files.emitters[".h"](session, (), "naive"))
    (tmp_path / "main.c").write_text(PROGRAM)
    objects = sorted(path.name for path in tmp_path.glob("*.o"))
    command = [str(find_tool("clang")), "-Wall", "-Werror", "main.c", *objects, "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    numbers = [float.fromhex(line) for line in said.split()]
    a = (np.arange(20 * 9) % 7 - 3.0).reshape(20, 9)
    b = (np.arange(9 * 24) % 5 - 2.0).reshape(9, 24)
    np.testing.assert_array_equal(numbers[: 20 * 24], (a @ b).ravel())
    x = ((np.arange(6 * 16) * 11) % 17 / 4).astype(np.float32).reshape(6, 16)
    (expected,) = evaluate(small("softmax").content.decode(), [x])
    np.testing.assert_allclose(numbers[20 * 24 :], expected.ravel(), rtol=1e-5)


def test_objects_need_the_c_library_alone() -> None:
    """And nothing in them moves code that is shared by processes."""
    code = opened("mlp").object_code()
    shared = link_shared(code)  # which refuses relocations of code
    assert shared.startswith(b"\x7fELF")


def test_command_writes_a_shared_object_and_its_header(tmp_path: Path) -> None:
    program = tmp_path / "twice.mlir"
    program.write_bytes(small("add").content)
    output = tmp_path / "twice.so"
    words = ["--task", "mlir_schedules", "--search", "random", "--budget", "2", "--workers", "1"]
    assert main(["optimize", str(program), *words, "-o", str(output)]) == 0
    assert "void twice(const float *input0, const float *input1, float *output0);" in (
        output.with_suffix(".h").read_text()
    )
    function = ctypes.CDLL(str(output)).twice
    x, y, z = (np.full((12, 32), value, dtype=np.float32) for value in (1, 2, 0))
    function(*(ctypes.c_void_p(array.ctypes.data) for array in (x, y, z)))
    np.testing.assert_array_equal(z, 3)


def test_headers_say_what_arrays_are_taken() -> None:
    session = opened("matmul")
    text = str(session.observe("c_header"))
    for line in ("const float input0[20][9]", "const float input1[9][24]", "float output0[20][24]"):
        assert f" *   {line}\n" in text
    doubles = small("add").content.replace(b"f32", b"f64")
    payload = TASK.open(Program("doubles", "mlir", doubles))
    assert isinstance(payload, ScheduleSession)
    assert "const double *input0" in write_header(payload.payload, "doubles")


def test_functions_are_called_after_programs() -> None:
    assert function_name("folder/my-model.mlir") == "my_model"
    assert function_name("matmul:4x8x2") == "matmul_4x8x2"
    assert function_name("18.mlir") == "mlir_18"
    assert function_name("int.mlir") == "mlir_int"
    with pytest.raises(InputError, match="'my model' is not a name of a C function"):
        check_name("my model")


def test_what_cannot_be_linked_is_said() -> None:
    with pytest.raises(CompileError, match="cannot be linked"):
        link_shared(b"nothing")
