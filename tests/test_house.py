"""The house's rules of size and of names: rooms have a budget of lines, names say something."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Lines of Python. A budget shrinks with its room; a commit that raises one says why.
BUDGETS: Mapping[str, int] = {
    "__init__.py": 61,
    "cc": 12057,
    "cli": 5482,
    "cluster": 1808,
    "console": 854,
    "core": 2774,
    "envs": 2895,
    "evaluation": 4990,
    "explorer": 3359,
    "files.py": 166,
    "learning": 9433,
    "llvm": 10292,
    "loops.py": 7,
    "policies": 1743,
    "schedules.py": 23,
    "search": 3020,
    "tasks": 45,
    "tasks/llvm_codegen": 2236,
    "tasks/llvm_inlining": 2267,
    "tasks/llvm_passes": 157,
    "tasks/loop_nests": 5817,
    "tasks/mlir_schedules": 9738,
    "tasks/tensors": 1510,
    "tasks/wasm_passes": 1437,
    "workers": 1493,
}
SLACK = 100  # lines that a room may be below its budget

# Marks of tests that real time decides: where they fail, they are run once more.
RUN_TWICE: Mapping[str, int] = {
    "tests/cc/test_server.py": 1,
}
EMPTY_WORDS = re.compile("(?i)utils?|common|helpers?|misc|manager|handler|wrapper|base")


def files(*patterns: str) -> Iterator[tuple[str, Path]]:
    """Yield source files, with their paths in the repository."""
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            yield path.relative_to(ROOT).as_posix(), path


def line_counts() -> dict[str, int]:
    """Return how many lines of Python each room of src has; a task is a room."""
    counts: dict[str, int] = {}
    for name, path in files("src/burnish/**/*.py"):
        room = re.match("src/burnish/(tasks/[^/]+(?=/)|[^/]+)", name)
        assert room
        counts.setdefault(room[1], 0)
        counts[room[1]] += len(path.read_text(encoding="utf-8").splitlines())
    return counts


def test_rooms_stay_within_their_budgets() -> None:
    counts = line_counts()
    assert counts.keys() == BUDGETS.keys(), "a new room needs a budget, and a line in docs/architecture.md"
    grown = {room: count for room, count in counts.items() if count > BUDGETS[room]}
    assert not grown, "delete or merge; a commit that raises a budget says why"
    shrunk = {room: count for room, count in counts.items() if count < BUDGETS[room] - SLACK}
    assert not shrunk, "write the lower budget into the list"


def modules() -> list[str]:
    """Return the names of src's modules."""
    return [path.stem for _, path in files("src/**/*.py") if path.stem not in ("__init__", "__main__")]


@cache
def classes() -> list[str]:
    """Return the names of src's classes, those inside of functions and classes not counted."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for _, path in files("src/**/*.py"))
    return [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]


def run_twice_counts() -> dict[str, int]:
    """Return how many marks of tests that are run twice each file has."""
    counts = {
        name: path.read_text(encoding="utf-8").count("mark.flaky(") for name, path in files("tests/**/*.py")
    }
    return {name: count for name, count in counts.items() if count and name != "tests/test_house.py"}


def listed(package: Path) -> set[str]:
    """Return the modules and folders that a package's docstring lists, each in a line of its own."""
    said = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
    return set(re.findall("^    ([a-z_0-9]+)/?  +", said, re.MULTILINE))


def test_packages_list_the_files_that_are_there() -> None:
    packages = [path for _, path in files("src/burnish/**/__init__.py") if listed(path)]
    assert packages
    for package in packages:
        beside = {path.stem for path in package.parent.glob("*.py") if path != package}
        folders = {path.parent.name for path in package.parent.glob("*/__init__.py")}
        assert listed(package) == beside | folders, package


def test_fewer_and_fewer_tests_are_run_twice() -> None:
    assert run_twice_counts() == RUN_TWICE, "wait for the event itself; or write the lower count"


@pytest.mark.parametrize("names", [modules, classes])
def test_names_say_something(names: Callable[[], list[str]]) -> None:
    words = {name: re.findall("[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name) for name in names()}
    assert not [name for name, parts in words.items() if any(map(EMPTY_WORDS.fullmatch, parts))]
