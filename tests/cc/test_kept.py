"""What a build found is there in the next one: objects of unchanged files, traces of changed ones."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.cc import build_log, kept, memory_file
from burnish.cc.build_log import Record
from burnish.cc.command_key import Key
from burnish.cc.commands import memory as memory_command
from burnish.cc.commands.cc import default_optimizer
from burnish.cc.commands.launch import find_launcher
from burnish.cc.file_budget import FileBudget
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.kept import Compilation, Kept, ObjectMemory, parse_dependencies
from burnish.cc.outcomes import Build, Outcome, Sizes
from burnish.cc.recalling import LinkRecollection, Recollection
from burnish.cc.requests import Compiled, DriverOptions, default_memory
from burnish.core.database import connected
from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool
from tests.cc.remembering import HEADER, Builds
from tests.sources import DATA


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    return Builds(tmp_path)


def clangs(builds: Builds) -> bytes:
    made = builds.folder / "clang.o"
    command = [str(find_tool("clang")), "-Oz", "-c", "table.c", "-o", str(made)]
    subprocess.run(command, cwd=builds.folder, check=True)
    return made.read_bytes()


def test_an_unchanged_file_gets_its_object_without_a_search(built: Builds) -> None:
    first, found = built.last, built.object.read_bytes()
    assert first.action == "optimized" and first.evaluations and not first.recalled
    again = built.build("--budget=0.3s")
    assert built.object.read_bytes() == found
    assert (again.action, again.trace, again.loaded_bytes) == (first.action, first.trace, first.loaded_bytes)
    assert again.recalled and not again.evaluations


def test_another_name_of_the_output_is_the_same_command(built: Builds) -> None:
    command = [*built.command("--budget=0.3s"), "-o", "other.o", "-MD", "-MF", "other.d"]
    subprocess.run(command, cwd=built.folder, check=True, timeout=300)
    assert built.last.recalled and built.last.output == "other.o"
    assert (built.folder / "other.o").read_bytes() == built.object.read_bytes()


def test_another_comment_costs_the_front_end_alone(built: Builds) -> None:
    first, found = built.last, built.object.read_bytes()
    (built.folder / "more.h").write_text("/* another comment */\nint more(int);\n")
    again = built.build("--budget=0.3s")
    assert again.recalled and not again.evaluations and again.trace == first.trace
    assert built.object.read_bytes() == found
    with sqlite3.connect(built.memory) as database:  # for one object there are two ways now
        assert database.execute("SELECT COUNT(*) FROM sources").fetchone() == (2,)
        assert database.execute("SELECT COUNT(*) FROM objects").fetchone() == (1,)


def test_a_changed_file_gets_the_trace_of_its_last_version(built: Builds) -> None:
    first = built.last
    built.source.write_text(built.source.read_text() + "\nint another(int x) { return more(x) + 7; }\n")
    again = built.build("--budget=remembered")
    assert again.action == "optimized" and not again.evaluations and not again.recalled
    assert again.trace == first.trace
    assert again.loaded_bytes_before and first.loaded_bytes_before
    assert again.loaded_bytes_before > first.loaded_bytes_before  # clang's has the new function, too
    symbols = subprocess.run(["nm", "table.o"], cwd=built.folder, check=True, capture_output=True, text=True)
    assert " T another" in symbols.stdout
    assert built.build("--budget=remembered").recalled


def test_a_longer_budget_searches_once_more_and_is_never_worse(built: Builds) -> None:
    first, found = built.last, built.object.read_bytes()
    longer = built.build("--budget=0.7s")
    assert longer.evaluations
    assert longer.recalled == (built.object.read_bytes() == found)  # it stays unless it is worse
    assert longer.loaded_bytes and first.loaded_bytes and longer.loaded_bytes <= first.loaded_bytes
    assert built.build("--budget=0.3s").loaded_bytes == longer.loaded_bytes


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The memory of all builds, in a cache of this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "burnish" / "cc.memory"


def unnamed(builds: Builds, *options: str) -> Record:
    """Compile with the memory of all builds, unless an option names another; return the line of the log."""
    command = builds.command("--budget=0.1s", "--remember", *options)
    command.remove("--remember")
    done = subprocess.run(command, cwd=builds.folder, check=True, timeout=300, capture_output=True, text=True)
    builds.said = done.stderr
    return builds.last


def test_nothing_is_remembered_unless_it_is_wanted(built: Builds, shared: Path) -> None:
    """A budget in evaluations gives the same objects everywhere, whatever was built before."""
    shared.parent.mkdir(parents=True)
    built.memory.rename(shared)
    assert unnamed(built).recalled
    for option in ("--remember=none", "--budget=3evaluations"):
        record = unnamed(built, option)
        assert not record.recalled and record.evaluations


def test_objects_of_other_options_are_not_taken(built: Builds) -> None:
    for option in ("--objective=text-bytes", "--speed-limit=none", "--code-generation=clang"):
        assert not built.build("--budget=0.05s", option).recalled
    assert built.build("--budget=0.3s").recalled


def test_all_builds_share_a_memory_and_a_broken_one_is_put_aside(builds: Builds, shared: Path) -> None:
    shared.parent.mkdir(parents=True)
    shared.write_bytes(b"no database" * 1000)
    assert not unnamed(builds).recalled
    assert builds.said == f"burnish: {shared} is broken; it is now cc.broken, and a new one begins\n"
    assert shared.with_suffix(".broken").read_bytes().startswith(b"no database")
    assert unnamed(builds).recalled and not builds.said


def test_a_memory_that_cannot_be_written_costs_nothing_else(builds: Builds, shared: Path) -> None:
    shared.mkdir(parents=True)  # a folder in the file's place
    record = unnamed(builds)
    assert record.evaluations
    assert "unable to open database file" in record.memory_error
    report = [find_launcher("burnish-cc").replace("burnish-cc", "burnish"), "report", str(builds.log)]
    shown = subprocess.run(report, cwd=builds.folder, check=True, capture_output=True, text=True, timeout=300)
    assert "unable to open database file" in shown.stdout


def test_a_file_of_the_user_is_not_put_aside(builds: Builds) -> None:
    builds.memory.write_bytes(b"no database" * 1000)
    record = builds.build("--budget=0.3s")
    assert record.action == "kept" and "expected a file that burnish made" in record.reason
    assert builds.object.read_bytes() == clangs(builds)
    assert builds.memory.read_bytes() == b"no database" * 1000


def test_builds_at_the_same_time_share_a_memory(builds: Builds) -> None:
    names = [f"table{number}.c" for number in range(4)]
    for name in names:
        (builds.folder / name).write_text(builds.source.read_text())
    for recalled in (False, True):
        running = [
            subprocess.Popen(builds.command("--budget=0.1s", source=name), cwd=builds.folder)
            for name in names
        ]
        assert [process.wait(300) for process in running] == [0] * len(names)
        last = build_log.read(builds.log)[-len(names) :]
        assert [record.recalled for record in last] == [recalled] * len(names)


@given(st.lists(st.text("ab #$:é", min_size=1, max_size=6), min_size=1, max_size=4))
def test_names_of_files_are_read_as_clang_writes_them(names: list[str]) -> None:
    """By clang's own escapes (clang/lib/Frontend/DependencyFile.cpp, PrintFilename)."""
    assert parse_dependencies("read:" + "".join(f" \\\n  {escaped(name)}" for name in names)) == names


