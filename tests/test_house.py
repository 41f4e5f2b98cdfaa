"""The house's rules of size and of names. What breaks them is listed with a count that only shrinks."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINES = 300  # of a file
PARAMETERS = 6  # of a function, `self` and `cls` not counted

LONG_FILES: Mapping[str, int] = {
    "native/graph.cpp": 318,
    "native/outline.cpp": 977,
    "native/sink.cpp": 613,
    "src/burnish/core/env.py": 353,
    "tests/search/test_guided.py": 306,
    "tests/tasks/llvm_passes/test_hoist_and_sink.py": 470,
    "tests/tasks/llvm_passes/test_outline.py": 507,
}
LONG_SIGNATURES: Mapping[str, int] = {
    "src/burnish/core/env.py:__init__": 16,
}
# In src. A command of cli/ is called like what it runs, and every task has the same files: neither counts.
SHARED_CLASSES: Mapping[str, int] = {}
SHARED_MODULES: Mapping[str, int] = {}
# Marks of tests that real time decides: where they fail, they are run once more.
RUN_TWICE: Mapping[str, int] = {
    "tests/driver/test_server.py": 1,
}
EMPTY_WORDS = re.compile("(?i)utils?|common|helpers?|misc|manager|handler|wrapper|base")


def files(*patterns: str) -> Iterator[tuple[str, Path]]:
    """Yield source files, with their paths in the repository."""
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            yield path.relative_to(ROOT).as_posix(), path


def line_counts() -> dict[str, int]:
    """Return how many lines each source file has."""
    patterns = ("src/**/*.py", "tests/**/*.py", "benchmarks/**/*.py", "native/**/*.cpp", "native/**/*.h")
    return {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in files(*patterns)}


def parameter_counts() -> dict[str, int]:
    """Return how many parameters each function has; of several of one name, the most."""
    counts: dict[str, int] = {}
    for name, path in files("src/**/*.py", "tests/**/*.py", "benchmarks/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found = node.args
                names = [arg.arg for arg in (*found.posonlyargs, *found.args, *found.kwonlyargs)]
                count = len([name for name in names if name not in ("self", "cls")])
                key = f"{name}:{node.name}"
                counts[key] = max(count, counts.get(key, 0))
    return counts


def modules() -> list[str]:
    """Return the names of src's modules."""
    return [path.stem for _, path in files("src/**/*.py") if path.stem not in ("__init__", "__main__")]


@cache
def classes() -> list[str]:
    """Return the names of src's classes, those inside of functions and classes not counted."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for _, path in files("src/**/*.py"))
    return [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]


def class_counts() -> dict[str, int]:
    """Return how many classes have each name."""
    return Counter(classes())


def module_counts() -> dict[str, int]:
    """Return how many modules have each name."""
    counted = (path for name, path in files("src/**/*.py") if not re.match("src/burnish/(cli|tasks)/", name))
    return Counter(path.stem for path in counted if path.stem not in ("__init__", "__main__"))


def run_twice_counts() -> dict[str, int]:
    """Return how many marks of tests that are run twice each file has."""
    counts = {
        name: path.read_text(encoding="utf-8").count("mark.flaky(") for name, path in files("tests/**/*.py")
    }
    return {name: count for name, count in counts.items() if name != "tests/test_house.py"}


@pytest.mark.parametrize(
    ("count_all", "most", "allowed"),
    [
        pytest.param(line_counts, LINES, LONG_FILES, id="lines"),
        pytest.param(parameter_counts, PARAMETERS, LONG_SIGNATURES, id="parameters"),
        pytest.param(class_counts, 1, SHARED_CLASSES, id="classes of one name"),
        pytest.param(module_counts, 1, SHARED_MODULES, id="modules of one name"),
        pytest.param(run_twice_counts, 0, RUN_TWICE, id="tests that are run twice"),
    ],
)
def test_nothing_is_more_than_the_rules_allow(
    count_all: Callable[[], dict[str, int]], most: int, allowed: Mapping[str, int]
) -> None:
    counts = count_all()
    grown = {name: count for name, count in counts.items() if count > allowed.get(name, most)}
    assert not grown, "split or rename it; a list entry is for what was there before the rule"
    shrunk = {name: counts.get(name, 0) for name, listed in allowed.items() if counts.get(name, 0) < listed}
    assert not shrunk, "write the lower count into the list, or take it out"


@pytest.mark.parametrize("names", [modules, classes])
def test_names_say_something(names: Callable[[], list[str]]) -> None:
    words = {name: re.findall("[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name) for name in names()}
    assert not [name for name, parts in words.items() if any(map(EMPTY_WORDS.fullmatch, parts))]
