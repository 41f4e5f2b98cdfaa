"""What a build found is there in the next one: objects of unchanged files, traces of changed ones."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.cc import build_log, kept
from burnish.cc.build_log import Record
from burnish.cc.command_key import Key
from burnish.cc.commands import improve as improve_command
from burnish.cc.commands import memory as memory_command
from burnish.cc.commands.cc import default_optimizer
from burnish.cc.commands.launch import find_launcher
from burnish.cc.jobs import ClangJob, ClangJobs
from burnish.cc.kept import Compilation, Kept, ObjectMemory, parse_dependencies
from burnish.cc.outcomes import Build, Outcome
from burnish.cc.recalling import Recollection
from burnish.cc.requests import Compiled, DriverOptions, default_memory
from burnish.core.errors import InputError
from burnish.llvm.toolchain import find_tool
from burnish.search.memory import connected
from tests.sources import DATA
from tests.waiting import alive, wait_until

SOURCE = DATA / "hash_table.c"
FREESTANDING = """
int steps(const int *values, int count) {
  int found = 0, last = 0;
  for (int i = 0; i < count; i++) {
    if (values[i] < 0) continue;
    if (more(values[i]) > last) found += more(values[i] - 1);
    else if (more(values[i]) < last) found -= more(values[i] + 1);
    last = values[i] % 7 ? more(last) : values[i] / 7;
  }
  return found + last;
}
int both(const int *values, int count) { return steps(values, count) + steps(values + 1, count - 1); }
"""
COMPILED = ("-Oz", "-c", "table.c", "-o", "table.o")
HEADER = '#include "more.h"\n'


class Builds:
    """Compilations in a folder of their own, with a memory that they share."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.memory, self.log = folder, folder / "memory", folder / "log.jsonl"
        self.source, self.object = folder / "table.c", folder / "table.o"
        (folder / "more.h").write_text("int more(int);\n")
        self.source.write_text(HEADER + SOURCE.read_text())

    def command(self, *options: str, source: str = "table.c") -> list[str]:
        burnish = [find_launcher("burnish-cc"), "--alone", "--report", str(self.log)]
        chosen = (
            [] if any(word.startswith("--remember") for word in options) else [f"--remember={self.memory}"]
        )
        output = Path(source).with_suffix(".o").name
        return [*burnish, *chosen, *options, "-Oz", "-c", source, "-o", output]

    def build(self, *options: str) -> Record:
        """Compile, and return the line of the log."""
        said = subprocess.run(
            self.command(*options), cwd=self.folder, check=True, timeout=300, capture_output=True, text=True
        )
        self.said = said.stderr
        return build_log.read(self.log)[-1]


@pytest.fixture
def builds(tmp_path: Path) -> Builds:
    return Builds(tmp_path)


def clangs(builds: Builds) -> bytes:
    made = builds.folder / "clang.o"
    command = [str(find_tool("clang")), "-Oz", "-c", "table.c", "-o", str(made)]
    subprocess.run(command, cwd=builds.folder, check=True)
    return made.read_bytes()


def test_an_unchanged_file_gets_its_object_without_a_search(builds: Builds) -> None:
    first = builds.build("--budget=2s")
    found = builds.object.read_bytes()
    assert first.action == "optimized" and first.evaluations and not first.recalled
    again = builds.build("--budget=2s")
    assert builds.object.read_bytes() == found
    assert (again.action, again.trace, again.loaded_bytes) == (first.action, first.trace, first.loaded_bytes)
    assert again.recalled and not again.evaluations


def test_another_name_of_the_output_is_the_same_command(builds: Builds) -> None:
    builds.build("--budget=2s")
    command = [*builds.command("--budget=2s"), "-o", "other.o", "-MD", "-MF", "other.d"]
    subprocess.run(command, cwd=builds.folder, check=True, timeout=300)
    last = build_log.read(builds.log)[-1]
    assert last.recalled and last.output == "other.o"
    assert (builds.folder / "other.o").read_bytes() == builds.object.read_bytes()


def test_another_comment_costs_the_front_end_alone(builds: Builds) -> None:
    first = builds.build("--budget=2s")
    found = builds.object.read_bytes()
    (builds.folder / "more.h").write_text("/* another comment */\nint more(int);\n")
    again = builds.build("--budget=2s")
    assert again.recalled and not again.evaluations and again.trace == first.trace
    assert builds.object.read_bytes() == found
    with sqlite3.connect(builds.memory) as database:  # for one object there are two ways now
        assert database.execute("SELECT COUNT(*) FROM sources").fetchone() == (2,)
        assert database.execute("SELECT COUNT(*) FROM objects").fetchone() == (1,)


