"""Sections, symbols and archives as the native core reads and writes them, against LLVM's own tools."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish import _native
from burnish.llvm.toolchain import find_tool

SOURCE = """
extern int missing;
static int own(int x) { return missing + x; }
int strong(int x) { return own(x) * own(x + 1); }
__attribute__((weak)) int weak() { return 1; }
__attribute__((visibility("hidden"))) int hidden[3] = {3};
template <class T> __attribute__((noinline)) T everywhere(T x) { static T last; return last = x + last; }
int use(int x) { return everywhere(x) + everywhere(x * 1.5); }
int zeros[40];
__thread int each = 4;
"""
OPTIONS = ("-c", "-c -m32", "-c -g -ffunction-sections", "-shared -nostdlib -fuse-ld=lld")
SECTIONS = 0xFF00  # more than a symbol has room for
GROUP, LOADED, FUNCTION, WEAK = 17, 2, 2, 2  # SHT_GROUP, SHF_ALLOC, STT_FUNC, STB_WEAK


@cache
def compiled(options: str) -> bytes:
    return assembled(SOURCE, "c++", *options.split(), "-Oz", "-ffreestanding", "-fPIC")


def assembled(source: str, language: str, *options: str) -> bytes:
    with TemporaryDirectory() as folder:
        output = Path(folder, "made")
        words = [str(find_tool("clang")), *options, "-x", language, "-", "-o", str(output)]
        subprocess.run(words, input=source.encode(), check=True)
        return output.read_bytes()


def readobj(path: Path, content: bytes, *options: str) -> dict[str, Any]:
    path.write_bytes(content)
    words = [str(find_tool("llvm-readobj")), "--elf-output-style=JSON", *options, str(path)]
    (told,) = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    return dict(told)


def table(elf: bytes, *, dynamic: bool = False) -> list[tuple[str, int, int, int, int, int, bool]]:
    return [
        (one.name, one.value, one.size, one.binding, one.type, one.visibility, one.is_defined)
        for one in _native.elf_symbols(elf, dynamic)
    ]


@pytest.mark.parametrize("options", OPTIONS)
def test_sections_are_those_of_readobj(options: str, tmp_path: Path) -> None:
    elf = compiled(options)
    told = [row["Section"] for row in readobj(tmp_path / "made", elf, "--sections")["Sections"]]
    found = _native.elf_sections(elf)
    assert [(one.name, one.type, one.flags, one.size) for one in found] == [
        (row["Name"]["Name"], row["Type"]["Value"], row["Flags"]["Value"], row["Size"]) for row in told
    ]
    for one, row in zip(found, told, strict=True):
        size = 0 if row["Type"]["Name"] in ("SHT_NULL", "SHT_NOBITS") else row["Size"]
        assert one.content == elf[row["Offset"] :][:size]
        width = 4 if elf[4] == 1 else 8
        assert int.from_bytes(elf[one.flags_at :][:width], "little") == one.flags


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
def test_symbols_are_those_of_readobj(options: str, dynamic: bool, tmp_path: Path) -> None:
    elf = compiled(options)
    key, option = ("DynamicSymbols", "--dyn-symbols") if dynamic else ("Symbols", "--symbols")
    told = [row["Symbol"] for row in readobj(tmp_path / "made", elf, option)[key]]
    titles = [one.name for one in _native.elf_sections(elf)]
    found = table(elf, dynamic=dynamic)
    assert [row[1:] for row in found] == [
        (
            row["Value"],
            row["Size"],
            row["Binding"]["Value"],
            row["Type"]["Value"],
            row["Other"]["Value"] & 3,
            row["Section"]["Name"] != "Undefined",
        )
        for row in told
    ]
    for one, row in zip(_native.elf_symbols(elf, dynamic), told, strict=True):
        assert row["Name"]["Name"] in (one.name, titles[one.section])  # of a section's symbol the section's
        if row["Section"]["Name"] in titles:
            assert titles[one.section] == row["Section"]["Name"]


@pytest.mark.parametrize("options", OPTIONS[:3])
def test_functions_in_groups_are_the_inline_ones(options: str) -> None:
    symbols = _native.elf_symbols(compiled(options))
    grouped = [one for one in symbols if one.group is not None and one.type == FUNCTION]
    assert {one.name: one.group for one in grouped} == {
        name: name for name in ("_Z10everywhereIiET_S0_", "_Z10everywhereIdET_S0_")
    }
    assert all(one.binding == WEAK for one in grouped)
    assert {one.group for one in symbols} > {"_ZZ10everywhereIiET_S0_E4last", None}


def test_more_sections_than_a_symbol_has_room_for() -> None:
    many = "".join(f'.section .text.f{i},"ax"\nf{i}: ret\n' for i in range(SECTIONS))
    last = '.section .text.last,"axG",@progbits,sign,comdat\n.weak sign\nsign: ret\n.globl last\nlast: ret\n'
    elf = assembled(many + last, "assembler", "-c")
    sections = _native.elf_sections(elf)
    found = {one.name: (sections[one.section].name, one.group) for one in _native.elf_symbols(elf)}
    assert len(sections) > SECTIONS
    assert (found["f9"], found["last"]) == ((".text.f9", None), (".text.last", "sign"))
    with pytest.raises(ValueError, match="expected an object with fewer sections"):
        _native.with_section(elf, ".one.more", b"")


@pytest.mark.parametrize("options", OPTIONS[:3])
def test_one_section_more_is_all_that_changes(options: str, tmp_path: Path) -> None:
    elf = compiled(options)
    more = _native.with_section(elf, ".one.more", b"content")
    before, after = (readobj(tmp_path / "made", one, "--symbols", "--relocations") for one in (elf, more))
    assert before["Symbols"] == after["Symbols"]
    assert before["Relocations"] == after["Relocations"]
    *old, new = _native.elf_sections(more)
    assert (new.name, new.content, new.flags) == (".one.more", b"content", 0x80000000)  # SHF_EXCLUDE
    assert [one.name for one in old] == [one.name for one in _native.elf_sections(elf)]
    made, linked = str(tmp_path / "made"), str(tmp_path / "so")
    subprocess.run([find_tool("ld.lld"), "-shared", "-znotext", made, "-o", linked], check=True)
    assert ".one.more" not in [one.name for one in _native.elf_sections((tmp_path / "so").read_bytes())]


def test_an_object_alone_gets_a_section() -> None:
    with pytest.raises(ValueError, match="expected an object"):
        _native.with_section(compiled(OPTIONS[-1]), ".one.more", b"")


def test_names_need_not_be_text() -> None:
    elf = assembled(".globl cafe\ncafe: ret\n", "assembler", "-c").replace(b"cafe\0", b"caf\xe9\0")
    assert "caf\udce9" in [one.name for one in _native.elf_symbols(elf)]


@pytest.mark.parametrize("form", ["gnu", "bsd", "darwin"])
def test_members_are_those_of_ar(form: str, tmp_path: Path) -> None:
    names = ["one.o", "a name with spaces and more than fifteen letters.o", "odd"]
    contents = [compiled("-c"), compiled("-c -m32"), b"odd"]
    for name, content in zip(names, contents, strict=True):
        (tmp_path / name).write_bytes(content)
    ar = [str(find_tool("llvm-ar")), f"--format={form}", "rcs", "all.a", *names]
    subprocess.run(ar, cwd=tmp_path, check=True)
    archive = (tmp_path / "all.a").read_bytes()
    found = _native.archive_members(archive)
    padded = [content.rstrip(b"\n") for _, _, content in found]  # Darwin's members have multiples of 8
    assert ([name for name, _, _ in found], padded) == (names, contents)
    assert all(archive[start:].startswith(content) for _, start, content in found)


def test_a_thin_archive_has_no_members_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "one.o").write_bytes(compiled("-c"))
    subprocess.run([find_tool("llvm-ar"), "rcsT", "thin.a", "one.o"], cwd=tmp_path, check=True)
    assert _native.archive_members((tmp_path / "thin.a").read_bytes()) == []
    assert _native.archive_members(b"!<arch>\n") == []


def test_an_archive_is_of_objects_alone() -> None:
    for content in (b"text", compiled("-c")[:-1]):
        with pytest.raises(ValueError, match="ELF file"):
            _native.archive_of([compiled("-c"), content])


@given(st.data())
def test_mutated_files_are_read_or_refused(data: st.DataObject) -> None:
    elf = bytearray(compiled(data.draw(st.sampled_from(OPTIONS))))
    headers = int.from_bytes(elf[0x20:0x24] if elf[4] == 1 else elf[0x28:0x30], "little")
    places = st.integers(0, 63) | st.integers(headers, len(elf) - 1) | st.integers(0, len(elf) - 1)
    for place, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=8)):
        elf[place] = byte
    content = bytes(elf[: data.draw(st.just(len(elf)) | st.integers(0, len(elf)))])
    for read in (
        _native.elf_sections,
        _native.elf_symbols,
        lambda content: _native.elf_symbols(content, True),
        lambda content: _native.with_section(content, ".one.more", b"content"),
        lambda content: _native.archive_of([content]),
    ):
        try:
            read(content)
        except _native.InputError as error:
            assert "ELF file" in str(error) or "expected an object" in str(error)


@given(st.data())
def test_mutated_archives_are_read_or_refused(data: st.DataObject) -> None:
    archive = bytearray(_native.archive_of([compiled("-c"), compiled("-c -m32")]))
    places = st.integers(0, 200) | st.integers(0, len(archive) - 1)
    for place, byte in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=8)):
        archive[place] = byte
    content = bytes(archive[: data.draw(st.just(len(archive)) | st.integers(0, len(archive)))])
    try:
        for _, start, member in _native.archive_members(content):
            assert content[start : start + len(member)] == member
    except _native.InputError as error:
        assert "not a whole archive" in str(error)
