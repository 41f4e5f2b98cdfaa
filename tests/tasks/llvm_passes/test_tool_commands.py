"""LLVM's own tools do what an entry does, where there is a command for it."""

from __future__ import annotations

import pytest

from burnish import _native
from burnish.tasks.llvm_passes import TASK
from burnish.tasks.llvm_passes.tool_commands import tool_command
from tests.sources import program


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    "entry",
    [
        "mem2reg",
        "globaldce",
        "licm<allowspeculation>",
        "clang<Oz>",
        "clang<O3>",
        "clang<Oz;inline-threshold=75>",
        "inliner-wrapper<threshold=100>",
        "module-inline<threshold=25>",
        "jump-threading<threshold=12>",
    ],
)
def test_stock_tools_make_the_same_of_an_entry(entry: str) -> None:
    session = TASK.open(program("dispatch.c"))
    content = bytes(session.observe("bitcode"))  # type: ignore[arg-type]
    command = tool_command([entry])
    assert command
    after = _native.Module(command.run(content, ".bc", seconds=60))
    session.replay([entry])
    assert list(after.opcode_counts()) == list(session.observe("opcode-counts"))


@pytest.mark.parametrize(
    ("entries", "command"),
    [
        (["mem2reg", "globaldce"], "opt '-passes=function(mem2reg),globaldce' before.ll -o after.bc"),
        (["clang<Os>"], "clang -Os -x ir -emit-llvm -c before.ll -o after.bc"),
        (["structurizecfg"], "opt '-passes=function(structurizecfg)' before.ll -o after.bc"),
        (["argpromotion<max-elements=8>"], "None"),
        (["main: gvn"], "None"),
        (["no-such-pass"], "None"),
        ([], "None"),
    ],
)
def test_commands_of_entries(entries: list[str], command: str) -> None:
    assert str(tool_command(entries)) == command


@pytest.mark.parametrize(
    "entry", ["outline<call-cost=1>", "hoist-common", "hoist-common<no-free>", "sink-common"]
)
def test_stock_tools_have_nothing_for_our_own_passes(entry: str) -> None:
    assert tool_command([entry]) is None
    assert tool_command(["mem2reg", entry]) is None
