"""What an object adds to a program in which another one has the same inline functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.core.trace import Trace
from burnish.llvm.modules.objectives import within_limits
from burnish.llvm.modules.session import ModuleSession, open_baseline, open_session
from burnish.llvm.programs import load_program
from tests.sources import C_FILES, program

SOURCE = """
extern void use(int);
inline int once(int *p) { use(p[0] * 3), use(p[1] * 5), use(p[2] * 7), use(p[3] * 9); return p[4]; }
inline int often(int *p) { use(p[0] * 11), use(p[1] * 13), use(p[2] * 15), use(p[3] * 17); return p[4]; }
static int local(int *p) { use(p[0] * 19), use(p[1] * 21), use(p[2] * 23), use(p[3] * 25); return p[4]; }
int first(int *p) { return once(p) + often(p) + local(p); }
int second(int *p) { return often(p + 1) + local(p + 1); }
"""
ONCE, OFTEN = "_Z4oncePi", "_Z5oftenPi"
INLINED: Trace = ("inliner-wrapper<threshold=225>", "clang<Oz>")
GOAL = within_limits("loaded-bytes", None)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Program:
    source = tmp_path_factory.mktemp("shared") / "shared.cpp"
    source.write_text(SOURCE)
    return load_program(source)


def after(source: Program, *trace: str) -> ModuleSession:
    session = open_session(source)
    session.replay(trace)
    return session


def test_the_reference_has_what_a_linker_keeps_once(shared: Program) -> None:
    clangs = open_baseline(shared, "Oz").sizes()
    sizes = after(shared, "mem2reg").reference_sizes()
    loaded = dict(clangs.functions_loaded)
    assert sizes.shared == {ONCE: loaded[ONCE], OFTEN: loaded[OFTEN]}
    assert sizes.loaded == clangs.loaded_bytes
    assert after(shared, "clang<Oz>").cost("linked-growth") == 1
    assert open_baseline(shared, "O2").cost("linked-growth") == 1


def test_what_was_inlined_away_stays_in_the_program(shared: Program) -> None:
    """A local function that is gone is gone; of the inline ones another object has a copy."""
    session = after(shared, *INLINED)
    assert {name for name, _ in session.sizes().functions} == {"_Z5firstPi", "_Z6secondPi"}
    reference = session.reference_sizes()
    there = session.sizes().loaded_bytes + reference.shared[ONCE] + reference.shared[OFTEN]
    assert session.cost("linked-growth") == there / reference.loaded > 1
    assert session.measure(GOAL) > 2 * session.cost("loaded-bytes")


def test_what_one_object_alone_defines_may_go(tmp_path: Path) -> None:
    """The same functions, but static."""
    source = tmp_path / "own.cpp"
    source.write_text(SOURCE.replace("inline int", "static int"))
    session = after(load_program(source), *INLINED)
    assert not session.reference_sizes().shared
    assert session.cost("linked-growth") == session.sizes().loaded_bytes / session.reference_sizes().loaded


@pytest.mark.parametrize("name", C_FILES[:3])
def test_of_c_it_says_no_more_than_loaded_bytes(name: str) -> None:
    session = after(program(name), "clang<Os>")
    assert session.cost("linked-growth") == session.cost("loaded-bytes") / session.reference_sizes().loaded


@pytest.mark.parametrize("task", ["llvm_passes", "llvm_inlining", "llvm_codegen"])
def test_every_task_of_llvm_has_it(task: str, shared: Program) -> None:
    session = load_task(task).open(shared)
    assert session.measure("linked-growth") > 0
    assert session.measure(GOAL) > 0