def test_a_changed_file_gets_the_trace_of_its_last_version(builds: Builds) -> None:
    first = builds.build("--budget=2s")
    builds.source.write_text(builds.source.read_text() + "\nint another(int x) { return more(x) + 7; }\n")
    again = builds.build("--budget=remembered")
    assert again.action == "optimized" and not again.evaluations and not again.recalled
    assert again.trace == first.trace
    assert again.loaded_bytes_before and first.loaded_bytes_before
    assert again.loaded_bytes_before > first.loaded_bytes_before  # clang's has the new function, too
    symbols = subprocess.run(["nm", "table.o"], cwd=builds.folder, check=True, capture_output=True, text=True)
    assert " T another" in symbols.stdout
    assert builds.build("--budget=remembered").recalled


def test_a_longer_budget_searches_once_more_and_is_never_worse(builds: Builds) -> None:
    first = builds.build("--budget=0.3s")
    longer = builds.build("--budget=2s")
    assert longer.evaluations and not longer.recalled
    assert longer.loaded_bytes and first.loaded_bytes and longer.loaded_bytes <= first.loaded_bytes
    assert builds.build("--budget=0.3s").loaded_bytes == longer.loaded_bytes


@pytest.fixture
def shared(builds: Builds, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The memory of all builds, in a cache of this test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(builds.folder / "cache"))
    builds.memory = builds.folder / "cache" / "burnish" / "cc.memory"
    return builds.memory


def unnamed(builds: Builds, *options: str) -> list[str]:
    """Return a command with the memory of all builds, unless an option names another."""
    command = builds.command("--budget=0.3s", "--remember", *options)
    command.remove("--remember")
    return command


def test_nothing_is_remembered_unless_it_is_wanted(builds: Builds, shared: Path) -> None:
    """A budget in evaluations gives the same objects everywhere, whatever was built before."""
    subprocess.run(unnamed(builds), cwd=builds.folder, check=True, timeout=300)
    for option in ("--remember=none", "--budget=3evaluations"):
        subprocess.run(unnamed(builds, option), cwd=builds.folder, check=True, timeout=300)
        record = build_log.read(builds.log)[-1]
        assert not record.recalled and record.evaluations


def test_objects_of_other_options_are_not_taken(builds: Builds) -> None:
    builds.build("--budget=0.3s")
    for option in ("--objective=text-bytes", "--speed-limit=none", "--code-generation=clang"):
        assert not builds.build("--budget=0.3s", option).recalled
    assert builds.build("--budget=0.3s").recalled


def test_all_builds_share_a_memory(builds: Builds, shared: Path) -> None:
    for _ in range(2):
        subprocess.run(unnamed(builds), cwd=builds.folder, check=True, timeout=300)
    assert [record.recalled for record in build_log.read(builds.log)] == [False, True]
    assert shared.is_file()


def test_a_broken_memory_is_put_aside(builds: Builds, shared: Path) -> None:
    shared.parent.mkdir(parents=True)
    shared.write_bytes(b"no database" * 1000)
    said = [
        subprocess.run(
            unnamed(builds), cwd=builds.folder, check=True, timeout=300, capture_output=True, text=True
        ).stderr
        for _ in range(2)
    ]
    assert said == [f"burnish: {shared} is broken; it is now cc.broken, and a new one begins\n", ""]
    assert shared.with_suffix(".broken").read_bytes().startswith(b"no database")
    assert build_log.read(builds.log)[-1].recalled


def test_a_memory_that_cannot_be_written_costs_nothing_else(builds: Builds, shared: Path) -> None:
    shared.mkdir(parents=True)  # a folder in the file's place
    subprocess.run(unnamed(builds), cwd=builds.folder, check=True, timeout=300)
    (record,) = build_log.read(builds.log)
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
    names = [f"table{number}.c" for number in range(6)]
    for name in names:
        (builds.folder / name).write_text(builds.source.read_text())
    for recalled in (False, True):
        running = [
            subprocess.Popen(builds.command("--budget=0.3s", source=name), cwd=builds.folder)
            for name in names
        ]
        assert [process.wait(300) for process in running] == [0] * len(names)
        last = build_log.read(builds.log)[-len(names) :]
        assert [record.recalled for record in last] == [recalled] * len(names)


