"""Where MLIR is not installed, everything else works, and what needs it says what to install."""

from __future__ import annotations

import subprocess
import sys

BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch_mlir", "torch"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocked())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process that finds neither MLIR nor torch."""
    return subprocess.run([sys.executable, "-c", BLOCKED + code], capture_output=True, text=True, check=False)


def test_environments_and_tasks_are_listed() -> None:
    done = run(
        "import gymnasium, burnish.envs\n"
        "from burnish.cli import main\n"
        "print(sorted(one for one in gymnasium.registry if 'MLIR' in one))\n"
        "sys.argv = ['burnish', 'tasks']\n"
        "sys.exit(main())"
    )
    assert done.returncode == 0, done.stderr
    assert "burnish/MLIRSchedules-v0" in done.stdout
    assert "mlir_schedules-v0: " in done.stdout


def test_programs_need_mlir() -> None:
    done = run(
        "from burnish.core.errors import MissingTool\n"
        "from burnish.core.program import Program\n"
        "from burnish.core.registry import load_task\n"
        "task = load_task('mlir_schedules')\n"
        "for use in (lambda: task.source().load('matmul:4x4x4'),\n"
        "            lambda: task.open(Program('a', 'mlir', b'func.func @main'))):\n"
        "    try:\n"
        "        use()\n"
        "    except MissingTool as error:\n"
        "        print(error)\n"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pip install '.[mlir]'") == 2


def test_other_tasks_need_no_mlir() -> None:
    done = run(
        "from burnish import Budget, Problem, load_program, load_task, optimize\n"
        "from burnish.tasks.loop_nests.parsing import parse\n"
        "program = parse('f32 n=16\\no[n] = 2 * x[n]').program('twice')\n"
        "print(optimize(Problem(load_task('loop_nests'), program), Budget(evaluations=2)).verified)\n"
    )
    assert done.returncode == 0, done.stderr
