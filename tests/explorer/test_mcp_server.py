"""The server's tools, by the protocol's own client; nothing outside of the folders is used."""

from __future__ import annotations

import asyncio
import importlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from burnish.core.errors import InputError, MissingTool
from burnish.explorer.folders import Folders
from tests.sources import DATA

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    inside.mkdir()
    shutil.copy(DATA / "matrix.c", inside)
    (tmp_path / "secret.c").write_text("int secret;")
    (inside / "link.c").symlink_to(tmp_path / "secret.c")
    (inside / "up").symlink_to(tmp_path)
    return inside


@pytest.mark.parametrize("path", ["../secret.c", "link.c", "up/secret.c", "/etc/passwd", "up/new.c"])
def test_paths_outside_are_refused(folder: Path, path: str) -> None:
    for ask in (Folders([folder]).to_read, Folders([folder]).to_write):
        with pytest.raises(InputError, match="outside of the allowed folders"):
            ask(path)


def test_files_are_not_overwritten(folder: Path) -> None:
    with pytest.raises(InputError, match="exists"):
        Folders([folder]).to_write("matrix.c")


def test_client_does_a_whole_session(folder: Path) -> None:
    asyncio.run(whole_session(folder))
    assert (folder / "out.o").read_bytes()[:4] == b"\x7fELF"
    assert json.loads((folder / "out.jsonl").read_text())["trace"]


async def whole_session(folder: Path) -> None:
    """Open, list, apply, observe, search and save; and make two errors."""
    command = ["-m", "burnish.cli", "mcp", "--folder", str(folder)]
    async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:

        async def call(tool: str, **named: Any) -> Any:
            answer = await client.call_tool(tool, named)
            assert not answer.is_error, answer.content
            return answer.structured_content

        opened = await call("open_program", path="matrix.c", task="llvm_passes")
        where = {"program": opened["program"], "state": opened["state"]}
        legal = await call("legal_actions", **where, contains="mem2reg")
        assert "mem2reg" in legal["entries"]
        after = await call("apply", **where, entry="mem2reg")
        assert after["cost_changes"]["ir-instructions"] < 0
        there = {**where, "state": after["state"]}
        changes = await call("observe", **there, observation="ir", since=opened["state"])
        assert "-" in changes["result"]
        best = await call("search", **there, evaluations=5, method="random", seconds=60)
        assert best["costs"]["ir-instructions"] <= after["costs"]["ir-instructions"]
        await call("save", **there, path="out.o")
        await call("save", **there, path="out.jsonl")
        for tool, wrong in (
            ("open_program", {"path": "../secret.c", "task": "llvm_passes"}),
            ("apply", {**where, "entry": "mem3reg"}),
        ):
            answer = await client.call_tool(tool, wrong)
            assert answer.is_error
            assert "Traceback" not in str(answer.content)
            assert "expected" in str(answer.content) or "did you mean" in str(answer.content)


def test_without_the_extra_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "burnish.explorer.mcp_server", raising=False)
    with pytest.raises(MissingTool, match=r"pip install '\.\[agents\]'"):
        importlib.import_module("burnish.explorer.mcp_server")
