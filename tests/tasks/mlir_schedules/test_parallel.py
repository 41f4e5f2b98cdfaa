"""Threads share the iterations of parallel loops, and compute what one thread computes."""

from __future__ import annotations

import pickle
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch_mlir")

from burnish import load_task
from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool
from burnish.schedules import compile_schedule
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.mlir_schedules import sketches
from burnish.tasks.mlir_schedules.drawing import draw
from burnish.tasks.mlir_schedules.kernel import CompiledSchedule, lowered
from burnish.tasks.mlir_schedules.outputs import link_shared
from burnish.tasks.mlir_schedules.parallel import is_parallel
from burnish.tasks.mlir_schedules.session import ScheduleSession, open_program
from burnish.tasks.mlir_schedules.sketches import OpSketch
from burnish.tasks.tensors.arrays import Array
from burnish.workers.worker import Limits, Worker
from tests.tasks.mlir_schedules.small import SMALL, small

PRODUCT = ["matmul#1: tile_parallel(0, 4)", "matmul#1: tile_parallel(1, 8)", "matmul#1: tile(2, 3)"]
MAIN = """
#include "matmul_20x24x9.h"
#include "twice.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

float a[20 * 9], b[9 * 24], c[20 * 24], x[8 * 16], y[8 * 16];

static int threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *one; (one = readdir(tasks));) count += one->d_name[0] != '.';
    closedir(tasks);
    return count;
}

int main(int count, char **words) {
    struct rlimit none = {0, 0};
    for (int i = 0; i < 20 * 9; i++) a[i] = i % 7 - 3;
    for (int i = 0; i < 9 * 24; i++) b[i] = i % 5 - 2;
    for (int i = 0; i < 8 * 16; i++) x[i] = i;
    void *scratch = aligned_alloc(64, TWICE_SCRATCH_BYTES + 64 - TWICE_SCRATCH_BYTES % 64);
    if (count > 1) setrlimit(RLIMIT_AS, &none); /* no stack for another thread */
    for (int i = 0; i < 100; i++) {
        matmul_20x24x9(a, b, c);
        twice(x, y, scratch);
    }
    if (count > 1) printf("0\\n"); else printf("%d\\n", threads());
    for (int i = 0; i < 20 * 24; i++) printf("%a\\n", c[i]);
    for (int i = 0; i < 8 * 16; i++) printf("%a\\n", y[i]);
}
"""


def shared(name: str, threads: int) -> ScheduleSession:
    """Return a small program in which each op is in a parallel loop, where that is legal."""
    session = open_program(small(name), threads)
    for site in reversed(session.sites()):
        legal = [session.actions[i] for i in session.legal(site).nonzero()[0]]
        if found := [text for text in legal if text.startswith("tile_parallel(")]:
            session.apply_entry(f"{site}: {found[0]}")
    return session


def outputs(session: ScheduleSession) -> list[Array]:
    """Return the checked outputs of a program."""
    compiled = session.compiled()
    assert compiled.threads == session.shared.threads
    return [array.copy() for array in session.shared.trial.outputs]


