"""The server's tools, by the protocol's own client; nothing outside of the folders is used."""

from __future__ import annotations

import asyncio
import importlib
import json
import shutil
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from burnish.core.errors import CompilerTimeout, InputError, MissingTool
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.explorer.folders import Folders
from burnish.workers import landlock
from burnish.workers.worker import GIB, Limits
from tests.core.failures import failing_task
from tests.sources import DATA
from tests.tasks.mlir_schedules.small import small
from tests.tasks.wasm_passes.modules import COUNT
from tests.waiting import wait_until

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from burnish.explorer import mcp_server
from burnish.explorer.mcp_server import OPEN, Tools, make_server

NEST = "f32 m=20 n=24 k=9\nc[m,n] += a[m,k] * b[k,n]\n"
# A task, its file, an objective to measure, and a format to save.
TASKS = {
    "llvm_passes": ("matrix.c", "text-bytes", ".ll"),
    "llvm_inlining": ("hash_table.c", "text-bytes", ".bc"),
    "llvm_codegen": ("hash_table.c", "spill-cost", ".o"),
    "loop_nests": ("product.nest", "seconds", ".loops"),
    "mlir_schedules": ("product.mlir", "seconds", ".mlir"),
    "wasm_passes": ("count.wat", "gzip-bytes", ".wat"),
}
Call = Callable[..., Awaitable[Any]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "headers").mkdir(parents=True)
    for name in ("matrix.c", "hash_table.c"):
        shutil.copy(DATA / name, inside)
    (inside / "product.nest").write_text(NEST)
    (inside / "count.wat").write_text(COUNT)
    (inside / "headers" / "sizes.h").write_text("#define SIZE 3\n")
    (inside / "own.c").write_text('#include "sizes.h"\nint size(void) { return SIZE + MORE; }\n')
    (tmp_path / "secret.c").write_text("int secret;")
    (inside / "link.c").symlink_to(tmp_path / "secret.c")
    (inside / "up").symlink_to(tmp_path)
    return inside


def talk(server: Any, session: Callable[[Call, Callable[..., Awaitable[str]]], Awaitable[None]]) -> None:
    """Run a session of a client; it gets a call that must succeed, and one that must be refused."""

    async def run() -> None:
        async with Client(server) as client:

            async def call(tool: str, **named: Any) -> Any:
                answer = await client.call_tool(tool, named)
                assert not answer.is_error, answer.content
                return answer.structured_content

            async def refused(tool: str, **named: Any) -> str:
                answer = await client.call_tool(tool, named)
                assert answer.is_error, answer.structured_content
                text = "".join(part.text for part in answer.content if isinstance(part, TextContent))
                assert "Traceback" not in text
                return text

            await session(call, refused)

    asyncio.run(run())


@pytest.fixture
def tools(folder: Path) -> Any:
    made = Tools(Folders([folder]))
    yield made
    made.close()


@pytest.mark.parametrize("path", ["../secret.c", "link.c", "up/secret.c", "/etc/passwd", "up/new.c"])
def test_paths_outside_are_refused(folder: Path, path: str) -> None:
    for ask in (Folders([folder]).to_read, Folders([folder]).to_write):
        with pytest.raises(InputError, match="outside of the allowed folders"):
            ask(path)


def test_files_are_not_overwritten(folder: Path) -> None:
    with pytest.raises(InputError, match="exists"):
        Folders([folder]).to_write("matrix.c")