def escaped(name: str) -> str:
    return name.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")


OPTIONS = DriverOptions()


@given(st.permutations(["-o=out.o", "-MD", "-MF=out.d", "-MT=out.o", "-MP", "-oout.o"]))
def test_names_of_outputs_are_not_in_a_key(words: list[str]) -> None:
    given = [part for word in words for part in word.split("=")]
    key = Key(("-Oz", *given, "-c", "a.c"), OPTIONS)
    assert key.name == Key(("-Oz", "-c", "a.c"), OPTIONS).name
    for other in (Key(("-Os", "-c", "a.c"), OPTIONS), Key(("-Oz", "-c", "a.c"), replace(OPTIONS, seed=1))):
        assert key.name != other.name


@pytest.mark.parametrize(
    ("word", "left"),
    [
        ("-Wp,-MD,out.d", ()),
        ("-Wp,-MMD,out.d,-MT,out.o,-MP", ()),
        ("-Wp,-MD,out.d,-DX=1", ("-Wp,-DX=1",)),
        ("-Wp,-DX=1,-MFout.d,-DY", ("-Wp,-DX=1,-DY",)),
    ],
)
def test_macros_beside_outputs_of_the_preprocessor_are_in_a_key(word: str, left: tuple[str, ...]) -> None:
    assert Key(("-Oz", word, "a.c"), OPTIONS).name == Key(("-Oz", *left, "a.c"), OPTIONS).name
    assert bool(left) is (Key(("-Oz", word, "a.c"), OPTIONS).name != Key(("-Oz", "a.c"), OPTIONS).name)


