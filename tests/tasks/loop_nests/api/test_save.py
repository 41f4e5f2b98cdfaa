"""What is saved is a C function: compiled programs compute with it what NumPy does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish import loops
from burnish.core.errors import InputError, UnknownName
from burnish.llvm.toolchain import find_tool
from burnish.loops import CompiledKernel
from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.api.compilation import read
from burnish.tasks.loop_nests.api.kernel import CompiledKernel as Kernel
from burnish.tasks.loop_nests.api.schedule import Schedule
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.session import open_nest
from burnish.tasks.loop_nests.sketches import trace_of
from burnish.tasks.tensors.machine import Machine, host, machine_of
from burnish.workers.sandbox import Sandbox

STRICT = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
CPUS = (None, "x86-64", "x86-64-v3", "x86-64-v4")
SOFTMAX = "h[m] max= a[m,n]\ne[m,n] = exp(a[m,n] - h[m])\ns[m] += e[m,n]\no[m,n] = e[m,n] / s[m]"
PROGRAM = """
#include "product.h"
#include "softmax.h"
#include <stdio.h>
#include <stdlib.h>

#define M PRODUCT_EXTENT_m
#define N PRODUCT_EXTENT_n
#define K PRODUCT_EXTENT_k

static void *scratch(size_t bytes) { return bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL; }

