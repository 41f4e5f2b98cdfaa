"""Objects go through archives, partial links and other tools, and links take of them what they take."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish import _native
from burnish.llvm.toolchain import find_tool
from tests.cc.link.conftest import FLAGS, Builds, C

OTHER = """\
int unused_twice(int value) { return 2 * value; }
int other(int value) { return value * 7 + unused_twice(value); }
"""


def ar(builds: Builds, options: str, name: str, *files: str) -> str:
    builds.run(str(find_tool("llvm-ar")), options, name, *files)
    return name


@pytest.mark.parametrize("words", [("parts.a",), ("-L.", "-lparts"), ("@words.rsp",)], ids=" ".join)
def test_of_an_archive_what_is_needed(builds: Builds, words: tuple[str, ...]) -> None:
    (builds.folder / "spare.c").write_text("int spare(int value) { return value / 3; }\n")
    main, *parts = builds.objects(*C, "spare.c")
    ar(builds, "rcs", "parts.a", *parts)
    ar(builds, "rcs", "libparts.a", *parts)
    (builds.folder / "words.rsp").write_text("-Wl,--start-group ./parts.a -Wl,--end-group")
    linked = builds.link("program", main, *words)
    assert (linked["action"], linked["source"]) == ("optimized", "4 units")
    assert "spare" not in builds.symbols("program")


def test_of_a_thin_archive_what_is_needed(builds: Builds) -> None:
    """Meson makes these; the members are files from the archive's folder."""
    main, *parts = builds.objects(*C)
    (builds.folder / "lib").mkdir()
    for part in parts:
        (builds.folder / part).rename(builds.folder / "lib" / part)
    ar(builds, "rcsT", "lib/parts.a", *(f"lib/{part}" for part in parts))
    linked = builds.link("program", main, "lib/parts.a")
    assert (linked["action"], linked["source"]) == ("optimized", "4 units")


def test_of_a_whole_archive_all(builds: Builds) -> None:
    main, *parts = builds.objects(*C)
    ar(builds, "rcs", "parts.a", *parts)
    linked = builds.link("program", main, "-Wl,--whole-archive", "parts.a", "-Wl,--no-whole-archive")
    assert (linked["action"], linked["source"]) == ("optimized", "4 units")


def test_members_with_one_name_and_members_without_units(builds: Builds) -> None:
    """The archive has two members twice.o, of which one is needed, and one that clang alone made."""
    main, *parts = builds.objects("main.c", "find.c", "twice.c")
    ar(builds, "rcs", "parts.a", *parts)
    (builds.folder / "other").mkdir()
    (builds.folder / "other" / "twice.c").write_text(OTHER)
    builds.cc(*FLAGS, "-c", "other/twice.c", "-o", "other/twice.o")
    builds.clang("-Oz", "-c", "sums.c", "-o", "sums.o")
    ar(builds, "qS", "parts.a", "other/twice.o", "sums.o")
    ar(builds, "s", "parts.a")
    linked = builds.link("program", main, "parts.a")
    assert (linked["action"], linked["source"]) == ("optimized", "3 units")
    assert not {"other", "unused_twice"} & builds.symbols("program")


def test_the_definition_that_comes_first_counts(builds: Builds) -> None:
    """Weak ones, common ones and archives: the linker decides, and the module follows it."""
    (builds.folder / "weak.c").write_text(
        "__attribute__((weak)) int twice(int value) { return -value; }\nint calls = 0;\n"
    )
    (builds.folder / "find.c").write_text(
        (builds.folder / "find.c").read_text().replace("int calls;", "int calls __attribute__((common));")
    )
    main, *parts = builds.objects(*C, "weak.c")
    ar(builds, "rcs", "parts.a", *parts[:-1])
    linked = builds.link("program", main, "weak.o", "parts.a")
    # twice.o is not taken: twice is there
    assert (linked["action"], linked["source"]) == ("optimized", "4 units")
    assert "-7" in builds.run("./program", "7")


def test_partial_links_and_changed_objects_stay_objects(builds: Builds) -> None:
    main, find, sums, twice = builds.objects(*C)
    builds.clang("-r", "-nostdlib", find, twice, "-o", "partial.o")
    builds.run(str(find_tool("llvm-objcopy")), "--weaken", sums)
    linked = builds.link("program", main, "partial.o", sums)
    assert linked["source"] == "1 units"
    builds.run(str(find_tool("llvm-objcopy")), "--remove-section=.burnish.unit", main)
    assert builds.link("other", main, "partial.o", sums)["reason"].startswith("no object has a unit")


def test_stripped_objects_keep_their_units(builds: Builds) -> None:
    objects = builds.objects(*C, flags=(*FLAGS, "-g"))
    for file in objects:
        builds.run(str(find_tool("llvm-strip")), "--strip-unneeded", file)
    assert builds.link("program", *objects)["source"] == "4 units"


def test_an_archive_of_ours_is_read_by_others(builds: Builds) -> None:
    paths = [builds.folder / file for file in builds.objects("find.c", "sums.c", "twice.c")]
    files = [path.read_bytes() for path in paths]
    ours = _native.archive_of([*files, files[0]])
    (builds.folder / "ours.a").write_bytes(ours)
    table = builds.run(str(find_tool("llvm-nm")), "--print-armap", "ours.a").partition("\n\n")[0]
    assert "find in 0.o" in table
    assert "find in 3.o" in table
    assert _native.archive_of([*files, files[0]]) == ours  # no dates
    members = _native.archive_members(ours)
    assert [content for _, _, content in members] == [*files, files[0]]
    assert all(ours[start : start + len(content)] == content for _, start, content in members)


def test_long_names_are_read(builds: Builds) -> None:
    long = "a" * 40 + ".o"
    (builds.folder / long).write_bytes(b"odd")
    for options in ("--format=gnu", "--format=bsd"):
        Path(builds.folder / "long.a").unlink(missing_ok=True)
        builds.run(str(find_tool("llvm-ar")), options, "rcS", "long.a", long)
        ((name, _, content),) = _native.archive_members((builds.folder / "long.a").read_bytes())
        assert (name, content.rstrip(b"\n")) == (long, b"odd")
