"""Imports point one way: core < tasks, corpora, search, agents < evaluation, training < portfolio < cli."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import burnish
from burnish.core.env import Env
from burnish.tasks.llvm_passes import TASK
from tests.sources import program

SOURCE = Path(burnish.__file__).parent

CORE = {"core"}
NEIGHBOURS = {"toolchain", "files", "programs"}  # single files that every folder may use
MIDDLE = {"tasks", "corpora", "search", "agents"}
ABOVE = {"cluster", "evaluation", "training"}
BESIDE_TASKS = {"representations", "execution"}  # what a program looks like, and what it does when it runs
BELOW_ALL = CORE | NEIGHBOURS | BESIDE_TASKS | {"policies", "_native"}

ALLOWED: dict[str, set[str]] = {
    "core": set(),
    **{name: CORE | (NEIGHBOURS - {name}) | {"_native"} for name in NEIGHBOURS},
    **{name: CORE | NEIGHBOURS | {"_native"} for name in BESIDE_TASKS},
    "policies": CORE | NEIGHBOURS | {"representations"},  # what was trained, to be used without torch
    **dict.fromkeys(MIDDLE, BELOW_ALL),
    "llvm_validation": BELOW_ALL | {"corpora"},  # what tasks on LLVM share
    "tasks": BELOW_ALL | {"corpora", "llvm_validation"},  # where their programs come from
    **dict.fromkeys(ABOVE, BELOW_ALL | MIDDLE),
    "training": BELOW_ALL | MIDDLE | {"evaluation"},
    "portfolio": BELOW_ALL | MIDDLE | ABOVE,
    "loops": BELOW_ALL | MIDDLE | ABOVE,  # kernels: loop nests, their policies and searches, in one call
    "schedules": BELOW_ALL | MIDDLE | ABOVE | {"loops"},  # the same of linalg programs
    "inlining": BELOW_ALL | MIDDLE | ABOVE,  # decisions of the inliner, and what is learned from them
    "registers": BELOW_ALL | MIDDLE | ABOVE,  # policies of the register allocator, and what they learn from
    "driver": BELOW_ALL | MIDDLE | ABOVE | {"portfolio"},
    "whole_program": BELOW_ALL | MIDDLE | ABOVE | {"driver", "portfolio"},
    "cli": BELOW_ALL | MIDDLE | ABOVE | {"driver", "whole_program", "inlining", "portfolio", "schedules"},
    "envs": BELOW_ALL | {"tasks", "corpora"},
}
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def part_of(path: Path) -> str:
    """Return the first word of a module's path below burnish."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def parts_of_burnish(path: Path) -> set[str]:
    """Return the parts of burnish that a file imports from; its version is nobody's part."""
    names = {name for name in imported(path) if name.startswith("burnish.")}
    known = {part_of(other) for other in FILES} | {"_native"}
    return {name.split(".")[1] for name in names} & known


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    part = part_of(path)
    assert parts_of_burnish(path) <= ALLOWED[part] | {part}


def test_core_needs_numpy_and_gymnasium_only() -> None:
    roots = {name.split(".")[0] for path in (SOURCE / "core").glob("*.py") for name in imported(path)}
    assert roots - sys.stdlib_module_names <= {"burnish", "numpy", "gymnasium"}


def test_no_dumping_grounds() -> None:
    assert not [path for path in FILES if path.stem in ("utils", "common", "helpers", "misc")]


def loaded_by(statement: str) -> set[str]:
    """Return the packages that are loaded after a statement in a new interpreter."""
    code = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"]
    return set(subprocess.run(command, capture_output=True, check=True, text=True).stdout.split())


@pytest.mark.parametrize(
    "module", ["burnish", "burnish.core.child", "burnish.tasks.llvm_passes", "burnish.loops", "burnish.cli"]
)
def test_import_is_light(module: str) -> None:
    assert not loaded_by(f"import {module}") & {"torch", "gymnasium", "rich", "pandas", "ray"}


def test_portfolio_is_used_without_torch() -> None:
    assert not loaded_by("import burnish.portfolio.sequence_values") & {
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
