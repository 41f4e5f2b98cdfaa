"""The baselines are clang's own: the same object files, byte for byte."""

from __future__ import annotations

import functools
import subprocess

import pytest

from burnish import _native
from burnish.llvm.modules.origin import Options
from burnish.llvm.modules.session import open_baseline, open_session
from burnish.llvm.toolchain import LEVELS, find_tool
from burnish.tasks.llvm_passes import TASK
from tests.sources import DATA, FILES, program

ALL = (*FILES, "always_inline.c")


@functools.cache
def tool_command(name: str, level: str) -> bytes:
    """Return the object file that clang writes."""
    clang = find_tool("clang++" if name.endswith(".cpp") else "clang")
    command = [str(clang), f"-{level}", "-c", str(DATA / name), "-o", "-"]
    return subprocess.run(command, capture_output=True, check=True).stdout


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ALL)
def test_object_is_clangs(name: str, level: str) -> None:
    emitted = open_baseline(program(name, level), level).object_code()
    theirs = _native.object_sizes(tool_command(name, level))
    ours = _native.object_sizes(emitted)
    assert (ours.text_bytes, ours.object_bytes) == (theirs.text_bytes, theirs.object_bytes)
    assert emitted == tool_command(name, level)


@pytest.mark.parametrize("level", [level for level in LEVELS if level != "O0"])
@pytest.mark.parametrize("name", ALL)
def test_one_front_end_serves_every_level(name: str, level: str) -> None:
    """At -O0 clang's front end emits other code: see burnish.llvm.modules.session.baselines."""
    emitted = open_baseline(program(name, "Oz"), level).object_code()
    assert emitted == tool_command(name, level)


def test_passes_do_their_work_below_o0s_code_generation() -> None:
    """clang's -O0 marks functions optnone, which passes skip; only the baseline has that."""
    session = open_session(program("matrix.c", "O0"), Options(level="O0"))
    reference = open_baseline(program("matrix.c", "O0"), "O0")
    assert session.object_code() == reference.object_code() == tool_command("matrix.c", "O0")
    session.apply_entry("sroa<modify-cfg>")
    assert session.measure("ir-instructions") < reference.measure("ir-instructions")


@pytest.mark.parametrize("name", ALL)
def test_clang_action_is_the_baseline(name: str) -> None:
    session = TASK.open(program(name))
    session.replay(["clang<Oz>"])
    for objective in TASK.exact_objectives:
        assert session.measure(objective) == open_baseline(program(name), "Oz").measure(objective)
