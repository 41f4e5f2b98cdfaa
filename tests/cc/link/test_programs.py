"""Whole programs are smaller, do the same, and offer the same to others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from burnish.llvm.toolchain import find_tool
from tests.cc.link.conftest import CXX, FLAGS, Builds, C

LIBSTDCXX = ("-stdlib=libstdc++", "-unwindlib=libgcc")


def test_a_program_in_c(builds: Builds) -> None:
    objects = builds.objects(*C)
    linked = builds.link("program", *objects, "-Wl,--gc-sections")
    assert (linked["action"], linked["source"], linked["level"]) == ("optimized", "4 units", "Oz")
    assert linked["loaded_bytes"] < linked["loaded_bytes_before"]
    left = builds.symbols("program")
    assert "main" in left
    assert "checksum" in builds.symbols("program.clang")
    assert not left & {"never_called", "checksum"}  # inlined where it was called, and gone


def test_a_program_in_cxx_and_c(builds: Builds) -> None:
    """Exceptions, virtual functions, templates in several units, constructors in the link's order."""
    objects = builds.objects(*CXX, flags=(*FLAGS, "-g", LIBSTDCXX[0]))
    linked = builds.link("shapes", *objects, *LIBSTDCXX, "-Wl,--gc-sections", cxx=True)
    assert (linked["action"], linked["source"]) == ("optimized", "4 units")
    assert "one two" in builds.run("./shapes")


def test_a_shared_library(builds: Builds) -> None:
    objects = builds.objects("find.c", "sums.c", flags=(*FLAGS, "-fPIC"))
    for options, names in (
        ((), {"find", "checksum", "never_called", "width", "ROWS", "calls"}),
        (("-Wl,--version-script=library.map",), {"find", "checksum"}),
    ):
        name = f"lib{len(names)}.so"
        linked = builds.link(name, *objects, "-shared", *options)
        assert linked["source"] == "2 units"
        assert builds.symbols(name, "-D") == builds.symbols(f"{name}.clang", "-D") == names
    assert linked["action"] == "optimized"


@pytest.mark.parametrize("options", [("-rdynamic",), ("-Wl,--export-dynamic-symbol=twice",)], ids=str)
def test_what_a_program_exports_stays(builds: Builds, options: tuple[str, ...]) -> None:
    linked = builds.link("program", *builds.objects(*C), *options)
    assert linked["source"] == "4 units"
    assert "twice" in builds.symbols("program", "-D")
    assert builds.symbols("program", "-D") == builds.symbols("program.clang", "-D")


def test_what_a_shared_library_needs_of_the_program_stays(builds: Builds) -> None:
    builds.clang("-Oz", "-fPIC", "-shared", "sums.c", "-o", "libsums.so")  # which uses `calls` of find.c
    objects = builds.objects("main.c", "find.c", "twice.c")
    linked = builds.link("program", *objects, "-L.", "-lsums", "-Wl,-rpath,$ORIGIN")
    assert linked["action"] == "optimized"
    assert "calls" in builds.symbols("program", "-D")


def test_units_with_levels_of_their_own(builds: Builds) -> None:
    objects = builds.objects("main.c", "find.c") + builds.objects("sums.c", flags=("-Os",))
    objects += builds.objects("twice.c", flags=("-O2",))
    linked = builds.link("program", *objects)
    assert (linked["source"], linked["level"]) == ("3 units", "Oz")
    reasons = {row["source"]: row["reason"] for row in builds.records()}
    assert reasons["twice.c"].startswith("-O2: no objective for speed yet")


def test_foreign_objects_and_assembly(builds: Builds) -> None:
    """What has no unit is linked as it is, and finds what it refers to."""
    builds.clang("-c", "-O1", "sums.c", "-o", "sums.o")
    builds.cc("-c", "twice.s", "-o", "twice.o")
    objects = [*builds.objects("main.c", "find.c", "note.c"), "sums.o", "twice.o"]
    linked = builds.link("program", *objects)
    assert (linked["action"], linked["source"]) == ("optimized", "3 units")
    assert {"noted", "calls"} <= builds.symbols("program")


def test_units_whose_assembly_says_names_stay_objects(builds: Builds) -> None:
    linked = builds.link("program", *builds.objects("main.c", "find.c", "sums.c", "named.c"))
    assert linked["source"] == "3 units"
    assert {"own_value", "twice"} <= builds.symbols("program")


def test_one_command_compiles_and_links(builds: Builds) -> None:
    builds.clang(*FLAGS, *C, "-Wl,--gc-sections", "-o", "program.clang")
    builds.cc(*FLAGS, *C, "-Wl,--gc-sections", "-o", "program")
    (linked,) = builds.records()
    assert (linked["action"], linked["source"]) == ("optimized", "4 units")
    assert builds.loaded("program") < builds.loaded("program.clang")
    assert builds.run("./program", "3") == builds.run("./program.clang", "3").replace(".clang", "")


def test_a_map_is_of_the_program_that_stays(builds: Builds) -> None:
    linked = builds.link("program", *builds.objects(*C), "-Wl,--gc-sections", "-Wl,-Map=program.map")
    assert linked["action"] == "optimized"
    sizes = re.findall(
        r"^ +[0-9a-f]+ +[0-9a-f]+ +([0-9a-f]+) +\d+ \.text$", _text(builds, "program.map"), re.M
    )
    printed = builds.run(str(find_tool("llvm-size")), "-A", "program")
    assert re.search(rf"^\.text +{int(sizes[0], 16)} ", printed, re.M)


def test_a_stripped_program_is_stripped(builds: Builds) -> None:
    linked = builds.link("program", *builds.objects(*C), "-s")
    assert linked["action"] == "optimized"
    assert b".symtab" not in (builds.folder / "program").read_bytes()
    assert b"burnish" not in (builds.folder / "program").read_bytes()


def test_other_linkers(builds: Builds) -> None:
    """GNU ld, where there is one, links the program as it is asked to; lld says what must stay."""
    if not Path("/usr/bin/ld.bfd").exists():
        pytest.skip("no GNU ld here")
    objects = builds.objects(*C)
    builds.run(str(find_tool("llvm-ar")), "rcs", "libparts.a", *objects[1:])
    linked = builds.link("program", objects[0], "-L.", "-lparts", "-fuse-ld=bfd", "-Wl,--gc-sections")
    assert (linked["action"], linked["source"]) == ("optimized", "4 units")


def _text(builds: Builds, name: str) -> str:
    return (builds.folder / name).read_text()
