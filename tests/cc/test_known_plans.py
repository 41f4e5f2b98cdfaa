"""A command has the jobs of its last object, unless what clang's driver reads is another."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cc import direct, kept, known_plans
from burnish.cc.command_key import Key
from burnish.cc.commands import cc
from burnish.cc.jobs import ClangJob, ClangJobs, make_plan
from burnish.cc.kept import Compilation, Kept, ObjectMemory
from burnish.cc.known_plans import keep_alike, known_plan, plan_alike, surroundings_of
from burnish.cc.requests import DriverOptions
from burnish.llvm.toolchain import find_tool
from tests.cc.remembering import Builds

WORDS = ("-Oz", "-c", "a.c", "-o", "a.o")


class Command:
    """A command whose object is in a memory."""

    def __init__(self, folder: Path, *words: str) -> None:
        (folder / "a.c").write_text("int a;")
        self.clang, self.key = find_tool("clang"), Key(words or WORDS, DriverOptions())
        self.memory = ObjectMemory(folder / "memory")
        plan = make_plan(self.clang, self.key.arguments)
        assert plan
        self.plan = plan
        self.keep(surroundings_of(plan, self.key.arguments))

    def keep(self, surroundings: str) -> None:
        """Store the object of the plan's job."""
        command, compiler = self.plan.jobs[0].command, self.plan.compiler
        made = Compilation(
            "a.c", "Oz", command, None, compiler, False, 0.1, str(Path.cwd()), self.key.arguments, (), False,
            surroundings=surroundings,
        )  # fmt: skip
        self.memory.keep(Kept("module", 1.0, {}, None), 9)
        self.memory.keep_source("key", self.key.for_source("a.c").name, "module", [], made, b"object")

    def known(self, clang: Path | None = None, *words: str) -> ClangJobs | None:
        """Return the plan from the memory."""
        key = replace(self.key, arguments=words or self.key.arguments)
        return known_plan(self.memory, clang or self.clang, key, "a.c")


