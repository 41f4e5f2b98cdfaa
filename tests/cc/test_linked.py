"""What a linked program loads, against LLVM's own tools."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from burnish.cc.commands import report as command
from burnish.cc.linked import KINDS, read_linked
from burnish.cli import main
from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool

SOURCE = """\
#include <stdio.h>
#include <string.h>
static const int squares[64] = {0, 1, 4, 9};
const char *const names[] = {"zero", "one", "four"};
int counts[40] = {7};
char zeros[5000];
_Thread_local int own = 3;
__attribute__((noinline)) int pick(int x) { return squares[x & 63] + counts[x % 40] + own; }
int main(int count, char **arguments) {
  puts(names[count % 3]);
  memset(zeros, count, sizeof zeros);
  return pick(count) + zeros[3] - pick(count) - count;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "program.c"
    file.write_text(SOURCE)
    return file


def link(source: Path, *flags: str) -> Path:
    program = source.with_name(f"program {' '.join(flags)}")
    words = [find_tool("clang"), "-Oz", "-fuse-ld=lld", *flags, source, "-o", program]
    subprocess.run([str(word) for word in words], check=True, timeout=60)
    return program


def readobj(program: Path) -> dict[str, tuple[str, bool, int]]:
    """Return (type, allocated, size) of each section, as llvm-readobj says."""
    printed = subprocess.run(
        [str(find_tool("llvm-readobj")), "--elf-output-style=JSON", "--sections", str(program)],
        capture_output=True,
        check=True,
    )
    (file,) = json.loads(printed.stdout)
    rows = [row["Section"] for row in file["Sections"]]
    return {
        row["Name"]["Name"]: (
            row["Type"]["Name"],
            "SHF_ALLOC" in [flag["Name"] for flag in row["Flags"]["Flags"]],
            row["Size"],
        )
        for row in rows
    }


@pytest.mark.parametrize(
    "flags", [(), ("-shared", "-fPIC"), ("-Wl,-z,pack-relative-relocs",), ("-no-pie", "-g"), ("-s",)], ids=str
)
def test_sections_are_those_of_readobj(source: Path, flags: tuple[str, ...]) -> None:
    program = link(source, *flags)
    told = {name: row for name, row in readobj(program).items() if row[1] and row[2]}
    told.pop(".relro_padding", None)
    found = read_linked(program)
    assert {section.name: section.size_bytes for section in found.sections} == {
        name: size for name, (_, _, size) in told.items()
    }
    assert found.loaded_bytes == sum(size for kind, _, size in told.values() if kind != "SHT_NOBITS")
    assert found.bss_bytes == sum(size for kind, _, size in told.values() if kind == "SHT_NOBITS")
    assert found.loaded_bytes == sum(map(found.of_kind, KINDS))


def test_sections_are_of_the_kinds_that_they_are_used_as(source: Path) -> None:
    found = read_linked(link(source))
    kinds = {section.name: section.kind for section in found.sections}
    expected = {
        ".text": "code",
        ".rodata": "read-only data",
        ".data": "data",
        ".data.rel.ro": "data",
        ".tdata": "data",
        ".eh_frame": "unwind tables",
        ".eh_frame_hdr": "unwind tables",
        ".rela.dyn": "relocations",
        ".dynsym": "other",
        ".interp": "other",
        ".bss": "bss",
    }
    assert {name: kinds[name] for name in expected} == expected
    sizes = {section.name: section.size_bytes for section in found.sections}
    assert found.of_kind("unwind tables") == sizes[".eh_frame"] + sizes[".eh_frame_hdr"]


def test_berkeley_size_agrees(source: Path) -> None:
    program = link(source)
    printed = subprocess.run([str(find_tool("llvm-size")), str(program)], capture_output=True, check=True)
    text, data, _ = map(int, re.findall(rb"\d+", printed.stdout)[:3])
    assert read_linked(program).loaded_bytes == text + data


def test_stripping_changes_nothing(source: Path) -> None:
    assert read_linked(link(source, "-g")) == read_linked(link(source, "-g", "-s"))


def test_what_is_not_linked_is_refused(source: Path, tmp_path: Path) -> None:
    unlinked = tmp_path / "program.o"
    subprocess.run([str(find_tool("clang")), "-c", str(source), "-o", str(unlinked)], check=True)
    with pytest.raises(InputError, match="this is an object"):
        read_linked(unlinked)
    with pytest.raises(InputError, match="expected a linked program, a little-endian ELF"):
        read_linked(source)
    with pytest.raises(InputError, match="No such file"):
        read_linked(tmp_path / "missing")
    cut = tmp_path / "cut"
    cut.write_bytes(link(source).read_bytes()[:3000])
    with pytest.raises(InputError, match="not a whole ELF file"):
        read_linked(cut)


def test_report_shows_a_program_beside_another(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with_tables, without = link(source), link(source, "-fno-asynchronous-unwind-tables")
    more, less = read_linked(with_tables), read_linked(without)
    assert command.main(["--linked", str(without), "--against", str(with_tables), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["program"]["loaded_bytes"] == less.loaded_bytes
    assert found["against"]["kinds"]["unwind tables"] == more.of_kind("unwind tables")
    assert found["change_percent"] == pytest.approx(100 * (less.loaded_bytes / more.loaded_bytes - 1))
    assert less.of_kind("unwind tables") < more.of_kind("unwind tables")
    assert command.main(["--linked", str(without), "--against", str(with_tables)]) == 0
    table = capsys.readouterr().out
    row = next(line.split() for line in table.splitlines() if line.split()[:1] == ["loaded"])
    assert row[1:4] == [
        f"{more.loaded_bytes:,}",
        f"{less.loaded_bytes:,}",
        f"{less.loaded_bytes - more.loaded_bytes:,}",
    ]


def test_against_needs_a_program(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--against", str(source)]) == 2
    assert "expected the program, too: --linked PROGRAM" in capsys.readouterr().err