def test_the_oldest_objects_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_BYTES", 1 << 20)
    memory = ObjectMemory(tmp_path / "memory")
    found: dict[str, Any] = {"reason": "", "trace": [], "saved_in_groups": {}, "after": None}
    for number in range(40):
        memory.keep(Kept(str(number), 1.0, found, os.urandom(50_000)), 1)
        memory.keep_unit(str(number), os.urandom(50_000), 1.0)
    assert memory.same_module("0") is None and memory.same_module("39")
    assert memory.unit("0") is None and memory.unit("39")
    assert memory.path.stat().st_size < 3 << 20


def test_a_smaller_object_stays(tmp_path: Path) -> None:
    memory = ObjectMemory(tmp_path / "memory")
    found: dict[str, Any] = {"reason": "", "trace": [], "saved_in_groups": {}, "after": None}
    small = Kept("key", 1.0, found, b"small")
    assert memory.keep(small, 5) == small
    assert memory.keep(Kept("key", 9.0, found, b"larger"), 6) == replace(small, effort=9.0)
    assert memory.same_module("key") == replace(small, effort=9.0)


def test_what_is_stored_together_is_stored_as_a_whole(tmp_path: Path) -> None:
    memory, other = ObjectMemory(tmp_path / "memory"), ObjectMemory(tmp_path / "memory")
    with pytest.raises(ZeroDivisionError), memory.together():
        memory.keep(Kept("lost", 1.0, {}, None), 9)
        assert memory.same_module("lost") and not other.same_module("lost")
        raise ZeroDivisionError
    with memory.together():
        memory.keep(Kept("one", 1.0, {}, None), 9)
        memory.keep(Kept("two", 1.0, {}, None), 9)
        assert not other.same_module("one")
    assert other.same_module("one") and other.same_module("two") and not other.same_module("lost")


def test_the_programs_of_a_unit_are_counted_for_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, now = ObjectMemory(tmp_path / "memory"), time.time()
    assert memory.share(["a", "b"], "one") == [1, 1]
    assert memory.share(["b", "c"], "other") == [2, 1]
    assert memory.share(["b", "c"], "other") == [2, 1]
    assert memory.share(["a", "b"], "third") == [2, 3]
    monkeypatch.setattr(time, "time", lambda: now + 2 * kept.DAY_SECONDS)
    assert memory.share(["a", "b"], "other") == [1, 1]


def test_equal_commands_in_two_folders_are_two_compilations(tmp_path: Path) -> None:
    memory, sizes = ObjectMemory(tmp_path / "memory"), Sizes(999, 999, 999, 0)
    memory.keep(Kept("module", 1.0, {}, None), 9)
    for folder in ("one", "other"):
        made = Compilation("a.c", "Oz", (), sizes, "clang", False, 0.1, f"/{folder}", (), (), False)
        memory.keep_source(folder, "name", "module", [], made, b"object")
    assert [one.key for one in memory.compilations(Path("/"))] == ["one", "other"]