@pytest.fixture(autouse=True)
def _no_variable_of_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ignore the one that differs between a test and its fixtures."""
    monkeypatch.setattr(known_plans, "_IGNORED", known_plans._IGNORED | {"PYTEST_CURRENT_TEST"})


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(tmp_path)
    return Command(tmp_path)


def test_the_plan_is_that_of_clang(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAKELEVEL", "2")
    assert command.known() == command.plan


@pytest.mark.parametrize("name", ["CPATH", "SOURCE_DATE_EPOCH", "CCC_OVERRIDE_OPTIONS"])
def test_with_another_variable_clang_is_asked(
    command: Command, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "1")
    assert command.known() is None
    command.keep(surroundings_of(command.plan, WORDS))
    assert command.known() == command.plan


def test_another_command_folder_or_clang_has_another_plan(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command.known(None, *WORDS[:-1], "b.o") is None  # its key does not have the object's name
    other = tmp_path / "clang"
    other.write_text("")
    assert command.known(other) is None
    other.unlink()
    other.symlink_to(command.clang)
    assert command.known(other) == command.plan
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert command.known() is None


def test_a_new_gcc_or_another_clang_is_seen(tmp_path: Path) -> None:
    clang, found = tmp_path / "bin" / "clang", tmp_path / "gcc" / "12"
    clang.parent.mkdir()
    clang.write_text("1")
    found.mkdir(parents=True)
    headers = str(tmp_path / "include")
    words = (str(clang), "-cc1", "-internal-isystem", f"{found}/../../c++/12", "-internal-isystem", headers)
    plan = ClangJobs((ClangJob(words),), "23")
    seen: set[str] = set()
    for change in (
        lambda: None,
        lambda: (tmp_path / "gcc" / "13").mkdir(),
        lambda: (tmp_path / "include").mkdir(),
        lambda: clang.write_text("12"),
        lambda: (tmp_path / "bin" / "clang.cfg").write_text("-O0"),
    ):
        change()
        for folder in (clang.parent, found.parent):  # as if a second had passed
            os.utime(folder, (len(seen), len(seen) + len([*folder.iterdir()])))
        assert surroundings_of(plan, WORDS) == surroundings_of(plan, WORDS) != ""
        seen.add(surroundings_of(plan, WORDS))
    assert len(seen) == 5


@pytest.mark.parametrize("words", [("@words",), ("-march=native",), ("-include", "more.h")])
def test_what_depends_on_more_is_asked_again(
    tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words").write_text("-Wall")
    (tmp_path / "more.h").write_text("")
    command = Command(tmp_path, *words, *WORDS)
    assert surroundings_of(command.plan, command.key.arguments) == "" and command.known() is None


def test_warnings_of_the_driver_are_printed_each_time(command: Command) -> None:
    plan = replace(command.plan, warnings="clang: warning: unused\n")
    assert surroundings_of(plan, WORDS) == ""


def test_clang_is_asked_once_for_an_equal_command(built: Builds, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(built.folder)
    asked: list[Path] = []

    def counted(clang: Path, arguments: tuple[str, ...]) -> ClangJobs | None:
        asked.append(clang)
        return make_plan(clang, arguments)

    monkeypatch.setattr(direct, "make_plan", counted)
    own = ["--direct", f"--report={built.log}", f"--remember={built.memory}", "--budget=0.1s", "--"]
    for number in range(2):
        built.source.write_text(f"{built.source.read_text()}\nint more_{number}(int x) {{ return x; }}\n")
        assert cc.main([*own, "-Oz", "-c", "table.c", "-o", "table.o"], cxx=False) == 0
        assert built.last.action == "optimized"
    assert len(asked) == 1


ALIKE = (
    ("-Oz", "-c", "{}.c", "-o", "{}.o"),
    ("-Os", "-g", "-I.", "-DX=a", "-c", "{}.c", "-o", "out/{}.o"),
    ("-MT", "{}.o", "-MD", "-MP", "-MF", "out/{}.Tpo", "-Oz", "-fPIC", "-c", "-o", "{}.o", "{}.c"),
    ("-MMD", "-Oz", "-c", "{}.c", "-o", "{}.x.o"),
    ("-Oz", "-Wall", "-c", "sub/{}.c", "-o", "sub/{}.o"),
    ("-Oz", "-MD", "-c", "./{}.c", "-o", "./{}.o"),
    ("-c", "-Oz", "-MD", "sub/{}.c"),
)


def _plan(words: tuple[str, ...], name: str) -> tuple[list[str], str, ClangJobs]:
    arguments = [word.format(name) for word in words]
    source = next(word for word in arguments if word.endswith(".c"))
    plan = make_plan(find_tool("clang"), arguments)
    assert plan
    return arguments, source, plan


@pytest.mark.parametrize("words", ALIKE)
def test_another_file_has_the_plan_that_clang_would_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("", "sub", "out"):
        (tmp_path / folder).mkdir(exist_ok=True)
        for name in ("a", "long_name"):
            (tmp_path / folder / f"{name}.c").write_text("int a;")
    memory, clang = ObjectMemory(tmp_path / "memory"), find_tool("clang")
    arguments, source, plan = _plan(words, "a")
    assert plan_alike(memory, clang, arguments, source) is None
    keep_alike(memory, clang, arguments, source, plan)
    assert plan_alike(memory, clang, arguments, source) == plan
    arguments, source, plan = _plan(words, "long_name")
    assert plan_alike(memory, clang, arguments, source) == plan
    # by clang++, in other surroundings, of other words, or in another folder it is another plan
    for other in ([*arguments, "-DY"], [word.replace("long_name.c", "x.cpp") for word in arguments]):
        assert plan_alike(memory, clang, other, source.replace("long_name.c", "x.cpp")) is None
    assert plan_alike(memory, find_tool("clang++"), arguments, source) is None
    with monkeypatch.context() as changed:
        changed.setenv("CPATH", "elsewhere")
        assert plan_alike(memory, clang, arguments, source) is None
    monkeypatch.chdir(tmp_path / "sub")
    assert plan_alike(memory, clang, arguments, source) is None


@pytest.mark.parametrize(
    "words",
    [
        ("-Oz", "-c", "{}.c", "-oout.o"),
        ("-Oz", "-c", "{}.c", "-o", "{}.c.o", "-DX={}.c"),  # its name is a part of another word
        ("-Oz", "-c", "{}.c", "-o", "x.o", "-o", "{}.o"),
        ("-MD", "-MQ", "$x.o", "-Oz", "-c", "{}.c", "-o", "{}.o"),  # clang writes $$x.o
    ],
)
def test_commands_with_names_elsewhere_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.c").write_text("int a;")
    memory, clang = ObjectMemory(tmp_path / "memory"), find_tool("clang")
    keep_alike(memory, clang, *_plan(words, "a"))
    assert plan_alike(memory, clang, *_plan(words, "a")[:2]) is None


def test_the_memory_keeps_the_latest_plans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_PLANS", 2)
    memory = ObjectMemory(tmp_path / "memory")
    for key in "abc":
        memory.keep_plan(key, ([key], "23", "", "around"))
    assert [memory.plan(key) for key in "abc"] == [None, *((([key], "23", "", "around")) for key in "bc")]