int main(void) {
  static float a[M][K], b[K][N], c[M][N];
  static double x[SOFTMAX_EXTENT_m][SOFTMAX_EXTENT_n], y[SOFTMAX_EXTENT_m][SOFTMAX_EXTENT_n];
  if (fread(a, sizeof a, 1, stdin) + fread(b, sizeof b, 1, stdin) + fread(x, sizeof x, 1, stdin) != 3)
    return 1;
  void *for_product = scratch(PRODUCT_SCRATCH_BYTES), *for_softmax = scratch(SOFTMAX_SCRATCH_BYTES);
  product(&a[0][0], &b[0][0], &c[0][0], for_product);
  softmax(&x[0][0], &y[0][0], for_softmax);
  fwrite(c, sizeof c, 1, stdout);
  fwrite(y, sizeof y, 1, stdout);
  free(for_product);
  free(for_softmax);
  return 0;
}
"""


def compilers() -> list[Any]:
    gcc = shutil.which("gcc")
    missing = pytest.mark.skipif(gcc is None, reason="there is no gcc")
    return [pytest.param("clang", id="clang"), pytest.param(gcc, id="gcc", marks=missing)]


@pytest.fixture(scope="module")
def product() -> CompiledKernel:
    """Return a kernel with tiles, tails, and a copy of an operand: it needs scratch memory."""
    nest = read("c[m,n] += a[m,k] * b[k,n]", "f32", {"m": 37, "n": 53, "k": 29})
    rng = np.random.default_rng(0)
    for _ in range(200):
        found = trace_of(nest, draw(nest, 32, rng))
        if found and "[pack" in str(found[1]) and "[vectorize]" in str(found[1]):
            return Kernel(nest, Schedule(found[0]))
    raise AssertionError("no such sketch")


@pytest.fixture(scope="module")
def softmax() -> CompiledKernel:
    return loops.compile(SOFTMAX, m=11, n=13, dtype="f64", policy="none", cache=False, threads=2)


@pytest.mark.parametrize("compiler", compilers())
@pytest.mark.parametrize("cpu", CPUS)
def test_a_c_program_computes_what_numpy_does(
    product: CompiledKernel, softmax: CompiledKernel, tmp_path: Path, compiler: str, cpu: str | None
) -> None:
    if cpu and not host().runs(machine_of(cpu)):
        pytest.skip(f"this machine is no {cpu}")
    product.save(tmp_path / "product", cpu=cpu)
    softmax.save(tmp_path / "softmax", cpu=cpu)
    (tmp_path / "main.c").write_text(PROGRAM)
    command = [str(find_tool("clang")), "-fuse-ld=lld"] if compiler == "clang" else [compiler]
    words = [*command, *STRICT, "main.c", "product.o", "softmax.o", "-lm", "-o", "main"]
    subprocess.run(words, cwd=tmp_path, check=True)
    rng = np.random.default_rng(0)
    a, b = (rng.random(shape, dtype=np.float32) for shape in product.inputs.values())
    x = rng.random((11, 13))
    given = a.tobytes() + b.tobytes() + x.tobytes()
    printed = subprocess.run(tmp_path / "main", input=given, capture_output=True, check=True).stdout
    size = a.shape[0] * b.shape[1] * 4
    c = np.frombuffer(printed[:size], np.float32).reshape(a.shape[0], -1)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    y = np.frombuffer(printed[size:]).reshape(x.shape)
    np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), rtol=1e-12)


def test_another_cpus_code_has_no_instructions_of_this_one(product: CompiledKernel, tmp_path: Path) -> None:
    registers = {"x86-64": "xmm", "x86-64-v3": "ymm", "x86-64-v4": "zmm"}
    for cpu, widest in registers.items():
        _, code = product.save(tmp_path / "product", cpu=cpu)
        listing = subprocess.run(
            [find_tool("llvm-objdump"), "-d", code], capture_output=True, text=True, check=True
        ).stdout
        found = [name for name in registers.values() if f"%{name}" in listing]
        assert found[-1] == widest


def test_a_header_is_cpp_too(softmax: CompiledKernel, tmp_path: Path) -> None:
    header, _ = softmax.save(tmp_path / "new" / "folder" / "softmax")
    words = ["-x", "c++", "-std=c++17", *STRICT[1:], "-fsyntax-only", str(header)]
    subprocess.run([str(find_tool("clang++")), *words], check=True)
    assert "void softmax(const double *a, double *o, void *scratch);" in header.read_text()


def test_names_that_c_does_not_take_are_others(tmp_path: Path) -> None:
    kernel = loops.compile("int[m] = scratch[m] + ok[m]", m=4, policy="none", cache=False)
    header, _ = kernel.save(tmp_path / "add")
    prototype = "void add(const float *tensor_0, const float *ok, float *tensor_2, void *scratch);"
    assert prototype in header.read_text()


@pytest.mark.parametrize("name", ["two words", "2nd", "for", "a-b", "kernel", "é"])
def test_a_file_has_a_functions_name(softmax: CompiledKernel, tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="is not a name of a C function"):
        softmax.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_unknown_cpus_are_named(softmax: CompiledKernel, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="no CPU named 'x86-64-v9'"):
        softmax.save(tmp_path / "softmax", cpu="x86-64-v9")


def test_a_folder_that_cannot_be_made_is_named(softmax: CompiledKernel, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot make this folder"):
        softmax.save(tmp_path / "file" / "softmax")


def test_a_machine_runs_what_it_has_the_features_of() -> None:
    without = Machine("some", "+avx,+avx2,-avx512f")
    assert without.runs(machine_of("x86-64-v3"))
    assert not without.runs(machine_of("x86-64-v4"))


def test_the_task_writes_the_same_files() -> None:
    nest = read("c[m,n] += a[m,k] * b[k,n]", "f32", {"m": 4, "n": 8, "k": 2})
    session = Sandbox(TASK.open, nest.program("folder/my product.nest"))
    try:
        header = TASK.files.emitters[".h"](session, (), "naive").decode()
        code = TASK.files.emitters[".o"](session, (), "naive")
    finally:
        session.shutdown()
    assert "void my_product(const float *a, const float *b, float *c, void *scratch);" in header
    assert code[:4] == b"\x7fELF"
    assert b"\0my_product\0" in code


def test_the_header_of_a_collapsed_loop_has_the_arrays_of_the_nest() -> None:
    session = open_nest(read("o[i,j] = 2 * a[i,j]", "f32", {"i": 3, "j": 5}).program("twice.nest"))
    before = TASK.files.emitters[".h"](session, (), "naive").decode()
    session.apply(session.index("collapse"), "i")
    assert "ij" in str(session.tree)
    after = TASK.files.emitters[".h"](session, (), "naive").decode()
    extents = [line for line in before.splitlines() if "EXTENT_" in line or line.startswith("void ")]
    assert extents == [line for line in after.splitlines() if "EXTENT_" in line or line.startswith("void ")]
    assert [line.split()[-1] for line in extents[:2]] == ["3", "5"]
