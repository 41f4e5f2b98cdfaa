"""Loaded bytes are what the linker makes of an object: compared with lld's own programs."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.program import Program
from burnish.llvm.corpora.kernels import FOLDER, find_kernel
from burnish.llvm.modules.session import open_baseline, open_session
from burnish.llvm.toolchain import compile_to_bitcode, find_tool
from tests.sources import DATA, program

# What an object's sections become; others (.plt, .got, .dynsym, ...) are the program's, and shared.
OF_OBJECTS = (".text", ".rodata", ".data", ".data.rel.ro", ".gcc_except_table", ".eh_frame", ".eh_frame_hdr")

TABLE = """
const char *const names[] = {"one", "two", "three", "four"};
const char *name(unsigned i) { return names[i & 3]; }
int kind(unsigned c) {
  switch (c) {
    case 1: return 13; case 2: return 1; case 3: return 77; case 4: return 6; case 5: return 52;
    default: return 0;
  }
}
double scaled(double x) { return x * 0.1; }
double shrunk(double x) { return x / 0.1 + 7.25; }
"""
NO_TABLES = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables")


def compiled(folder: Path, source: str, *options: str) -> bytes:
    command = [str(find_tool("clang")), "-Oz", *options, "-x", "c", "-", "-c", "-o", str(folder / "a.o")]
    subprocess.run(command, input=source.encode(), check=True)
    return (folder / "a.o").read_bytes()


def linked(folder: Path, *objects: Path) -> int:
    """Return the bytes of OF_OBJECTS and of their relocations in the program that lld makes."""
    made = folder / "program"
    clang = [str(find_tool("clang++")), "-fuse-ld=lld", "-nostdlib++", "-s", *map(str, objects), "-lm"]
    subprocess.run([*clang, "-lstdc++", "-o", str(made)], check=True)
    tool = [str(find_tool("llvm-readelf")), "-W", "--sections", "--relocations", str(made)]
    listed = subprocess.run(tool, capture_output=True, text=True, check=True).stdout
    relocations = listed.count("R_X86_64_RELATIVE") + listed.count("R_X86_64_64")
    rows = (line.partition("]")[2].split() for line in listed.splitlines() if line.lstrip().startswith("["))
    return 24 * relocations + sum(int(row[4], 16) for row in rows if row and row[0] in OF_OBJECTS)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> int:
    """What a program that does nothing has of OF_OBJECTS, less what its own object adds."""
    folder = tmp_path_factory.mktemp("empty")
    content = compiled(folder, "int main(void) { return 0; }")
    return linked(folder, folder / "a.o") - _native.object_sizes(content).loaded_bytes


@pytest.mark.parametrize("options", [(), ("-ffunction-sections", "-fdata-sections"), NO_TABLES, ("-O2",)])
@pytest.mark.parametrize("name", ["json", "regex", "sha256", "stack_vm", "string_search", "waves"])
def test_an_object_adds_its_loaded_bytes(
    tmp_path: Path, name: str, options: tuple[str, ...], empty: int
) -> None:
    source = find_kernel(name).source.read_text()
    sizes = _native.object_sizes(compiled(tmp_path, source, f"-I{FOLDER}", *options))
    assert linked(tmp_path, tmp_path / "a.o") - empty == pytest.approx(sizes.loaded_bytes, rel=0.01)


def test_a_cxx_object_adds_its_loaded_bytes(tmp_path: Path, empty: int) -> None:
    command = [str(find_tool("clang++")), "-Oz", "-c", str(DATA / "classes.cpp"), "-o", str(tmp_path / "c.o")]
    subprocess.run(command, check=True)
    main = compiled(tmp_path, "int alive; int main(void) { return 0; }")
    both = sum(_native.object_sizes(it).loaded_bytes for it in (main, (tmp_path / "c.o").read_bytes()))
    added = linked(tmp_path, tmp_path / "a.o", tmp_path / "c.o") - empty
    assert added == pytest.approx(both, rel=0.02)  # another CIE, for functions with cleanups


def test_parts_add_up(tmp_path: Path) -> None:
    sizes = _native.object_sizes(compiled(tmp_path, TABLE, "-ffunction-sections"))
    parts = (sizes.read_only_bytes, sizes.data_bytes, sizes.unwind_bytes, sizes.relocation_bytes)
    assert sizes.relocation_bytes == 4 * 24
    assert sizes.data_bytes == 4 * 8  # names, in .data.rel.ro
    assert sizes.loaded_bytes == sizes.text_bytes + sum(parts)


def test_a_table_of_pointers_is_relocated_in_position_independent_code_alone(tmp_path: Path) -> None:
    content = compiled(tmp_path, TABLE, "-fno-pie")
    fixed, moving = (_native.object_sizes(content, pic) for pic in (False, True))
    assert (fixed.relocation_bytes, moving.relocation_bytes) == (0, 96)
    assert moving.loaded_bytes - fixed.loaded_bytes == 96


def test_unwind_tables_are_counted_with_their_header(tmp_path: Path) -> None:
    without = _native.object_sizes(compiled(tmp_path, TABLE, *NO_TABLES))
    with_tables = _native.object_sizes(compiled(tmp_path, TABLE))
    assert without.unwind_bytes == 0
    assert with_tables.unwind_bytes == 4 * (20 + 8)  # functions without a frame have the shortest FDE
    assert with_tables.loaded_bytes - without.loaded_bytes == with_tables.unwind_bytes


def test_equal_strings_count_once(tmp_path: Path) -> None:
    section = '  .section .rodata.str1.1,"aMS",@progbits,1\n'
    (tmp_path / "a.s").write_text(section + '  .asciz "as long"\n' * 5 + '  .asciz "long"\n')
    subprocess.run([str(find_tool("clang")), "-c", "a.s"], cwd=tmp_path, check=True)
    assert _native.object_sizes((tmp_path / "a.o").read_bytes()).read_only_bytes == len("as long0long0")


def test_a_function_has_its_unwind_information_and_its_own_constants(tmp_path: Path) -> None:
    sizes = _native.object_sizes(compiled(tmp_path, TABLE))
    text, loaded = dict(sizes.functions), dict(sizes.functions_loaded)
    assert text.keys() == loaded.keys() == {"name", "kind", "scaled", "shrunk"}
    beyond = {name: loaded[name] - text[name] for name in loaded}
    frame = 20 + 8
    assert beyond["name"] == frame  # its table has a name: others may use it
    assert beyond["kind"] == frame + 5  # a byte for each case
    assert beyond["scaled"] == frame + 8
    assert beyond["shrunk"] == frame + 16
    assert sum(loaded.values()) <= sizes.loaded_bytes


def test_what_is_no_object_is_told() -> None:
    with pytest.raises(_native.InputError):
        _native.object_sizes(b"\x7fELF")
    with pytest.raises(_native.InputError):
        _native.object_sizes(b"nothing")


@pytest.mark.parametrize("name", ["hash_table.c", "floating.c", "classes.cpp"])
def test_the_objective_is_that_of_clangs_object(tmp_path: Path, name: str) -> None:
    driver = "clang++" if name.endswith("cpp") else "clang"
    command = [str(find_tool(driver)), "-Oz", "-c", str(DATA / name), "-o", str(tmp_path / "a.o")]
    subprocess.run(command, check=True)
    sizes = _native.object_sizes((tmp_path / "a.o").read_bytes())
    session = open_baseline(program(name, "Oz"), "Oz")
    assert session.measure("loaded-bytes") == sizes.loaded_bytes
    assert session.site_costs("loaded-bytes") == dict(sizes.functions_loaded)


@pytest.mark.parametrize(("option", "bytes_each"), [("-fPIE", 24), ("-fPIC", 24), ("-fno-pie", 0)])
def test_a_session_knows_whether_addresses_are_fixed(tmp_path: Path, option: str, bytes_each: int) -> None:
    (tmp_path / "table.c").write_text(TABLE)
    content = compile_to_bitcode(tmp_path / "table.c", [option])
    session = open_session(Program("table.c", "llvm", content))
    assert session.sizes().relocation_bytes == 4 * bytes_each