@pytest.mark.parametrize("task", TASKS)
def test_client_uses_every_tool_in_every_task(task: str, tools: Tools, folder: Path) -> None:
    file, objective, suffix = TASKS[task]
    if task == "mlir_schedules":
        pytest.importorskip("torch_mlir")
        (folder / file).write_bytes(small("matmul").content)

    async def session(call: Call, refused: Callable[..., Awaitable[str]]) -> None:
        tasks = {one["task"]: one for one in (await call("list_tasks"))["result"]}
        assert objective in tasks[task]["objectives"]
        assert suffix in tasks[task]["file_formats"]
        opened = await call("open_program", path=file, task=task)
        first = {"program": opened["program"], "state": opened["state"]}
        legal = await call("legal_actions", **first)
        assert legal["entry_count"] >= len(legal["entries"]) > 0
        assert all(0 < len(one["effect"]) < 120 for one in legal["entries"])
        entries = iter(legal["entries"])
        after = await call("apply", **first, entry=next(entries)["entry"])
        while not after["changed"]:
            after = await call("apply", **first, entry=next(entries)["entry"])
        assert len(after["trace"]) == 1
        then = {**first, "state": after["state"]}
        assert (await call("observe", **then))["result"]
        changes = await call("observe", **then, since=opened["state"])
        assert changes["result"]
        measured = await call("measure", **then, objective=objective)
        assert measured["cost"] > 0
        assert set(measured["baselines"]) == set(load_task(task).baselines)
        best = await call("search", **then, evaluations=3, method="random", seconds=60)
        assert best["objective"] == load_task(task).objective().name
        assert best["cost"] > 0
        if load_task(task).objective().exact:
            assert best["cost"] <= best["cost_before"] == after["costs"][best["objective"]]
        validated = await call("validate", **then)
        assert not validated["failure"]
        assert validated["behaviour_compared"] == (task in ("loop_nests", "mlir_schedules"))
        written = await call("save", **then, path=f"out{suffix}")
        assert all(Path(path).stat().st_size == size for path, size in written["written"].items())
        await call("save", **then, path="out.jsonl")
        assert json.loads((folder / "out.jsonl").read_text())["trace"] == after["trace"]

    talk(make_server(tools), session)


def test_errors_say_what_was_expected(tools: Tools) -> None:
    async def session(call: Call, refused: Callable[..., Awaitable[str]]) -> None:
        opened = await call("open_program", path="matrix.c", task="llvm_passes")
        here = {"program": opened["program"], "state": opened["state"]}
        wrong: list[tuple[str, dict[str, Any], str]] = [
            ("open_program", {"path": "../secret.c", "task": "llvm_passes"}, "expected a path in"),
            ("open_program", {"path": "matrix.c", "task": "llvm_pases"}, "did you mean 'llvm_passes'"),
            ("open_program", {"path": "matrix.c", "task": "loop_nests"}, "expected"),
            ("open_program", {"path": "own.c", "task": "llvm_passes"}, "'sizes.h' file not found"),
            ("open_program", {"path": "own.c", "task": "llvm_passes"}, "arguments=['-Iinclude'"),
            ("open_program", {"path": "own.c", "task": "llvm_passes", "arguments": ["-fplugin=x"]}, "-DNAME"),
            ("legal_actions", {**here, "page": 0}, "page"),
            ("legal_actions", {**here, "site": "transpos"}, "did you mean"),
            ("apply", {**here, "entry": "mem3reg"}, "did you mean 'mem2reg'"),
            ("apply", {"program": "program9", "state": "", "entry": "mem2reg"}, "open_program returns"),
            ("observe", {**here, "observation": "irr"}, "did you mean 'ir'"),
            ("observe", {**here, "site": "transpos"}, "did you mean"),
            ("observe", {**here, "since": "nowhere"}, "no state named 'nowhere'"),
            ("measure", {**here, "objective": "bytes"}, "no objective named 'bytes'"),
            ("search", {**here, "seconds": 301}, "at most 300"),
            ("search", {**here, "evaluations": 0}, "from 1 to"),
            ("search", {**here, "method": "magic", "evaluations": 1}, "magic"),
            ("validate", {**here, "state": "nowhere"}, "no state named"),
            ("save", {**here, "path": "matrix.c"}, "this file exists"),
            ("save", {**here, "path": "out.xyz"}, "it writes .o .bc .ll"),
            ("save", {**here, "path": "nowhere/out.o"}, "existing folder"),
        ]
        for tool, named, part in wrong:
            assert part in await refused(tool, **named), (tool, named)

    talk(make_server(tools), session)


def test_one_site_is_observed(tools: Tools) -> None:
    opened = tools.open_program("hash_table.c", "llvm_passes")
    program, state = opened["program"], opened["state"]
    sites = tools.legal_actions(program, state)["sites"]
    assert len(sites) > 1
    for site in sites:
        text = tools.observe(program, state, site=site)
        assert text.count("define ") == 1
        assert f"@{site}(" in text
        then = tools.apply(program, state, f"{site}: mem2reg")["state"]
        changed = tools.observe(program, then, since=state)
        assert changed in (tools.observe(program, then, since=state, site=site), "ir is unchanged")


