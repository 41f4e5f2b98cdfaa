"""burnish cc for machines that clang's package has no back end for: objects, assembly, links, errors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from burnish import _native
from burnish.cc.cross import with_builtins
from burnish.cc.jobs import ClangJob
from burnish.llvm.modules.session import open_baseline
from burnish.llvm.programs import load_program
from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import Compiler, make_drop_in

THUMB = ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4", "-ffreestanding")
MACHINES = {
    "thumb": THUMB,
    "riscv": ("--target=riscv32-unknown-elf", "-march=rv32imc", "-mabi=ilp32", "-ffreestanding"),
    "aarch64": ("--target=aarch64-linux-gnu", "-ffreestanding"),
    "wasm": ("--target=wasm32-wasip1", "-ffreestanding"),
}
EACH_MACHINE = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)
EXIT = """
int rows(const int *values, int count);
static const int values[] = {1, 2, 3, 4};
static int crc(const char *text) {
  unsigned rest = ~0u;
  while (*text) {
    rest ^= *text++;
    for (int i = 0; i < 8; i++) rest = rest >> 1 ^ (rest & 1 ? 0xedb88320 : 0);
  }
  return ~rest & 0x7f;
}
static void leave(long code) {
  register long x0 __asm__("x0") = code;
  register long x8 __asm__("x8") = 93;
  __asm__ volatile("svc 0" ::"r"(x0), "r"(x8));
}
void _start(void) { leave((crc("burnish") + rows(values, 4)) & 0x7f); }
"""


@pytest.fixture
def cross(tmp_path: Path) -> Compiler:
    """burnish cc with a stand-in for its search."""
    return make_drop_in(tmp_path / "cross", "shrink", "cc", "--code-generation=clang")


def text_bytes(file: Path) -> int:
    return int(_native.object_sizes(file.read_bytes()).text_bytes)


@EACH_MACHINE
def test_an_object_is_at_most_what_the_level_makes(cross: Compiler, machine: tuple[str, ...]) -> None:
    done = cross(*machine, "-Oz", "-c", "rows.c")
    assert (done.returncode, done.stderr) == (0, b"")
    made = cross.directory / "rows.o"
    own = open_baseline(load_program(cross.directory / "rows.c", arguments=machine), "Oz").object_code()
    (record,) = cross.records()
    assert record["text_bytes_before"] == _native.object_sizes(own).text_bytes
    assert record["text_bytes"] == text_bytes(made) <= record["text_bytes_before"]


@EACH_MACHINE
@pytest.mark.parametrize("level", ["-O0", "-O2", "-Oz"])
def test_assembly_is_that_of_the_object(cross: Compiler, machine: tuple[str, ...], level: str) -> None:
    """What is refused has no search, so both are of the level alone."""
    options = (*machine, level, "-fno-unroll-loops", "-Wno-unused-command-line-argument")
    for words in (["-c", "rows.c"], ["-S", "rows.c"], ["-c", "rows.s", "-o", "again.o"]):
        done = cross(*options, *words)
        assert (done.returncode, done.stderr) == (0, b"")
    assert text_bytes(cross.directory / "again.o") == text_bytes(cross.directory / "rows.o") > 0


def test_assembly_may_use_what_the_cpu_has(cross: Compiler) -> None:
    """Also after the preprocessor; the multiplication is not in the smallest Cortex-M."""
    source = cross.directory / "first.S"
    source.write_text(
        '#define TWICE(a) add a, a\n.thumb\n.globl f\n"f":\n TWICE(r0)\n umull r0, r1, r2, r3\n'
    )
    assert cross(*THUMB, "-c", "first.S").returncode == 0
    (symbol,) = [
        one for one in _native.elf_symbols((cross.directory / "first.o").read_bytes()) if one.name == "f"
    ]
    assert symbol.is_defined
    done = cross("--target=thumbv6m-none-eabi", "-mcpu=cortex-m0", "-c", "first.S")
    assert done.returncode == 1 and b"umull" in done.stderr


def test_clangs_errors_are_clangs(cross: Compiler) -> None:
    """A file with an error stops no other one."""
    done = cross(*THUMB, "-Oz", "-c", "-MD", "broken.c", "rows.c")
    assert done.returncode == 1
    assert done.stderr.count(b"error:") == 1 and b"broken.c" in done.stderr
    assert not (cross.directory / "broken.o").exists()
    assert (cross.directory / "rows.o").exists()
    assert "rows.c" in (cross.directory / "rows.d").read_text()


def test_the_drivers_warnings_are_said(cross: Compiler) -> None:
    done = cross(*THUMB, "-Oz", "-c", "rows.c", "-lm")
    assert done.returncode == 0
    assert re.search(rb"warning: -lm: 'linker' input unused", done.stderr)


def test_outputs_go_where_the_command_says(cross: Compiler) -> None:
    assert cross(*THUMB, "-Oz", "-c", "rows.c", "-o", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()
    written = cross(*THUMB, "-Oz", "-c", "rows.c", "-o", "-").stdout
    assert written.startswith(b"\x7fELF")
    assert not cross(*THUMB, "-E", "rows.c", "-o", "rows.i").returncode
    assert not cross(*THUMB, "-Oz", "-c", "rows.i").returncode
    assert not cross(*THUMB, "-c", "-emit-llvm", "-Oz", "rows.c", "-o", "rows.bc").returncode
    assert (cross.directory / "rows.bc").read_bytes().startswith(b"BC")


def test_kept_temporaries_are_kept(cross: Compiler) -> None:
    done = cross(*THUMB, "-Oz", "-save-temps", "-c", "rows.c")
    assert (done.returncode, done.stderr) == (0, b"")
    assert {"rows.i", "rows.bc", "rows.s", "rows.o"} <= {*cross.files()}
    assert text_bytes(cross.directory / "rows.o") > 0


def test_what_has_no_back_end_is_said(cross: Compiler) -> None:
    done = cross("--target=mips-linux-gnu", "-Oz", "-c", "rows.c")
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("burnish cc: rows.c: ") and "mips" in line and "riscv32" in line
    done = cross(*THUMB, "-Oz", "-c", "rows.c", "-mllvm", "-inline-threshold=3")
    assert done.returncode == 1 and b"does not take all of clang's options" in done.stderr


def test_what_clangs_passes_insert_is_inserted(cross: Compiler) -> None:
    done = cross(*THUMB, "-Oz", "-c", "rows.c", "-fsanitize=undefined", "-fsanitize-trap=undefined", "-O1")
    assert done.returncode == 0
    (record,) = cross.records()
    assert record["action"] == "passed through" and "sanitizers" in record["reason"]


def test_a_program_is_linked_of_smaller_objects(cross: Compiler) -> None:
    """wasm-ld takes them; no temporary object stays."""
    options = (*MACHINES["wasm"], "-Oz", "-nostdlib", "-Wl,--no-entry", "-Wl,--export-all")
    before = set(Path(os.environ.get("TMPDIR", "/tmp")).glob("rows-*.o"))
    done = cross(*options, "rows.c", "sum.c", "-o", "rows.wasm")
    assert (done.returncode, done.stderr) == (0, b"")
    assert (cross.directory / "rows.wasm").read_bytes().startswith(b"\0asm")
    assert {Path(record["output"]).name for record in cross.records()} == {"rows.wasm"}
    assert set(Path(os.environ.get("TMPDIR", "/tmp")).glob("rows-*.o")) <= before


@pytest.mark.skipif(not shutil.which("qemu-aarch64"), reason="needs Debian's qemu-user")
def test_a_program_runs(cross: Compiler) -> None:
    (cross.directory / "exit.c").write_text(EXIT)
    codes = []
    for level in ("-O0", "-O2", "-Oz"):
        words = (
            "--target=aarch64-linux-gnu",
            "-ffreestanding",
            level,
            "-nostdlib",
            "-static",
            "-fuse-ld=lld",
        )
        done = cross(*words, "exit.c", "rows.c", "sum.c", "-o", "exit")
        assert (done.returncode, done.stderr) == (0, b"")
        codes.append(subprocess.run(["qemu-aarch64", "./exit"], cwd=cross.directory, check=False).returncode)
    assert codes[0] == codes[1] == codes[2] > 10


def test_functions_of_the_compiler_are_found_where_the_system_has_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version in ("9", "14.0.6"):
        folder = tmp_path / "usr/lib/llvm-9/lib/clang" / version / "lib" / "wasi"
        folder.mkdir(parents=True)
        (folder / "libclang_rt.builtins-wasm32.a").touch()
    monkeypatch.setattr("burnish.cc.cross.ROOT", tmp_path)
    link = ClangJob(("wasm-ld", "a.o", "/no/lib/wasm32-unknown-wasi/libclang_rt.builtins.a", "-o", "a"))
    _, _, found, *_ = with_builtins(link).command
    assert found == str(tmp_path / "usr/lib/llvm-9/lib/clang/14.0.6/lib/wasi/libclang_rt.builtins-wasm32.a")
    monkeypatch.setattr("burnish.cc.cross.ROOT", tmp_path / "empty")
    assert with_builtins(link).command == ("wasm-ld", "a.o", "-o", "a")


def test_a_link_to_the_launcher_names_the_target(cross: Compiler) -> None:
    """burnish's own options still come first."""
    launcher = find_tool("burnish-cc")
    for name in ("burnish-wasm32-wasip1-clang", "burnish-clang"):
        (cross.directory / name).symlink_to(launcher)
    words = ("--budget=2 evaluations", "--report", str(cross.log), "-Oz", "-c", "-ffreestanding", "rows.c")
    assert cross.run(["./burnish-wasm32-wasip1-clang", *words]).returncode == 0
    assert (cross.directory / "rows.o").read_bytes().startswith(b"\0asm")
    assert cross.run(["./burnish-clang", *words]).returncode == 0
    assert (cross.directory / "rows.o").read_bytes().startswith(b"\x7fELF")


def test_it_needs_no_more_than_the_package(cross: Compiler) -> None:
    """The launcher, with burnish's own search: two evaluations."""
    command = [
        str(find_tool("burnish-cc")),
        "--alone",
        "--report",
        str(cross.log),
        "--budget",
        "2 evaluations",
    ]
    done = cross.run([*command, *MACHINES["wasm"], "-Oz", "-c", "rows.c"])
    assert (done.returncode, done.stderr) == (0, b"")
    assert (cross.directory / "rows.o").read_bytes().startswith(b"\0asm")
    assert cross.records()[0]["evaluations"] <= 3
