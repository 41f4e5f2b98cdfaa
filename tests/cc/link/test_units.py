"""Units in objects, by hand: sections, seals, records, assembly, and what is alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish import _native
from burnish.cc.jobs import ClangJob
from burnish.cc.link.inputs import linked_files
from burnish.cc.link.link_job import LinkJob, link_job_of
from burnish.cc.link.merging import alike, pattern
from burnish.cc.link.units import SECTION, ProgramUnit, decode_units, read_unit, seal_of
from burnish.llvm.toolchain import find_tool
from tests.cc.link.conftest import Builds

UNIT = ProgramUnit(b"BC\xc0\xde\0\n\0" * 9, ("clang", "-cc1", "-emit-obj", "a.c"), 0.25, "seal")
SYMBOLS = "@data = global i32 1\ndeclare i32 @other()\ndefine void @run() {{ {} ret void }}\n"


def unit(*words: str, language: str = "c", size: int = 1) -> ProgramUnit:
    command = ("clang", "-cc1", "-emit-obj", *words, "-o", "a.o", "-x", language, "a.c")
    return ProgramUnit(bytes(size), command, 0.1, repr(words))


def test_records_are_read_as_they_were_written() -> None:
    assert list(decode_units(UNIT.encode() + bytes(5) + UNIT.encode() + bytes(3))) == [UNIT, UNIT]
    assert list(decode_units(b"")) == []
    for broken in (UNIT.encode()[:-1], b"x" + UNIT.encode(), UNIT.encode().replace(b"\x78\x5e", b"\x78\x5f")):
        with pytest.raises(ValueError, match="unit of burnish"):
            list(decode_units(broken))


@pytest.mark.parametrize("machine", ["-m64", "-m32"])
def test_a_section_more_changes_nothing_else(builds: Builds, machine: str) -> None:
    builds.clang("-Oz", machine, "-g", "-ffreestanding", "-c", "find.c", "-o", "find.o")
    before = (builds.folder / "find.o").read_bytes()
    after = _native.with_section(before, SECTION, UNIT.encode())
    old, new = _native.elf_sections(before), _native.elf_sections(after)
    assert [(one.name, one.content) for one in old if one.name != ".strtab"] == [
        (one.name, one.content) for one in new[:-1] if one.name != ".strtab"
    ]
    assert (new[-1].name, new[-1].content) == (SECTION, UNIT.encode())
    symbols = [
        [(one.name, one.binding, one.visibility, one.section, one.value) for one in _native.elf_symbols(elf)]
        for elf in (before, after)
    ]
    assert symbols[0] == symbols[1]
    assert seal_of(after) == seal_of(before)
    (builds.folder / "after.o").write_bytes(after)
    assert "EXCLUDE" in builds.run(str(find_tool("llvm-readobj")), "--sections", "after.o")


def test_a_unit_is_of_one_object_as_it_was_made(builds: Builds) -> None:
    builds.clang("-Oz", "-c", "find.c", "-o", "find.o")
    clangs = (builds.folder / "find.o").read_bytes()
    sealed = ProgramUnit(UNIT.bitcode, UNIT.command, 0.0, seal_of(clangs))
    found = read_unit(_native.with_section(clangs, SECTION, sealed.encode()))
    assert found
    assert found.unit == sealed
    assert read_unit(clangs) is None
    assert read_unit(_native.with_section(clangs, SECTION, UNIT.encode())) is None  # another object's
    assert read_unit(_native.with_section(clangs, SECTION, 2 * sealed.encode())) is None  # two in one
    assert read_unit(b"\x7fELF\2\1" + SECTION.encode() * 9) is None


def test_symbols_are_those_that_others_see(builds: Builds) -> None:
    builds.clang("-Oz", "-c", "find.c", "-o", "find.o")
    every = _native.elf_symbols((builds.folder / "find.o").read_bytes())
    found = {one.name: one for one in every if one.binding}
    assert set(found) == {"ROWS", "calls", "find"}
    assert (found["ROWS"].size, found["ROWS"].is_defined, found["calls"].binding) == (64, True, 1)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('call void asm "nop", ""()', False),
        ('call void asm "movl data(%rip), %eax", "~{eax}"()', True),
        ('call void asm "call other@PLT", "~{memory}"()', True),
        ('call void asm "movl $$data, %eax", "~{eax}"()', True),
        ('call void asm "movl $0, %eax # database", "i,~{eax}"(ptr @data)', False),
    ],
)
def test_assembly_that_says_names(text: str, named: bool) -> None:
    assert _native.Module(SYMBOLS.format(text).encode()).assembly_names_symbols is named


def test_assembly_outside_of_functions_says_names() -> None:
    module = _native.Module(b'module asm ".globl of_assembly"\n' + SYMBOLS.format("").encode())
    assert module.assembly_names_symbols


def test_units_of_one_code_generation() -> None:
    plain, large, more = unit(size=3), unit("-mcmodel=large", size=4), unit("-O2", size=2)
    assert alike([plain, large, more]) == [plain, more]
    assert alike([large, unit("-mllvm", "-x86-asm-syntax=intel")]) == [large]


def test_the_pattern_fits_where_the_program_may_be() -> None:
    pic, pie = ("-mrelocation-model", "pic"), ("-mrelocation-model", "pic", "-pic-is-pie")
    static = ("-mrelocation-model", "static")
    c, library, fixed, cxx = unit(*pie), unit(*pic), unit(*static), unit(*pie, language="c++")
    assert pattern([c, library, cxx], is_shared=False) == cxx.job
    assert pattern([library, c], is_shared=False) == c.job
    assert pattern([c, fixed, cxx], is_shared=False) == fixed.job
    assert pattern([c, library], is_shared=True) == library.job


def test_the_linkers_command_is_found_and_changed() -> None:
    compiler, linker = ClangJob(("clang", "-cc1")), ClangJob(("ld", "a.o", "-Map", "m", "-o", "a"))
    job = link_job_of([compiler, linker])
    assert job is not None
    assert link_job_of([compiler]) is None
    assert link_job_of([linker, linker]) is None
    assert (job.output, job.why_not, job.has_side_files) == (Path("a"), "", True)
    assert job.changed({1: ("b.o", "c.o")}, Path("d")).command == ("ld", "b.o", "c.o", "-o", "d")
    assert "-Map" in job.changed({}, Path("d"), side_files=True).command
    assert LinkJob(("ld", "-r", "a.o")).why_not.startswith("-r")


def test_libraries_are_found_as_the_linker_does(builds: Builds) -> None:
    """A shared one comes before a static one of its folder, but for those that are to be static."""
    objects = builds.objects("twice.c", "find.c")
    for folder in ("1", "2"):
        (builds.folder / folder).mkdir()
        builds.run(str(find_tool("llvm-ar")), "rcs", f"{folder}/libx.a", *objects)
    builds.clang("-shared", "-fPIC", "find.c", "-o", "1/libx.so")
    folders = [f"-L{builds.folder / folder}" for folder in ("1", "2")]
    for words, index, folder in (
        (["-Bstatic", "-lx"], 4, "1"),
        (["--push-state", "-Bstatic", "--pop-state", "-l:libx.a"], 6, "1"),
        (["-Bdynamic", "-lx"], None, ""),
    ):
        found = linked_files(["ld", *folders, *words, "-o", "program"])
        assert [(one.index, one.path.parent.name) for one in found] == ([(index, folder)] if index else [])
        assert all(len(one.parts) == 2 for one in found)
