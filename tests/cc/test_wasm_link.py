"""Linked WebAssembly modules after binaryen's passes: smaller, with the same results, or as linked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from burnish.cc.commands import lock
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.outcomes import Build, Outcome
from burnish.cc.requests import Attempt, Compiled, DriverOptions, Request
from burnish.cc.searching import Found
from burnish.cc.wasm_link import improve_module, sizes_of
from burnish.tasks.wasm_passes.sections import sections
from tests.cc.conftest import Compiler, make_drop_in

WASTE = """(module (func (export "f") (param i32) (result i32)
  (drop (i32.add (local.get 0) (i32.const 1))) (i32.add (local.get 0) (i32.const 0))))"""
LINK = ("--target=wasm32-wasip1", "-ffreestanding", "-nostdlib", "-Wl,--no-entry", "-Wl,--export-all")


@pytest.fixture
def cross(tmp_path: Path) -> Compiler:
    """burnish cc with a stand-in for its search of LLVM's passes."""
    return make_drop_in(tmp_path / "cross", "like_clang", "cc", "--budget", "8 evaluations")


def built(cross: Compiler, *words: str) -> tuple[Path, list[dict[str, Any]]]:
    """Link two files; return the module, and the build log's lines about it."""
    program = cross.directory / "rows.wasm"
    done = cross(*LINK, *words, "rows.c", "sum.c", "-o", str(program))
    assert (done.returncode, done.stderr) == (0, b"")
    return program, [row for row in cross.records() if row["source"] == "linked module"]


def results(program: Path) -> list[int]:
    """Return the results of a function of the module."""
    wasmtime = pytest.importorskip("wasmtime")
    store = wasmtime.Store()
    instance = wasmtime.Instance(store, wasmtime.Module.from_file(store.engine, str(program)), [])
    function = instance.exports(store)["sum"]
    return [function(store, value) for value in (-7, 0, 5, 1 << 20)]


def test_a_linked_module_gets_smaller(cross: Compiler) -> None:
    program, (row,) = built(cross, "-Oz", "-s")
    content = program.read_bytes()
    assert row["action"] == "optimized" and row["trace"][0] == "default<Oz>"
    assert row["loaded_bytes"] == len(content) < row["loaded_bytes_before"]
    code = sum(section.size for section in sections(content) if section.kind == "code")
    assert row["text_bytes"] == code
    found = results(program)
    assert found == results(built(cross, "-O0")[0])


def test_a_lock_has_the_module(cross: Compiler) -> None:
    program, (first,) = built(cross, "-Oz", "-s")
    found = program.read_bytes()
    file = cross.directory / "burnish.lock"
    assert lock.main([str(cross.log), "--directory", str(cross.directory)]) == 0
    again = Compiler(cross.directory, [*cross.command[:-2], "--lock", str(file)], cross.log)
    program, rows = built(again, "-Oz", "-s")
    assert program.read_bytes() == found
    assert (rows[-1]["trace"], rows[-1]["evaluations"]) == (first["trace"], 0)
    file.write_text(file.read_text().splitlines()[0])
    assert built(again, "-Oz", "-s")[1][-1]["reason"] == "burnish.lock does not have it; burnish lock adds it"


def test_a_module_with_names_stays(cross: Compiler) -> None:
    program, (row,) = built(cross, "-Oz")
    assert row["action"] == "kept" and "names or debug information" in row["reason"]
    assert "name" in {section.name for section in sections(program.read_bytes())}


def test_only_size_levels_ask_for_it(cross: Compiler) -> None:
    assert not built(cross, "-O2", "-s")[1]


def improved(program: Path, folder: Path, ram_limit: float | None = None) -> Outcome:
    """Return the outcome for a linked module."""
    link = ClangJob(("wasm-ld", "a.o", "-o", str(program)))
    compiled = Compiled(0.1, 0.1, frozenset())
    build = Build(ClangJobs((link,), "23"), compiled, DriverOptions(ram_limit=ram_limit), _no_search, folder)
    outcome = improve_module(build, link, "Oz", folder)
    assert outcome
    return outcome


def test_what_wasm_opt_makes_stays_if_the_search_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wasmtime = pytest.importorskip("wasmtime")
    pytest.importorskip("icpp_binaryen")
    program = tmp_path / "a.wasm"
    program.write_bytes(wasmtime.wat2wasm(WASTE))
    monkeypatch.setattr("burnish.cc.wasm_link.find", _crash)
    outcome = improved(program, tmp_path)
    assert (outcome.action, outcome.trace, outcome.evaluations) == ("optimized", ("default<Oz>",), 0)
    assert outcome.reason == "the optimizer died: exit code 3"
    assert outcome.before and outcome.after == sizes_of(program.read_bytes())
    assert outcome.after.loaded_bytes < outcome.before.loaded_bytes


def test_binaryen_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "a.wasm"
    program.write_bytes(b"\0asm\x01\0\0\0")
    monkeypatch.setattr("burnish.cc.wasm_link.importlib.util.find_spec", lambda name: None)
    outcome = improved(program, tmp_path)
    assert outcome.action == "kept"
    assert outcome.reason.startswith("binaryen is not installed: pip install")
    assert outcome.before == sizes_of(program.read_bytes())


def test_ram_is_the_memory_that_a_module_begins_with(cross: Compiler) -> None:
    """It has room for zero-initialized data."""
    wasmtime = pytest.importorskip("wasmtime")
    (cross.directory / "sum.c").write_text("char zeros[300000]; int sum(int at) { return ++zeros[at]; }")
    done = cross(*LINK, "-Oz", "-s", "sum.c", "-o", "sum.wasm")
    assert (done.returncode, done.stderr) == (0, b"")
    content = (cross.directory / "sum.wasm").read_bytes()
    store = wasmtime.Store()
    exports = wasmtime.Instance(store, wasmtime.Module(store.engine, content), []).exports(store)
    assert sizes_of(content).ram_bytes == exports["memory"].data_len(store) > 300000


def test_a_limit_of_ram_holds_for_linked_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Binaryen's passes never make the memory larger; a stand-in for them does."""
    wasmtime = pytest.importorskip("wasmtime")
    program = tmp_path / "a.wasm"
    before = wasmtime.wat2wasm("(module (memory 2) (func (nop) (nop) (nop)))")
    after = wasmtime.wat2wasm("(module (memory 3) (func))")
    found = Found[bytes](len(after), (), 1, 0, after)
    monkeypatch.setattr("burnish.cc.wasm_link._searched", lambda *_arguments: (after, found, ""))
    for limit, expected in ((None, after), (1.5, after), (1.0, before)):
        program.write_bytes(before)
        outcome = improved(program, tmp_path, limit)
        assert program.read_bytes() == expected, limit
    assert outcome.reason == "the smaller module needs more memory than --ram-limit allows"


def _crash(*_arguments: Any, **_options: Any) -> None:
    os._exit(3)


def _no_search(_bitcode: bytes, _request: Request) -> Attempt:
    raise AssertionError("a link has no search of LLVM's passes")
