"""Passes keep what a program does; states do not depend on how they were reached."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from burnish.core.program import Program, Run
from burnish.core.trace import WHOLE_PROGRAM
from burnish.tasks.wasm_passes.actions import ACTIONS, ALL, DESCRIPTIONS, commandline
from burnish.tasks.wasm_passes.binaryen import LEVELS, Module
from burnish.tasks.wasm_passes.running import execute
from burnish.tasks.wasm_passes.sections import memory_bytes
from burnish.tasks.wasm_passes.session import BASELINES, WasmSession, open_program
from tests.tasks.wasm_passes.modules import compiled, count

RUN = (Run("none"),)


def wander(session: WasmSession, rng: np.random.Generator, steps: int) -> None:
    """Apply random actions, half of them at functions."""
    for _ in range(steps):
        site = str(rng.choice(session.sites())) if rng.random() < 0.5 else WHOLE_PROGRAM
        session.apply(int(rng.choice(np.flatnonzero(session.legal(site)))), site)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", ["O1", "Oz"])
def test_random_traces_keep_the_output(seed: int, level: str) -> None:
    program = compiled(level)
    session = open_program(program)
    expected = execute(program.content, RUN, {})
    wander(session, np.random.default_rng(seed), 8)
    assert session.verify() == "binaryen's validator"
    assert execute(session.object_code(), RUN, {}) == expected
    assert expected[0].output.endswith(b"done\n")


def test_each_action_keeps_the_output_and_the_memory() -> None:
    """So a limit of RAM holds for all traces."""
    program = count()
    expected = execute(program.content, RUN, {})
    opened = open_program(program)
    for text in ACTIONS:
        session = opened.fork()
        session.apply_entry(text)
        assert execute(session.object_code(), RUN, {}) == expected, text
        assert memory_bytes(session.object_code()) == memory_bytes(program.content) == 1 << 16, text
    assert expected[0].output == b"acgmeokii"


@pytest.mark.parametrize("seed", range(4))
def test_a_fork_in_memory_continues_as_the_original(seed: int) -> None:
    session, rng = open_program(compiled()), np.random.default_rng(seed)
    session.apply_entry("default<Os>")
    for _ in range(6):
        site = str(rng.choice(session.sites()))
        session.apply(int(rng.choice(np.flatnonzero(session.legal(site)))), site)
        if rng.random() < 0.5:
            session.digest()  # an observation changes nothing
    copy, trace = session.fork(), list(session.trace)
    wander(copy, np.random.default_rng(9), 4)
    wander(session, np.random.default_rng(9), 4)
    assert copy.digest() == session.digest()
    assert copy.object_code() == session.object_code()
    replayed = open_program(compiled())
    replayed.replay(session.trace)
    assert replayed.digest() == session.digest()
    assert session.trace[: len(trace)] == trace


@pytest.mark.parametrize("level", [level for level in BASELINES if level in LEVELS])
def test_baselines_are_binaryens_own(level: str) -> None:
    """The wheel's own class runs the pipeline and writes the module."""
    icpp_binaryen = pytest.importorskip("icpp_binaryen")
    program = compiled()
    optimize, shrink = LEVELS[level]
    ours = BASELINES[level](program)
    with icpp_binaryen.Module.read(program.content) as module:
        module.optimize(shrink_level=shrink, optimize_level=optimize)
        made = module.emit()
    assert isinstance(ours, WasmSession)
    assert made == ours.object_code()


def test_functions_at_each_site_are_the_action_on_all() -> None:
    session = open_program(compiled())
    everywhere, at_each = session.fork(), session.fork()
    everywhere.apply_entry("functions<Oz>")
    for site in session.sites():
        at_each.apply_entry(f"{site}: functions<Oz>")
    assert at_each.object_code() == everywhere.object_code()


def test_features_stay() -> None:
    session = open_program(compiled())
    session.apply_entry("default<Oz>")
    said = session.object_code()
    with Module(said) as module, Module(compiled().content) as original:
        assert module.features == original.features
    assert said.count(b"target_features") == 1


def test_settings_of_an_action_do_not_stay() -> None:
    session = open_program(compiled("O1"))
    plain, other = session.fork(), session.fork()
    plain.apply_entry("inlining")
    other.fork().apply_entry("inlining(always=16)")
    other.apply_entry("inlining")
    assert plain.digest() == other.digest()


def test_every_action_says_what_it_does_once() -> None:
    assert len(ALL) == len(set(DESCRIPTIONS.values())) == len(ACTIONS)


def test_command_line_names_settings_and_passes() -> None:
    last = "--generate-stack-ir --optimize-stack-ir -o out.wasm"
    size = "--optimize-level=2 --shrink-level=2 --always-inline-max-function-size=8"
    assert commandline(("inlining(always=8)", "1: dce", "default<O3>")).splitlines() == [
        f"wasm-opt -g in.wasm {size} --inlining {last}",
        "# only by burnish: 1: dce",
        f"wasm-opt out.wasm --optimize-level=3 --shrink-level=0 -O3 {last}",
    ]


@pytest.mark.skipif(not shutil.which("wasm-opt"), reason="wasm-opt is not installed")
def test_command_line_keeps_the_output(tmp_path: Path) -> None:
    program = compiled()
    (tmp_path / "in.wasm").write_bytes(program.content)
    trace = ("default<Oz>", "flatten,rereloop", "const-hoisting")
    for line in commandline(trace).splitlines():
        subprocess.run(line.replace("wasm-opt", "wasm-opt -all", 1).split(), cwd=tmp_path, check=True)
    made = (tmp_path / "out.wasm").read_bytes()
    assert execute(made, RUN, {}) == execute(program.content, RUN, {})


def test_names_of_functions_are_sites() -> None:
    session = open_program(Program("named", "wasm", compiled().content))
    assert {"sort", "hash", "_start"} <= set(session.sites())
    session.apply_entry("sort: vacuum")
    assert session.trace == ["sort: vacuum"]
