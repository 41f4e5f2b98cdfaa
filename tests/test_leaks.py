"""The generic rooms know no compiler: what belongs to one task is in that task's rooms.

Docstrings and comments may give examples; names, imports and texts of the code may not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import burnish

SOURCE = Path(burnish.__file__).parent
WORDS = re.compile(r"(?i:llvm|clang|bitcode)|\bOz\b|ir-instructions|text-bytes")
GENERIC = (
    "core",
    "workers",
    "envs",
    "search",
    "policies",
    "evaluation",
    "learning",
    "console",
    "explorer",
    "cli",
)
ITS_COMMANDS = SOURCE / "cli" / "llvm"
FRONT_DOOR = SOURCE / "cli" / "__init__.py"  # which names that folder, and knows nothing else of it
# Generic modules that use LLVM's rooms or name its tasks, with how often: each is to be reached through Task.
KNOWN: dict[str, int] = {
    "evaluation/compare.py": 1,
    "evaluation/timing.py": 4,
    "learning/networks/graph_encoder.py": 2,
    "learning/training/chosen_programs.py": 1,
    "policies/c_network.py": 1,  # a macro of the C that it writes
    "workers/fork_server.py": 1,
}

FILES = [
    path
    for room in GENERIC
    for path in sorted((SOURCE / room).rglob("*.py"))
    if ITS_COMMANDS not in path.parents
]


def leaks(path: Path) -> list[tuple[int, str]]:
    """Return a module's words of a compiler, with their lines."""
    found = words_of(path.read_text())
    if path == FRONT_DOOR:
        found = ((line, text.replace("burnish.cli.llvm", "burnish.cli")) for line, text in found)
    return [(line, text) for line, text in found if WORDS.search(text)]


def words_of(code: str) -> Iterator[tuple[int, str]]:
    """Yield the names, imports and texts of a module, without its docstrings, with their lines."""
    tree = ast.parse(code)
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in said:
                yield node.lineno, text
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text) | ast.alias(name=text):
                yield node.lineno, text
            case ast.ImportFrom(module=str(text)):
                yield node.lineno, text


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_generic_rooms_know_no_compiler(path: Path) -> None:
    assert len(leaks(path)) == KNOWN.get(path.relative_to(SOURCE).as_posix(), 0), leaks(path)


def test_folder_that_is_left_out_knows_its_compiler() -> None:
    assert any(map(leaks, ITS_COMMANDS.glob("*.py")))


@pytest.mark.parametrize(
    "code", ["import burnish.tasks.llvm_passes", "level = 'Oz'", "def f(clang: str): ...", "x.bitcode()"]
)
def test_a_leak_is_seen(code: str) -> None:
    assert any(WORDS.search(text) for _, text in words_of(code))