@pytest.mark.parametrize("name", SMALL)
def test_threads_compute_what_one_computes(name: str) -> None:
    one, two = shared(name, 1), shared(name, 2)
    assert one.trace == two.trace and any("tile_parallel" in entry for entry in one.trace)
    for expected, found in zip(outputs(one), outputs(two), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_one_thread_has_no_pool() -> None:
    session = shared("matmul", 2)
    assert is_parallel(lowered(session.payload, 2)) and not is_parallel(lowered(session.payload))
    assert not is_parallel(lowered(open_program(small("matmul"), 2).payload, 2))


def test_loops_in_parallel_loops_run_in_order() -> None:
    session = open_program(small("matmul"), 3)
    session.replay(PRODUCT)
    outputs(session)
    text = str(lowered(session.payload, 3))
    assert text.count("llvm.call @burnish_parallel") == 1


def test_fused_ops_are_in_the_parallel_loop() -> None:
    session = open_program(small("layer"), 2)
    last = session.ops.last
    session.replay([f"{last}: tile_parallel(0, 4)", "generic#2: fuse(1)", "matmul#1: fuse(1)"])
    outputs(session)
    assert session.seconds() > 0


def test_a_forked_process_has_threads_of_its_own() -> None:
    session = shared("matmul", 2)
    expected = outputs(session)  # this process has a pool now
    worker = Worker(Limits(begin="fork"))
    try:
        found = worker.call(_run, session.program.name, tuple(session.trace))
        np.testing.assert_array_equal(found, expected)
    finally:
        worker.close()


def _run(name: str, trace: tuple[str, ...]) -> list[Array]:
    session = open_program(small(name), 2)
    session.replay(trace)
    return outputs(session)


def test_callers_at_the_same_time_get_their_own_results() -> None:
    function = compile_schedule("matmul:20x24x9", PRODUCT, threads=2)
    a = np.arange(180, dtype=np.float32).reshape(20, 9)
    found: dict[int, bool] = {}

    def call(number: int) -> None:
        b = np.full((9, 24), number, np.float32)
        expected = a @ b
        found[number] = all(np.array_equal(function(a, b), expected) for _ in range(50))

    callers = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == dict.fromkeys(range(4), True)


def test_copies_of_functions_have_as_many_threads() -> None:
    function = compile_schedule("add:4x8", ["add#0: tile_parallel(0, 2)"], threads=2)
    assert pickle.loads(pickle.dumps(function)).threads == 2
    with pytest.raises(InputError, match="threads is '0'; expected 1 to"):
        compile_schedule("add:4x8", threads=0)


def test_the_number_of_threads_is_a_setting() -> None:
    task = load_task("mlir_schedules").configured({"threads": "2"})
    assert task.options == {"threads": "2"}
    session = task.open(small("add"))
    assert isinstance(session, ScheduleSession) and session.shared.threads == 2
    assert session.fork().shared.threads == 2
    assert not load_task("mlir_schedules").options


@pytest.mark.parametrize("words", [(), ("no threads",)])
def test_objects_bring_one_pool(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Objects of two tasks share a thread; where the system starts none, the caller computes everything."""
    program = parse("f32 m=8 n=16\no[m,n] = 2 * x[m,n]", "twice").program("twice")
    nest = load_task("loop_nests").configured({"threads": "2"}).open(program)
    nest.replay(["m: parallel"])
    product = open_program(small("matmul"), 2)
    product.replay(PRODUCT)
    for name, session in (("twice", nest), ("matmul_20x24x9", product)):
        (tmp_path / f"{name}.o").write_bytes(session.object_code())
        (tmp_path / f"{name}.h").write_text(str(session.observe("c_header")))
    (tmp_path / "main.c").write_text(MAIN)
    command = [str(find_tool("clang")), "main.c", "twice.o", "matmul_20x24x9.o", "-lm", "-o", "main"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main", *words], capture_output=True, text=True, check=True)
    count, *numbers = done.stdout.split()
    assert count == ("0" if words else "2")
    a = (np.arange(20 * 9) % 7 - 3.0).reshape(20, 9)
    b = (np.arange(9 * 24) % 5 - 2.0).reshape(9, 24)
    expected = [*(a @ b).ravel(), *(2.0 * np.arange(8 * 16))]
    np.testing.assert_array_equal([float.fromhex(number) for number in numbers], expected)


def test_shared_objects_hide_their_pool(tmp_path: Path) -> None:
    path = tmp_path / "product.so"
    path.write_bytes(link_shared(shared("matmul", 2).object_code()))
    tool = str(find_tool("llvm-nm"))
    said = subprocess.run([tool, "-D", "--defined-only", path], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in said.stdout.splitlines()] == ["matmul_20x24x9"]


def test_several_threads_are_timed_by_elapsed_time() -> None:
    assert CompiledSchedule(shared("matmul", 2).payload, threads=2).threads == 2
    assert CompiledSchedule(open_program(small("matmul")).payload, threads=2).threads == 1


@pytest.mark.parametrize("name", ["matmul", "product", "conv", "depthwise", "add", "columns", "softmax"])
def test_sketches_have_parallel_loops_for_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sketches, "MOST_ALONE", 0)
    session = open_program(small(name), 2)
    before, ops = sketches.opened(session)
    rng = np.random.default_rng(0)
    drawn = {site: found for site, op in ops.items() if (found := draw(op, 8, rng))}
    assert not any("parallel" in entry for entry in sketches.trace_of(ops, drawn))
    trace = (*before, *sketches.trace_of(ops, drawn, threads=2))
    assert any("tile_parallel" in entry for entry in trace)
    session.replay(trace)
    outputs(session)


def test_small_ops_stay_with_one_thread() -> None:
    _, ops = sketches.opened(open_program(small("matmul")))
    drawn = {"matmul#1": draw(ops["matmul#1"], 8, np.random.default_rng(0))}
    assert drawn["matmul#1"] is not None
    assert not any("parallel" in entry for entry in sketches.trace_of(ops, drawn, threads=2))  # type: ignore[arg-type]


def test_parallel_steps_are_equal_for_all_threads() -> None:
    _, ops = sketches.opened(open_program(small("matmul:512x192x64")))
    sketch = OpSketch(tile=((0, 4), (1, 16)), depth=((2, 1),))
    (entry,) = (
        text for text in sketches.entries(ops["matmul#1"], sketch, threads=4) if "tile_parallel" in text
    )
    assert entry == "matmul#1: tile_parallel(0, 128)"  # 4 iterations; 192 has 3 of 64, or 6 of 32