def improve(builds: Builds, *options: str) -> subprocess.Popen[str]:
    burnish = find_launcher("burnish-cc").replace("burnish-cc", "burnish")
    command = [burnish, "improve", "--remember", str(builds.memory), "--jobs=1", "--nice=0", *options]
    return subprocess.Popen(
        command, cwd=builds.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def remembered(builds: Builds) -> kept.Remembered:
    (one,) = ObjectMemory(builds.memory).compilations(builds.folder)
    return one


def test_improve_searches_on_and_the_next_build_takes_it(builds: Builds) -> None:
    first = builds.build("--budget=0.3s")
    before = remembered(builds)
    process = improve(builds, "--for=1h", "--format=markdown")
    wait_until(lambda: remembered(builds).effort > before.effort)
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate(timeout=300)
    assert process.returncode == 0 and "stopped; what was found is kept" in errors
    after = remembered(builds)
    assert after.cost <= before.cost
    total = next(line for line in said.splitlines() if "1 file" in line)
    sizes = first.loaded_bytes_before, before.cost, after.cost
    assert [cell.strip() for cell in total.split("|")[2:5]] == [f"{size:,}" for size in sizes]
    again = builds.build("--budget=0.3s")
    assert again.recalled and again.loaded_bytes == after.cost


@pytest.mark.parametrize(
    "words",
    [
        ("--target=wasm32-unknown-unknown", "-ffreestanding", "-MMD", "-MF", "table.d", "-Oz"),
        ("arm-none-eabi-gcc", "-mcpu=cortex-m4", "-mthumb", "-ffreestanding", "-Os"),
    ],
    ids=["WebAssembly", "a GNU compiler"],
)
def test_objects_for_other_machines_are_improved(builds: Builds, words: tuple[str, ...]) -> None:
    if words[0].endswith("gcc") and not shutil.which(words[0]):
        pytest.skip("no compiler for this machine")
    builds.source.write_text((builds.folder / "more.h").read_text() + FREESTANDING)
    burnish = builds.command("--budget=0.3s")[: -len(COMPILED)]
    line = [*burnish, *words, *COMPILED[1:]]
    subprocess.run(line, cwd=builds.folder, check=True, timeout=300)
    before = remembered(builds)
    process = improve(builds, "--for=1h")
    wait_until(lambda: remembered(builds).effort > before.effort, process)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    after = remembered(builds)
    assert after.cost <= before.cost
    subprocess.run(line, cwd=builds.folder, check=True, timeout=300)
    record = build_log.read(builds.log)[-1]
    assert record.recalled and record.loaded_bytes == after.cost


def test_improve_leaves_changed_files_to_the_next_build(builds: Builds) -> None:
    builds.build("--budget=0.3s")
    builds.source.write_text(builds.source.read_text() + "\n")
    said, _ = improve(builds, "--for=1h").communicate(timeout=300)
    assert "1 a file that it reads was changed: the next build compiles it" in said


def test_a_killed_improve_loses_nothing_and_leaves_nothing(builds: Builds) -> None:
    builds.build("--budget=0.3s")
    process = improve(builds, "--for=5m")
    wait_until(lambda: len(children(process.pid)) >= 2)
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_until(lambda: not any(map(alive, workers)))
    assert builds.build("--budget=0.3s").recalled


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that these have."""
    found: list[int] = []
    for task in Path("/proc", str(pid), "task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *children(int(child))]
    return found


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
        memory.keep(Kept(str(number), 1.0, found, os.urandom(100_000)), 1)
    assert memory.same_module("0") is None and memory.same_module("39")
    assert memory.path.stat().st_size < 3 << 20


def test_a_smaller_object_stays(tmp_path: Path) -> None:
    memory = ObjectMemory(tmp_path / "memory")
    found: dict[str, Any] = {"reason": "", "trace": [], "saved_in_groups": {}, "after": None}
    small = Kept("key", 1.0, found, b"small")
    assert memory.keep(small, 5) == small
    assert memory.keep(Kept("key", 9.0, found, b"larger"), 6) == replace(small, effort=9.0)
    assert memory.same_module("key") == replace(small, effort=9.0)


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
    builds: Builds, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    other = Builds(tmp_path / "other")
    other.source.write_text(HEADER + (DATA / "matrix.c").read_text())
    builds.build("--budget=0.3s")
    other.build("--budget=0.3s")
    assert memory_command.main([str(builds.memory), "--merge", str(other.memory), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["objects"], shown["compilations"]) == (2, 2)
    assert other.build("--budget=0.3s", f"--remember={builds.memory}").recalled
    assert builds.build("--budget=0.3s").recalled


def test_the_smaller_of_two_objects_is_merged(tmp_path: Path) -> None:
    found: dict[str, Any] = {"reason": "", "trace": [], "saved_in_groups": {}, "after": None}
    ours, theirs = (ObjectMemory(tmp_path / name) for name in ("ours", "theirs"))
    ours.keep(Kept("both", 1.0, found, b"larger"), 6)
    ours.keep(Kept("worse there", 5.0, found, b"small"), 5)
    theirs.keep(Kept("both", 3.0, found, b"small"), 5)
    theirs.keep(Kept("worse there", 9.0, found, b"larger"), 6)
    theirs.keep(Kept("new", 1.0, found, None), 7)
    kept.merge(ours.path, theirs.path)
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


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("--for=10", "--for 10: expected 30s, 10m or 1h"),
        ("--for=0s", "--for 0s: expected 30s, 10m or 1h"),
        ("--jobs=0", "--jobs 0: expected 1 or more processes"),
        ("--nice=20", "--nice 20: expected 0 to 19"),
        ("--remember=/no/memory", "/no/memory: no such memory; build something first"),
        ("--directory=/usr", "no object that was built at or below /usr"),
    ],
)
def test_a_wrong_option_of_improve_is_an_error(tmp_path: Path, option: str, why: str) -> None:
    memory = ObjectMemory(tmp_path / "memory")
    assert memory.same_module("key") is None  # makes the file
    with pytest.raises(InputError, match=why):
        improve_command.main([f"--remember={memory.path}", option])
