"""Searches, runs and files, as users call them."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.core.program import Run, Workload
from burnish.core.registry import load_task
from burnish.evaluation.optimization import Strategy, optimize
from burnish.search.budget import Budget
from burnish.search.problem import Problem
from burnish.tasks.wasm_passes.running import WasmBehaviour, execute, wat_to_wasm
from tests.tasks.wasm_passes.modules import COUNT, compiled


def test_a_search_is_smaller_than_wasm_opt_and_repeats() -> None:
    problem = Problem(load_task("wasm_passes"), compiled())
    first, again = (optimize(problem, Budget(evaluations=12), strategy=Strategy(seed=3)) for _ in range(2))
    assert first.cost <= first.baselines["Oz"]
    assert (first.trace, first.cost) == (again.trace, again.cost)


def test_a_written_module_is_replayed_and_prints_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "count.wat").write_text(COUNT)
    made, row = tmp_path / "made.wasm", tmp_path / "row.json"
    command = ["optimize", f"{tmp_path}/count.wat", "--budget", "6 evaluations", "-o", str(made), "--run", ""]
    assert main([*command, "--result", str(row)]) == 0
    assert "outputs equal" in capsys.readouterr().out
    assert execute(made.read_bytes(), [Run("none")], {})[0].output == b"acgmeokii"
    assert main(["replay", str(row)]) == 0
    assert json.loads(row.read_text())["task"] == "wasm_passes-v0"


def test_a_changed_output_is_a_difference() -> None:
    workload = Workload((Run("none"),))
    behaviour = WasmBehaviour("c", workload)
    (right,) = execute(compiled().content, workload.runs, {})
    (wrong,) = execute(compiled().content.replace(b"done\n", b"gone\n"), workload.runs, {})
    assert not behaviour.differences([right], [right])
    assert "expected" in behaviour.differences([wrong], [right])[0]


BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("icpp_binaryen", "wasmtime", "brotli"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
from burnish.core.errors import MissingTool
from burnish.core.program import Program
from burnish.core.registry import load_task
task = load_task("wasm_passes")
print(len(task.actions))
try:
    task.open(Program("a", "wasm", b"\\0asm\\1\\0\\0\\0"))
except MissingTool as error:
    print(error)
"""


def test_without_the_extra_the_task_says_what_to_install() -> None:
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, check=False)
    assert "pip install '.[wasm]'" in done.stdout, done.stderr


def test_the_deadline_of_one_run_is_not_that_of_another_thread_s() -> None:
    def loop(times: int) -> bytes:
        count = f"(local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const {times})"
        body = f"(loop $again (br_if $again (i32.ne {count})))"
        return wat_to_wasm("loop", f'(module (func (export "_start") (local i32) {body}))'.encode())

    with ThreadPoolExecutor(2) as pool:
        endless = pool.submit(execute, loop(0), [Run("endless")], {}, 0.1)  # through all of 32 bits
        long = pool.submit(execute, loop(200_000_000), [Run("long")], {})
        assert "interrupt" in endless.result()[0].trap
        assert not long.result()[0].trap
