"""Whole programs for machines that clang's package has no back end for: one module, with equal results."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import Compiler, make_drop_in
from tests.cc.test_cross import EXIT, THUMB

WASM = ("--target=wasm32-wasip1", "-ffreestanding", "-nostdlib", "-Wl,--no-entry", "-Wl,--export=rows")
BITCODE = b"BC\xc0\xde"


@pytest.fixture
def whole(tmp_path: Path) -> Compiler:
    """burnish cc --whole-program with a stand-in for its search of LLVM's passes."""
    return make_drop_in(tmp_path / "whole", "shrink", "cc", "--whole-program", "--budget", "8 evaluations")


def compiled(compiler: Compiler, *words: str) -> None:
    for name in ("rows", "sum"):
        done = compiler(*words, "-c", f"{name}.c")
        assert (done.returncode, done.stderr) == (0, b"")


def program_row(compiler: Compiler) -> dict[str, Any]:
    (row,) = [row for row in compiler.records() if row["source"].endswith("units")]
    return row


def rows(program: Path) -> int:
    """Return rows({3, -1, 4}), by the module's function."""
    wasmtime = pytest.importorskip("wasmtime")
    store = wasmtime.Store()
    exports = wasmtime.Instance(store, wasmtime.Module.from_file(store.engine, str(program)), []).exports(
        store
    )
    values = b"".join(value.to_bytes(4, "little", signed=True) for value in (3, -1, 4))
    exports["memory"].write(store, values, 1024)
    return int(exports["rows"](store, 1024, 3))


def test_units_are_one_module(whole: Compiler) -> None:
    """Also those in an archive. What nothing refers to is not in the program."""
    compiled(whole, *WASM, "-Oz", "-Wno-unused-command-line-argument")
    assert (whole.directory / "sum.o").read_bytes().startswith(BITCODE)
    whole.run([str(find_tool("llvm-ar")), "rcs", "libsum.a", "sum.o"])
    done = whole(*WASM, "-Oz", "rows.o", "-L.", "-lsum", "-o", "whole.wasm")
    assert (done.returncode, done.stderr) == (0, b"")
    row = program_row(whole)
    assert row["source"] == "2 units" and row["loaded_bytes"] <= row["loaded_bytes_before"]
    plain = Compiler(whole.directory, [word for word in whole.command if word != "--whole-program"])
    assert plain(*WASM, "-Oz", "rows.c", "sum.c", "-o", "plain.wasm").returncode == 0
    assert rows(whole.directory / "whole.wasm") == rows(whole.directory / "plain.wasm")
    sizes = {name: (whole.directory / f"{name}.wasm").stat().st_size for name in ("whole", "plain")}
    assert sizes["whole"] < sizes["plain"]


def test_clangs_own_bitcode_is_linked(whole: Compiler) -> None:
    """-flto at a level for speed: no search, the level's passes at the link."""
    plain = Compiler(
        whole.directory, [word for word in whole.command if word != "--whole-program"], whole.log
    )
    compiled(plain, *WASM, "-O2", "-flto", "-Wno-unused-command-line-argument")
    done = plain(*WASM, "-O2", "-flto", "rows.o", "sum.o", "-o", "lto.wasm")
    assert (done.returncode, done.stderr) == (0, b"")
    assert plain(*WASM, "-O0", "rows.c", "sum.c", "-o", "plain.wasm").returncode == 0
    assert rows(whole.directory / "lto.wasm") == rows(whole.directory / "plain.wasm")
    assert not [row for row in plain.records() if row["source"].endswith("units")]


def test_errors_of_the_linker_are_said_once(whole: Compiler) -> None:
    assert whole(*THUMB, "-Oz", "-c", "rows.c").returncode == 0
    done = whole(*THUMB, "-Oz", "-nostdlib", "-Wl,-e,rows", "rows.o", "-o", "rows.elf")
    assert done.returncode == 1
    assert done.stderr.count(b"undefined symbol: sum") == 1
    assert b"No available targets" not in done.stderr
    assert not (whole.directory / "rows.elf").exists()


def test_thin_bitcode_is_refused_in_one_line(whole: Compiler) -> None:
    plain = Compiler(
        whole.directory, [word for word in whole.command if word != "--whole-program"], whole.log
    )
    compiled(plain, *THUMB, "-Oz", "-flto=thin")
    done = plain(*THUMB, "-Oz", "-flto=thin", "-nostdlib", "-Wl,-e,rows", "rows.o", "sum.o", "-o", "rows.elf")
    assert done.returncode == 1
    assert done.stderr.decode() == (
        "burnish cc: rows.elf: the bitcode cannot be one module; -flto=thin is not supported\n"
    )


def test_only_what_is_for_size_is_bitcode(whole: Compiler) -> None:
    compiled(whole, *THUMB, "-O2")
    assert (whole.directory / "sum.o").read_bytes().startswith(b"\x7fELF")
    assert {row["action"] for row in whole.records()} == {"passed through"}
    done = whole(*THUMB, "-Oz", "-nostdlib", "-Wl,-e,rows", "rows.o", "sum.o", "-o", "rows.elf")
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not shutil.which("qemu-aarch64"), reason="needs Debian's qemu-user")
def test_a_program_runs(whole: Compiler) -> None:
    (whole.directory / "exit.c").write_text(EXIT)
    words = ("--target=aarch64-linux-gnu", "-ffreestanding", "-Oz", "-Wno-unused-command-line-argument")
    link = ("-nostdlib", "-static", "-fuse-ld=lld", "exit.o", "rows.o", "sum.o", "-o", "exit")
    compiled(whole, *words)
    assert whole(*words, "-c", "exit.c").returncode == 0
    done = whole(*words, *link)
    assert (done.returncode, done.stderr) == (0, b"")
    code = subprocess.run(["qemu-aarch64", "./exit"], cwd=whole.directory, check=False).returncode
    plain = Compiler(whole.directory, [word for word in whole.command if word != "--whole-program"])
    assert plain(*words[:2], "-O0", *link[:3], "exit.c", "rows.c", "sum.c", "-o", "exit").returncode == 0
    assert (
        code == subprocess.run(["qemu-aarch64", "./exit"], cwd=whole.directory, check=False).returncode > 10
    )
    assert program_row(whole)["source"] == "3 units"