def test_mangled_sites_have_titles(tools: Tools, folder: Path) -> None:
    (folder / "area.cpp").write_text("int area(int a, int b) { return a * b; }\n")
    opened = tools.open_program("area.cpp", "llvm_passes")
    legal = tools.legal_actions(opened["program"], opened["state"])
    assert legal["titles"] == {"_Z4areaii": "area(int, int)"}
    plain = tools.open_program("hash_table.c", "llvm_passes")
    assert tools.legal_actions(plain["program"], plain["state"])["titles"] == {}


def test_arguments_of_the_compiler_begin_in_the_folder(tools: Tools, folder: Path) -> None:
    opened = tools.open_program("own.c", "llvm_passes", ["-Iheaders", "-DMORE=4"])
    here = opened["program"], opened["state"]
    assert "ret i32 7" in tools.observe(*here, "ir")
    tools.save(*here, "own.jsonl")
    row = Result.from_json((folder / "own.jsonl").read_text())
    again = load_task("llvm_passes").source().load(row.source[0], row.source[1:]).program
    assert again.digest == row.digest


def test_question_moves_on_even_if_the_answer_changes_nothing(tools: Tools) -> None:
    opened = tools.open_program("hash_table.c", "llvm_inlining")
    program, state = opened["program"], opened["state"]
    asked = []
    while entries := tools.legal_actions(program, state)["entries"]:
        (leave,) = (one["entry"] for one in entries if one["entry"].endswith(": leave"))
        asked.append(leave)
        state = tools.apply(program, state, leave)["state"]
    assert len(asked) == len(set(asked)) > 1


def test_old_program_closes_when_its_last_call_has_ended(tools: Tools) -> None:
    first = tools.open_program("product.nest", "loop_nests")
    with tools._using(first["program"]) as (opened, state):
        for _ in range(OPEN):
            tools.open_program("product.nest", "loop_nests")
        assert opened.is_dropped
        assert opened.exploration.legal(state)
        assert opened.exploration._sandboxes._root.pid
    assert opened.exploration._sandboxes._root.pid is None
    with pytest.raises(InputError, match=f"the last {OPEN} are valid"):
        tools.legal_actions(first["program"], first["state"])


