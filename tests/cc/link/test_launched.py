"""The launcher with --whole-program: Python starts for a unit or a program that is large enough, else not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from burnish.cc import build_log
from burnish.cc.commands.launch import find_launcher
from burnish.cc.link.units import read_unit
from tests.cc.conftest import copied_launcher, write_script
from tests.cc.link.conftest import FLAGS, Builds, C


@pytest.fixture
def launcher(builds: Builds, tmp_path: Path) -> list[str]:
    """A launcher whose `burnish` writes down how it is called, and is the real one."""
    copied, real = copied_launcher(tmp_path / "bin"), Path(find_launcher("burnish-cc")).with_name("burnish")
    write_script(tmp_path / "bin" / "burnish", f'echo "$2" >> {tmp_path}/starts\nexec {real} "$@"')
    return [copied, "--alone", "--whole-program", "--budget=4evaluations", "--report", str(builds.log)]


def starts(tmp_path: Path) -> int:
    path = tmp_path / "starts"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_a_small_program_is_linked_by_clang_alone(
    builds: Builds, launcher: list[str], tmp_path: Path
) -> None:
    """As most of what a configure script links."""
    (builds.folder / "conftest.c").write_text("int main(void) { return 0; }\n")
    builds.run(*launcher, "-Oz", "conftest.c", "-o", "conftest")
    builds.clang("-Oz", "-c", "conftest.c")
    builds.run(*launcher, "conftest.o", "-o", "linked")
    builds.run(*launcher, "-O2", "-c", "conftest.c")
    builds.run(*launcher, "-E", "conftest.c")
    assert starts(tmp_path) == 0
    rows = build_log.read(builds.log)
    assert [(row.source, Path(row.output).name, row.action) for row in rows] == [
        ("0 units", "conftest", "kept"),
        ("0 units", "linked", "kept"),
        ("conftest.c", "conftest.o", "passed through"),
    ]
    assert "bytes of code: too few to gain" in rows[0].reason


def test_units_and_the_program_are_made_after_clang(
    builds: Builds, launcher: list[str], tmp_path: Path
) -> None:
    builds.run(*launcher, *FLAGS, "-c", *C)
    assert starts(tmp_path) == 1
    objects = [source.replace(".c", ".o") for source in C]
    for name in objects:
        unit = read_unit((builds.folder / name).read_bytes())
        assert unit
        assert unit.unit.seconds > 0
        assert unit.unit.spent_seconds > 0
    builds.run(*launcher, *objects, "-o", "program")
    assert starts(tmp_path) == 2
    (last,) = [json.loads(line) for line in builds.log.read_text().splitlines()]
    assert (last["source"], last["output"]) == ("4 units", "program")
    builds.clang(*objects, "-o", "program.clang")
    assert builds.run("./program", "7") == builds.run("./program.clang", "7").replace(".clang", "")


LTO = ("-Oz", "-flto", "-ffunction-sections", "-fdata-sections")


@pytest.mark.parametrize("flag", ["-flto", "-flto=thin"])
def test_link_time_optimization_for_size_is_a_whole_program(
    builds: Builds, launcher: list[str], flag: str
) -> None:
    """Objects are clang's without the option, so all tools read them; the link is of one module."""
    launcher.remove("--whole-program")
    builds.run(*launcher, "-Oz", flag, "-ffat-lto-objects", "-c", *C)
    objects = [source.replace(".c", ".o") for source in C]
    assert all(read_unit((builds.folder / name).read_bytes()) for name in objects)
    assert "main" in builds.symbols("main.o")
    builds.run("ar", "rcs", "libparts.a", *objects[1:])
    builds.run(*launcher, "-Oz", flag, "main.o", "libparts.a", "-o", "program")
    last = build_log.read(builds.log)[-1]
    assert (last.source, last.action) == ("4 units", "optimized")
    builds.clang("-Oz", *C, "-o", "program.clang")
    assert builds.run("./program", "7") == builds.run("./program.clang", "7").replace(".clang", "")
    assert builds.loaded("program") < builds.loaded("program.clang")


@pytest.mark.parametrize("linker", ["bfd", "gold"])
def test_link_time_optimization_with_another_linker_and_words_in_a_file(
    builds: Builds, launcher: list[str], linker: str
) -> None:
    """These linkers would need a plugin for bitcode, which clang's package does not have."""
    if not shutil.which(f"ld.{linker}"):
        pytest.skip(f"ld.{linker} is not installed")
    launcher.remove("--whole-program")
    (builds.folder / "options").write_text("-Oz\n-fl\"to\" '-ffunction-sections'")
    builds.run(*launcher, "@options", "-c", *C)
    objects = [source.replace(".c", ".o") for source in C]
    assert all(read_unit((builds.folder / name).read_bytes()) for name in objects)
    (builds.folder / "objects").write_text("\n".join(objects))
    (builds.folder / "link").write_text("@options @objects -o the\\ program\n-s -fuse-ld=" + linker)
    builds.run(*launcher, "@link")
    last = build_log.read(builds.log)[-1]
    assert (last.source, last.action) == ("4 units", "optimized")
    builds.clang("-Oz", "-ffunction-sections", *C, "-s", f"-fuse-ld={linker}", "-o", "program.clang")
    said = builds.run("./program.clang", "7").replace("program.clang", "the program")
    assert builds.run("./the program", "7") == said
    assert builds.loaded("the program") < builds.loaded("program.clang")


def test_other_link_time_optimization_is_clangs(builds: Builds, launcher: list[str]) -> None:
    """At levels for speed, and after -fno-lto; a link takes such objects, too."""
    launcher.remove("--whole-program")
    builds.run(*launcher, "-O2", "-flto", "-c", "sums.c")
    assert (builds.folder / "sums.o").read_bytes().startswith(b"BC")
    builds.run(*launcher, "-Oz", "-flto", "-fno-lto", "-c", "twice.c")
    assert not read_unit((builds.folder / "twice.o").read_bytes())
    builds.run(*launcher, *LTO, "-c", "main.c", "find.c")
    objects = [source.replace(".c", ".o") for source in C]
    builds.run(*launcher, *LTO, *objects, "-o", "program", "-fuse-ld=lld")
    builds.clang("-Oz", *C, "-o", "program.clang")
    assert builds.run("./program", "7") == builds.run("./program.clang", "7").replace(".clang", "")
    assert "clang's own link-time optimization" in build_log.read(builds.log)[-1].reason


def test_a_command_that_compiles_and_links_with_link_time_optimization(
    builds: Builds, launcher: list[str]
) -> None:
    launcher.remove("--whole-program")
    builds.run(*launcher, *LTO, *C, "-o", "program")
    last = build_log.read(builds.log)[-1]
    assert (last.source, last.action) == ("4 units", "optimized")
    builds.clang("-O1", "-flto", "-c", "sums.c")
    builds.run(*launcher, *LTO, "main.c", "find.c", "twice.c", "sums.o", "-o", "mixed", "-fuse-ld=lld")
    assert builds.run("./mixed", "7") == builds.run("./program", "7").replace("program", "mixed")