def test_a_smaller_program_stays(recollection: Recollection, tmp_path: Path) -> None:
    program = tmp_path / "program"
    made = Compilation("program", "Oz", (), None, "clang", False, 0.1, "/", (), (), False, is_link=True)
    link = LinkRecollection(recollection.memory, "key", recollection.build, made, ())
    for size, content in ((5, b"small"), (6, b"larger")):
        program.write_bytes(content)
        found = link.keep(outcome_of(action="optimized", after=Sizes(size, 0, 0, 0)), program)
        assert (found.after, program.read_bytes()) == (Sizes(5, 0, 0, 0), b"small")


def test_files_that_are_gone_are_not_unchanged(tmp_path: Path) -> None:
    memory, source = ObjectMemory(tmp_path / "memory"), tmp_path / "a.c"
    source.write_text("int a;")
    found: dict[str, Any] = {"reason": "none", "trace": [], "saved_in_groups": {}, "after": None}
    memory.keep(Kept("module", 1.0, found, None), 6)
    made = Compilation("a.c", "Oz", ("clang",), None, "clang", False, 0.1, "/", ("-c",), (), False)
    memory.keep_source("key", "name", "module", [str(source)], made, b"object")
    assert memory.unchanged("key") == (Kept("module", 1.0, found, None), made)
    source.write_text("int b;")
    assert memory.unchanged("key") is None
    source.unlink()
    assert memory.unchanged("key") is None


