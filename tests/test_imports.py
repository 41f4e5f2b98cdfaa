"""Imports point one way, texts such as "burnish.room.module:name" counted; tasks do not import each other."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import burnish
from burnish.envs.env import Env
from burnish.tasks.llvm_passes import TASK
from tests.sources import program

SOURCE = Path(burnish.__file__).parent

LAYERS: tuple[set[str], ...] = (  # a room imports from earlier layers; rooms of one layer do not meet
    {"core"},
    {"files", "workers"},
    {"search", "envs", "_native"},
    {"llvm", "policies", "console"},
    {"evaluation"},
    {"learning"},
    {"tasks"},
    {"loops", "schedules"},
    {"cc", "cluster", "explorer"},
    {"cli"},
)
# How many files of a task import from another task.
BETWEEN_TASKS: dict[tuple[str, str], int] = {}
# A room beside the tasks, for those on tensors: any of these may import it; it imports no task.
TENSOR_TASKS = {"loop_nests", "mlir_schedules"}
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]
NAMED = re.compile(r"burnish(\.\w+)+:\w+")


def part_of(path: Path) -> str:
    """Return the first word of a module's path below burnish."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@functools.cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return the imports and the texts of a file."""
    kinds = ast.Import | ast.ImportFrom | ast.Constant
    return tuple(node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds))


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, wherever in it, or names in texts."""
    for node in nodes(path):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                assert not level, f"{path}: relative import"
                yield module or ""
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Constant(value=str(text)) if NAMED.fullmatch(text):
                yield text.partition(":")[0]


def rooms_of_burnish(path: Path) -> set[str]:
    """Return the rooms that a file imports from; burnish's version is nobody's room."""
    known = {room for layer in LAYERS for room in layer}
    return {name.split(".")[1] for name in imported(path) if name.startswith("burnish.")} & known


def between_tasks() -> dict[tuple[str, str], int]:
    """Return how many files of each task import from each other task."""
    tasks = {path.parent.name for path in SOURCE.glob("tasks/*/__init__.py")}  # and tensors
    arrows = [
        (task, other)
        for task in tasks
        for path in sorted((SOURCE / "tasks" / task).rglob("*.py"))
        for other in {name.split(".")[2] for name in imported(path) if name.startswith("burnish.tasks.")}
        if other in tasks - {task}
    ]
    return {arrow: arrows.count(arrow) for arrow in arrows}


def test_every_room_has_its_layer() -> None:
    assert {part_of(path) for path in FILES} | {"_native"} == {room for layer in LAYERS for room in layer}


@pytest.mark.parametrize("room", [room for layer in LAYERS for room in sorted(layer - {"_native"})])
def test_imports_point_one_way(room: str) -> None:
    below = {room}.union(*itertools.takewhile(lambda layer: room not in layer, LAYERS))
    for path in FILES:
        if part_of(path) == room:
            assert rooms_of_burnish(path) <= below, path


def test_tasks_do_not_import_each_other() -> None:
    arrows = {arrow: count for arrow, count in between_tasks().items() if "tensors" not in arrow}
    assert arrows == BETWEEN_TASKS, "mend the new arrow, or take what is gone out of the list"


def test_tensor_tasks_import_what_they_share_and_it_imports_no_task() -> None:
    arrows = {arrow for arrow in between_tasks() if "tensors" in arrow}
    assert arrows == {(task, "tensors") for task in TENSOR_TASKS}


def module_of(path: Path) -> str:
    """Return a module's name."""
    return ".".join(("burnish", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def modules_of(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules that a file imports, or takes a name from; a package only for names of its own."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in modules else node.module or "" for name in names)


def circles(arrows: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the modules that import each other in circles, by Tarjan's algorithm."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in arrows.get(module, ()):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            circle = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            found.update([frozenset(circle)] if len(circle) > 1 else [])

    for module in arrows:
        if module not in number:
            visit(module)
    return found


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {module_of(path): path for path in FILES}
    arrows = {
        module: set(modules_of(path, modules)) & modules.keys() - {module} for module, path in modules.items()
    }
    assert not circles(arrows)


def test_a_circle_is_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == {frozenset("bc")}


def test_an_arrow_that_points_up_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "sampler.py"
    path.write_text("def f():\n    from burnish.tasks.x import TASK\nWHERE = 'burnish.cli.train:main'\n")
    assert rooms_of_burnish(path) == {"tasks", "cli"}


def test_core_needs_numpy_and_msgspec_only() -> None:
    roots = {name.split(".")[0] for path in (SOURCE / "core").glob("*.py") for name in imported(path)}
    assert roots - sys.stdlib_module_names <= {"burnish", "numpy", "msgspec"}


def test_no_dumping_grounds() -> None:
    assert not [path for path in FILES if path.stem in ("utils", "common", "helpers", "misc")]


def loaded_by(statement: str) -> set[str]:
    """Return the packages that are loaded after a statement in a new interpreter."""
    code = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"]
    return set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())


@pytest.mark.parametrize(
    "module",
    ["burnish", "burnish.workers.child", "burnish.tasks.llvm_passes", "burnish.loops", "burnish.cli"],
)
def test_import_is_light(module: str) -> None:
    assert not loaded_by(f"import {module}") & {"torch", "gymnasium", "rich", "pandas", "ray"}


def test_portfolio_is_used_without_torch() -> None:
    assert not loaded_by("import burnish.policies.sequence_values") & {
        "torch",
        "gymnasium",
        "rich",
        "pandas",
        "ray",
    }


@pytest.mark.parametrize("module", ["burnish", "burnish.cli"])
def test_front_door_needs_no_numpy(module: str) -> None:
    """A drop-in compiler starts in milliseconds."""
    assert "numpy" not in loaded_by(f"import {module}")


@pytest.mark.parametrize(
    "module", ["burnish.cli", "burnish.search", "burnish.cc.build_log", "burnish.evaluation.rows"]
)
def test_msgspec_is_loaded_by_what_reads_a_line(module: str) -> None:
    assert "msgspec" not in loaded_by(f"import {module}")


WALK = """
import importlib, pkgutil, sys
from burnish.workers import fork_server
for package in map(importlib.import_module, fork_server.KNOWN):
    for found in pkgutil.walk_packages(getattr(package, "__path__", ()), package.__name__ + "."):
        if package.__name__.startswith("burnish.") and fork_server.is_preloaded(found.name):
            importlib.import_module(found.name)
            assert "torch" not in sys.modules, found.name
print(len(sys.modules))
"""


def test_no_module_that_fork_servers_preload_needs_torch() -> None:
    """A fork server has whatever the tests before have imported, and torch would start threads in it."""
    done = subprocess.run([sys.executable, "-c", WALK], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 300


@pytest.mark.usefixtures("nothing_left")
def test_worker_that_steps_an_environment_is_light() -> None:
    env = Env(TASK, program("matrix.c"))
    env.reset()
    env.step(0)
    assert env.worker
    loaded = env.worker.call(eval, "set(__import__('sys').modules)")
    assert "burnish._native" in loaded
    assert not loaded & {"torch", "gymnasium", "rich"}
    env.close()


def test_public_names_are_there() -> None:
    assert all(hasattr(burnish, name) for name in burnish.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        _ = burnish.nothing