@pytest.mark.parametrize("failure", ["segfault", "hang", "eat-memory"])
def test_failing_compiler_is_an_answer_and_the_state_stays(
    failure: str, tools: Tools, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = failing_task(load_task("loop_nests"), failure)
    monkeypatch.setattr(mcp_server, "load_task", lambda name: task)
    monkeypatch.setattr(mcp_server, "LIMITS", Limits(deadline_seconds=2.0, memory_bytes=GIB // 2))
    opened = tools.open_program("product.nest", "loop_nests")
    program, state = opened["program"], opened["state"]
    assert failure in [one["entry"] for one in tools.legal_actions(program, state)["entries"]]
    answer = tools.apply(program, state, failure)
    assert answer["failed"]
    assert "unchanged" in answer["next"]
    assert tools.apply(program, state, "swap_down")["changed"]


def test_slow_front_end_is_stopped(tools: Tools, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(40):  # 2 ** 40 inclusions: each file includes the next one twice
        (folder / f"deep{number}.h").write_text(f'#include "deep{number + 1}.h"\n' * 2)
    (folder / "deep40.h").write_text("")
    (folder / "deep.c").write_text('#include "deep0.h"\n')
    monkeypatch.setattr(mcp_server, "LIMITS", Limits(deadline_seconds=1.0))
    with pytest.raises(CompilerTimeout, match="within 1 seconds"):
        tools.open_program("deep.c", "llvm_passes")
    wait_until(lambda: not running(folder / "deep.c"))  # clang's own limit


def running(file: Path) -> list[Path]:
    """Return the processes that have opened a file's folder to compile it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if (
                f"/proc/self/fd/9/{file.name}".encode() in words
                and (process / "fd/9").readlink() == file.parent
            ):
                found.append(process)
    return found


def test_calls_of_several_threads_share_a_program(tools: Tools) -> None:
    opened = tools.open_program("matrix.c", "llvm_passes")
    found: list[str] = []

    def apply(entry: str) -> None:
        found.append(tools.apply(opened["program"], opened["state"], entry)["state"])

    threads = [threading.Thread(target=apply, args=(name,)) for name in ("mem2reg", "sroa<modify-cfg>")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2


def test_without_the_extra_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "burnish.explorer.mcp_server", raising=False)
    with pytest.raises(MissingTool, match=r"pip install '\.\[agents\]'"):
        importlib.import_module("burnish.explorer.mcp_server")


SECRET = "the_secret_of_another_folder"
# Each reads the secret, if it is not kept from it: {0} is the secret's file.
ATTEMPTS = {
    "include": '#include "{0}"\n',
    "relative": '#include "../secret.h"\n',
    "link": '#include "link.h"\n',
    "has_include": '#if __has_include("{0}")\n#include "{0}"\n#endif\nint here;',
    "embed": 'const char text[] = {{\n#embed "{0}"\n, 0}};\n',
    "incbin": 'asm(".data\\n.globl text\\ntext: .incbin \\"{0}\\"");\nint here;',
    "assembly": 'asm(".include \\"{0}\\"");\nint here;',
    "inline": 'void f(void) {{ asm volatile(".incbin \\"{0}\\""); }}\n',
    "environment": '#include "/proc/self/environ"\n',
    "passwords": '#include "/etc/passwd"\n',
    "module": 'module asm ".data\\0Atext: .incbin \\22{0}\\22"\ndefine i32 @f() {{ ret i32 0 }}\n',
}


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_no_program_reads_a_file_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.setenv("BURNISH_TEST_SECRET", SECRET)
    secret = tmp_path / "secret.h"
    secret.write_text(SECRET)
    (inside / "link.h").symlink_to(secret)
    for name, text in ATTEMPTS.items():
        file = inside / (f"{name}.ll" if name == "module" else f"{name}.c")
        file.write_text(text.format(secret))
    (inside / "fine.c").write_text('#include <stdio.h>\nint main(void) { return puts("fine"); }\n')
    said = asyncio.run(attempts(inside))
    assert len(said) == len(ATTEMPTS)
    for name, texts in said.items():
        for leak in (SECRET, secret.read_text(), "root:x:"):
            assert leak not in "".join(texts), name
    for file in inside.glob("*.o"):
        assert SECRET.encode() not in file.read_bytes(), file.name


async def attempts(inside: Path) -> dict[str, list[str]]:
    """Open each attempt, then observe, measure and save it; return all answers, by attempt."""
    command = ["-m", "burnish.cli", "mcp", "--folder", str(inside)]
    said: dict[str, list[str]] = {}
    async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
        for name in ATTEMPTS:
            (path,) = inside.glob(f"{name}.[cl]*")
            opened = await client.call_tool("open_program", {"path": path.name, "task": "llvm_passes"})
            said[name] = [str(opened)]
            if opened.is_error:
                continue
            data: Any = opened.structured_content
            here = {"program": data["program"], "state": data["state"]}
            for tool, more in (
                ("observe", {"observation": "ir"}),
                ("measure", {"objective": "object-bytes"}),
                ("save", {"path": f"{name}.o"}),
            ):
                said[name].append(str(await client.call_tool(tool, {**here, **more})))
        fine = await client.call_tool("open_program", {"path": "fine.c", "task": "llvm_passes"})
        assert not fine.is_error, fine.content
        data = fine.structured_content
        here = {"program": data["program"], "state": data["state"]}
        saved = await client.call_tool("save", {**here, "path": "fine.o"})
        assert not saved.is_error, saved.content
    return said


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_attempts_would_read_the_file_without_landlock(tmp_path: Path) -> None:
    secret = tmp_path / "secret.h"
    secret.write_text(SECRET)
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "include.c").write_text(ATTEMPTS["include"].format(secret))
    with pytest.raises(InputError, match=SECRET):
        Tools(Folders([inside])).open_program("include.c", "llvm_passes")


def test_kernel_without_landlock_is_told_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with pytest.raises(MissingTool, match="--unconfined"):
        mcp_server.serve([tmp_path])