def test_memories_of_two_machines_are_merged(
    built: Builds, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    other = Builds(tmp_path / "other")
    other.source.write_text(HEADER + (DATA / "matrix.c").read_text())
    other.build("--budget=0.1s")
    assert memory_command.main([str(built.memory), "--merge", str(other.memory), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["objects"], shown["compilations"]) == (2, 2)
    assert other.build("--budget=0.1s", f"--remember={built.memory}").recalled
    assert built.build("--budget=0.3s").recalled


def test_the_smaller_of_two_objects_is_merged(tmp_path: Path) -> None:
    found: dict[str, Any] = {"reason": "", "trace": [], "saved_in_groups": {}, "after": None}
    ours, theirs = (ObjectMemory(tmp_path / name) for name in ("ours", "theirs"))
    ours.keep(Kept("both", 1.0, found, b"larger"), 6)
    ours.keep(Kept("worse there", 5.0, found, b"small"), 5)
    theirs.keep(Kept("both", 3.0, found, b"small"), 5)
    theirs.keep(Kept("worse there", 9.0, found, b"larger"), 6)
    theirs.keep(Kept("new", 1.0, found, None), 7)
    theirs.keep_unit("unit", b"object", 0.5)
    memory_file.merge(ours.path, theirs.path)
    assert ours.unit("unit") == (b"object", 0.5)
    assert ours.same_module("both") == Kept("both", 3.0, found, b"small")
    assert ours.same_module("worse there") == Kept("worse there", 5.0, found, b"small")
    assert ours.same_module("new") == Kept("new", 1.0, found, None)


def test_a_wrong_memory_is_not_merged(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"no database" * 1000)
    with pytest.raises(InputError, match="other: file is not a database; expected a file that burnish made"):
        memory_command.main([str(tmp_path / "memory"), "--merge", str(tmp_path / "other")])
    with pytest.raises(InputError, match="no such file; expected a memory of builds"):
        memory_command.main([str(tmp_path / "memory"), "--merge", str(tmp_path / "none")])


def outcome_of(**fields: Any) -> Outcome:
    return Outcome("a.c", "Oz", ("clang",), **fields)


@pytest.fixture
def recollection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recollection:
    """A compilation of a.c, and an empty memory of all builds."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    options = kept.checked(DriverOptions(memory=default_memory()))
    job = ClangJob(("clang", "-cc1", "-emit-obj", "-o", "a.o", "a.c"))
    compiled = Compiled(1.0, 0.0, frozenset())
    build = Build(ClangJobs((job,), "23"), compiled, options, default_optimizer, tmp_path, Key((), options))
    (tmp_path / "a.c").write_text("int a;")
    (tmp_path / "front.d").write_text(f"read: {tmp_path / 'a.c'}\n")
    found = Recollection.of(build, job, tmp_path / "front.d")
    assert found
    return found


def test_a_search_that_failed_is_not_kept(recollection: Recollection) -> None:
    """The next build tries again; a search that found nothing is kept."""
    recollection.keep(outcome_of(reason="the optimizer died"), b"module", b"object")
    assert recollection.same_module(b"module", outcome_of()) is None
    recollection.keep(outcome_of(reason="nothing smaller was found", evaluations=7), b"module", b"object")
    found = recollection.same_module(b"module", outcome_of())
    assert found == outcome_of(reason="nothing smaller was found", recalled=True)


def test_an_object_needs_no_front_end_if_no_file_has_changed(recollection: Recollection) -> None:
    recollection.keep(outcome_of(reason="nothing smaller was found", evaluations=7), b"module", b"object")
    known = outcome_of(reason="nothing smaller was found", recalled=True)
    assert recollection.same_files(b"object", outcome_of()) == known
    assert recollection.same_files(b"another object", outcome_of()) is None
    longer = replace(recollection.build.options, budget=FileBudget(seconds=9.0))
    asked = replace(recollection, build=replace(recollection.build, options=longer))
    assert asked.same_files(b"object", outcome_of()) is None
    recollection.dependencies.with_name("a.c").write_text("int b;")
    assert recollection.same_files(b"object", outcome_of()) is None


def test_a_command_opens_the_memory_once(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    opened: list[Path] = []

    def counted(path: Path, schema: str) -> sqlite3.Connection:
        opened.append(path)
        return connected(path, schema)

    monkeypatch.setattr(kept, "connected", counted)
    recollection: Recollection = request.getfixturevalue("recollection")
    assert recollection.previous() == ()
    recollection.keep(outcome_of(evaluations=7), b"module", b"object")
    assert opened == [recollection.memory.path]


def test_what_is_known_is_not_written_again(recollection: Recollection) -> None:
    def rows() -> list[tuple[int, str]]:
        with sqlite3.connect(recollection.memory.path) as database:
            return database.execute("SELECT rowid, contents FROM sources").fetchall()

    recollection.keep(outcome_of(evaluations=7), b"module", b"object")
    first = rows()
    for _ in range(2):
        known = recollection.same_module(b"module", outcome_of())
        assert known
        recollection.keep(known, b"module", b"object")
    assert rows() == first
    source = recollection.dependencies.with_name("a.c")
    for text in ("int b;", "int a;"):  # then the first version is the latest again
        source.write_text(text)
        recollection.keep(outcome_of(evaluations=7), b"module", b"object")
    assert {contents for _, contents in rows()} > {first[0][1]}
    assert max(rows())[1] == first[0][1]


def test_the_memory_has_the_module_of_the_last_version(recollection: Recollection) -> None:
    memory, small = recollection.memory, outcome_of(evaluations=7, before=Sizes(999, 999, 999, 0))
    for version in (b"1", b"2"):
        recollection.keep(small, b"module" + version, b"object" + version)
        recollection.keep_front(b"front" + version, b"object" + version, b"module" + version)
    (item,) = memory.compilations(Path("/"))
    assert memory.front(item.key, item.contents) == b"front2"
    assert recollection.same_front(b"front1", b"object1", outcome_of()) is None
    assert recollection.same_front(b"front2", b"object2", outcome_of()) == outcome_of(recalled=True)
    recollection.keep_front(b"front3", b"object2", b"module3")  # whose object is not kept
    assert recollection.same_front(b"front3", b"object2", outcome_of()) is None
    with pytest.raises(InputError, match="a build has changed it"):
        memory.front("another", item.contents)
