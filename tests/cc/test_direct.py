"""Where burnish is known to make clang's object, clang runs the front end alone."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish import _native
from burnish.cc.back_end import level_of
from burnish.cc.commands import cc
from burnish.cc.direct import DECLINED
from burnish.cc.isolation import Guard
from burnish.cc.jobs import make_plan
from burnish.cc.link.units import ProgramUnit, read_unit, seal_of
from burnish.cc.memory_file import contents
from burnish.cc.object_kind import COMPARED, plain_command, was_compared
from burnish.cc.repeating import BEGIN
from burnish.llvm.toolchain import find_tool
from tests.cc.conftest import write_script
from tests.cc.remembering import Builds
from tests.cc.served import run
from tests.sources import DATA

FUNCTION = "\nint another(int x) { return more(x) + 7; }\n"
UNUSED = "\nint unused(int x) { int y; return more(x); }\n"
WARNED = '\nvoid old(void) __attribute__((warning("old")));\nvoid caller(void) { old(); }\n'


def compiled(
    builds: Builds, *options: str, source: str = "table.c", output: str = "table.o"
) -> subprocess.CompletedProcess[bytes]:
    """Ask as the launcher does, with one option of clang more."""
    own = ["--direct", f"--report={builds.log}", f"--remember={builds.memory}", "--budget=0.1s", "--"]
    words = [*own, *options, "-Oz", "-c", source, "-o", output]
    return run([sys.executable, "-m", "burnish.cli", "cc", *words], builds.folder)


def by_clang(builds: Builds, *options: str) -> tuple[bytes, bytes]:
    """Return clang's object and its warnings."""
    command = [str(find_tool("clang")), *options, "-Oz", "-c", "table.c", "-o", "clang.o"]
    done = subprocess.run(command, cwd=builds.folder, check=True, capture_output=True)
    return (builds.folder / "clang.o").read_bytes(), done.stderr


def loaded_bytes(code: bytes) -> int:
    return int(_native.object_sizes(code, True).loaded_bytes)


def change(builds: Builds, text: str) -> None:
    builds.source.write_text(builds.source.read_text() + text)


def test_a_changed_file_is_compared_with_clangs_object(built: Builds) -> None:
    change(built, FUNCTION)
    built.object.unlink()
    done = compiled(built)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    clangs, _ = by_clang(built)
    record = built.last
    assert (record.action, record.loaded_bytes_before) == ("optimized", loaded_bytes(clangs))
    assert record.loaded_bytes == loaded_bytes(built.object.read_bytes()) < loaded_bytes(clangs)
    assert not record.recalled and record.compiler.startswith("clang 23")


def test_the_trace_of_the_last_object_is_tried_where_clangs_is_made(
    built: Builds, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process makes both objects."""
    trace = ("clang<Oz>", BEGIN, "table_insert: skip(early-machinelicm)")
    with sqlite3.connect(built.memory) as database:
        found = (json.dumps(trace),)
        database.execute("UPDATE objects SET found = json_set(found, '$.trace', json(?))", found)
    change(built, FUNCTION)
    calls: list[object] = []
    step = Guard.step

    def counted(guard: Guard, call: Callable[[], object]) -> object:
        calls.append(call)
        return step(guard, call)

    monkeypatch.setattr(Guard, "step", counted)
    monkeypatch.chdir(built.folder)
    own = ["--direct", f"--report={built.log}", f"--remember={built.memory}", "--"]
    assert cc.main([*own, "-Oz", "-c", "table.c", "-o", "table.o"], cxx=False) == 0
    assert (built.last.action, built.last.evaluations, len(calls)) == ("optimized", 0, 1)
    assert built.last.trace == trace
    assert built.last.loaded_bytes_before == loaded_bytes(by_clang(built)[0])
    assert built.last.loaded_bytes == loaded_bytes(built.object.read_bytes())


@pytest.mark.parametrize("comment", ["", "/* another comment */\n"])
def test_what_is_known_of_the_module_is_taken(built: Builds, comment: str) -> None:
    found = built.object.read_bytes()
    built.object.unlink()
    (built.folder / "more.h").write_text(f"{comment}int more(int);\n")
    assert compiled(built, "-MMD").returncode == 0
    assert built.object.read_bytes() == found
    assert built.last.recalled and not built.last.evaluations
    assert (built.folder / "table.d").read_text() == "table.o: table.c more.h\n"
    built.object.write_bytes(by_clang(built)[0])
    assert built.build("--budget=0.3s").recalled  # and so it is kept


def test_where_nothing_is_smaller_the_object_is_clangs(built: Builds) -> None:
    built.source.write_text("int small(int x) { return x; }\n")
    assert compiled(built).returncode == 0
    assert built.last.reason.startswith("the object has less than 128 bytes of code")
    assert built.object.read_bytes() == by_clang(built)[0]


def test_warnings_are_clangs(built: Builds) -> None:
    change(built, UNUSED)
    done = compiled(built, "-Wall")
    clangs, warnings = by_clang(built, "-Wall")
    assert (done.returncode, done.stderr) == (0, warnings) and b"unused variable 'y'" in warnings
    assert built.last.loaded_bytes_before == loaded_bytes(clangs)


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("", "-fstack-usage"),  # a file beside the object
        ("", "-Wa,--noexecstack"),
        ("", "-mstackrealign"),  # objects of this kind were never compared
        ("", "-fno-jump-tables -mstack-alignment=32"),
        ("\nint wrong", "-MMD"),  # clang says what is wrong
        (WARNED, "-w"),  # the back end would warn
        ("", "no_such_file.c"),
    ],
)
def test_what_may_not_be_as_with_clang_is_declined(built: Builds, text: str, option: str) -> None:
    change(built, text)
    found, lines = built.object.read_bytes(), built.log.read_text()
    done = compiled(built, *option.split())
    assert (done.returncode, done.stdout, done.stderr) == (DECLINED, b"", b"")
    assert (built.object.read_bytes(), built.log.read_text()) == (found, lines)


def test_outputs_that_are_no_plain_files_are_declined(built: Builds, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (compiled(built, output="-").returncode, (built.folder / "-").exists()) == (DECLINED, False)
    built.object.rename(built.folder / "elsewhere.o")
    built.object.symlink_to("elsewhere.o")
    assert compiled(built).returncode == DECLINED
    built.object.unlink()
    built.object.mkdir()
    assert compiled(built).returncode == DECLINED
    built.object.rmdir()
    monkeypatch.setenv("DEPENDENCIES_OUTPUT", "more.d")
    assert compiled(built).returncode == DECLINED
    monkeypatch.delenv("DEPENDENCIES_OUTPUT")
    built.memory.write_bytes(b"no database" * 1000)
    assert compiled(built).returncode == DECLINED
    assert not built.object.exists()


@pytest.mark.parametrize("name", ["hash_table.c", "behave.c"])
@pytest.mark.parametrize("options", [("-Oz",), ("-Os", "-g", "-fPIC"), ("-Oz", "-ffunction-sections")])
def test_the_objects_are_clangs_to_the_byte(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    clang, made, front = find_tool("clang"), tmp_path / "made.o", tmp_path / "front.bc"
    # printf becomes puts: then there are new strings, whose names have the next numbers
    source = tmp_path / name
    prints = "".join(f'if (n > {i}) printf("number {i}\\n"); printf("%d{i}", n);' for i in range(20))
    source.write_text(f"{(DATA / name).read_text()}\n#include <stdio.h>\nvoid prints(int n) {{ {prints} }}\n")
    arguments = [*options, "-c", str(source), "-o", str(made)]
    subprocess.run([clang, *arguments], check=True)
    plan = make_plan(clang, arguments)
    assert plan
    (job,) = plan.jobs
    subprocess.run(job.front_end(front).command, check=True)
    own = level_of(front.read_bytes(), job).emitted
    assert own and own.code == made.read_bytes()


# Words that change more than the module, in groups that clang takes together; see object_kind.was_compared.
COMPARED_WORDS = (
    "-fPIC -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-ident -fwrapv",
    "-fPIE -fno-unique-section-names -fno-plt -fstack-protector-strong -fno-jump-tables -funsigned-char",
    "-fno-pic -fno-pie -fno-addrsig -fomit-frame-pointer -fno-strict-aliasing -fvisibility=hidden",
    "-fpie -fno-zero-initialized-in-bss -fno-omit-frame-pointer -fno-inline -fno-semantic-interposition -g1",
    "-fstack-clash-protection -fcf-protection -fmerge-all-constants -fshort-enums -fcommon -fno-builtin",
    "-fno-inline-functions -ffast-math -ffreestanding -mno-red-zone -fno-math-errno -m64",
    "-fno-delete-null-pointer-checks -ftls-model=initial-exec -fno-unwind-tables -ffp-contract=off -ggdb",
    "-march=x86-64-v3 -mtune=generic -mcmodel=small -fno-strict-overflow -fstack-protector-all",
    "-fno-optimize-sibling-calls -fstrict-flex-arrays=3 -fsigned-char -fvisibility-inlines-hidden -gdwarf-4",
)


@pytest.mark.parametrize("words", COMPARED_WORDS)
@pytest.mark.parametrize("name", ["machine.c", "classes.cpp"])
def test_objects_of_the_usual_options_are_clangs(tmp_path: Path, name: str, words: str) -> None:
    clang, made = find_tool("clang++" if name.endswith("pp") else "clang"), tmp_path / "made.o"
    source = tmp_path / name
    source.write_text((DATA / name).read_text() + "\nint zero = 0, unset;\n")
    arguments = ["-Os", *words.split(), "-w", "-c", str(source), "-o", str(made)]
    subprocess.run([clang, *arguments], check=True)
    plan, plain = make_plan(clang, arguments), plain_command(arguments)
    assert plan and plain
    (job,) = plan.jobs
    assert was_compared(plain.kind, job, plan.compiler)
    subprocess.run(job.front_end(tmp_path / "front.bc").command, check=True)
    own = level_of((tmp_path / "front.bc").read_bytes(), job).emitted
    assert own and own.code == made.read_bytes()


def test_other_compilers_machines_and_words_were_not_compared(tmp_path: Path) -> None:
    def known(*words: str, compiler: str = COMPARED) -> bool:
        plan = make_plan(find_tool("clang"), [*words, "-c", str(DATA / "machine.c"), "-o", "made.o"])
        assert plan
        return was_compared(words, plan.jobs[0], compiler)

    assert known("-Oz")
    assert not known("-Oz", compiler="clang 23.1.5")
    for words in (("-O2",), ("-Oz", "-mstackrealign"), ("-Oz", "--target=aarch64-linux-gnu", "-nostdinc")):
        assert not known(*words)


def test_the_unit_of_a_program_is_in_clangs_object(built: Builds) -> None:
    """For a new source, with options that need no comparison."""
    (built.folder / "new.c").write_text(built.source.read_text() + FUNCTION)
    log, words = built.log.read_text(), ["-Oz", "-fPIC", "-c", "new.c", "-o"]
    subprocess.run([find_tool("clang"), *words, "clang.o"], cwd=built.folder, check=True)
    own = ["--direct", "--whole-program", f"--report={built.log}", f"--remember={built.memory}", "--"]
    done = run([sys.executable, "-m", "burnish.cli", "cc", *own, *words, "new.o"], built.folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert built.log.read_text() == log  # the link has an outcome
    content = (built.folder / "new.o").read_bytes()
    embedded = read_unit(content)
    assert embedded and embedded.unit.seconds > 0 and embedded.unit.spent_seconds > 0
    assert embedded.unit.command[-1].endswith("new.c")
    assert "another" in _native.Module(embedded.unit.bitcode).functions
    clangs = (built.folder / "clang.o").read_bytes()
    assert seal_of(content) == seal_of(clangs)
    assert loaded_bytes(content) == loaded_bytes(clangs)


def test_a_unit_of_which_llvm_warns_is_declined(built: Builds) -> None:
    """LLVM runs in the process that answers; its warning would come twice."""
    change(built, WARNED)
    own = ["--direct", "--whole-program", f"--remember={built.memory}", "--", "-w", "-Oz", "-fPIC"]
    done = run([sys.executable, "-m", "burnish.cli", "cc", *own, "-c", "table.c"], built.folder)
    assert (done.returncode, done.stdout, done.stderr) == (DECLINED, b"", b"")


def test_an_unchanged_unit_is_in_the_memory(built: Builds) -> None:
    """With another comment, only clang's front end runs."""

    def unit_of(source: str) -> tuple[bytes, ProgramUnit]:
        built.source.write_text(source)
        own = ["--direct", "--whole-program", f"--remember={built.memory}", "--"]
        words = [*own, "-Oz", "-fPIC", "-c", "table.c"]
        done = run([sys.executable, "-m", "burnish.cli", "cc", *words], built.folder)
        assert (done.returncode, done.stderr) == (0, b"")
        content = built.object.read_bytes()
        embedded = read_unit(content)
        assert embedded
        return seal_of(content).encode(), embedded.unit

    source = built.source.read_text()
    first = unit_of(source)
    with sqlite3.connect(built.memory) as database:
        ((seconds,),) = database.execute("SELECT seconds FROM units").fetchall()
        assert first[1].seconds == pytest.approx(seconds, abs=1e-4)
        database.execute("UPDATE units SET seconds = 7")
    again = unit_of("/* another comment */ " + source)
    assert again[0] == first[0] and again[1].bitcode == first[1].bitcode
    assert (again[1].seconds, again[1].spent_seconds) == (7.0, 0.0)
    changed = unit_of(source + FUNCTION)
    assert changed[1].seconds < 7
    assert contents(built.memory).units == 2


FILES = st.sampled_from(
    [("-I", "x"), ("-Ix",), ("-DX=1",), ("-o", "-Os"), ("-MF", "-g"), ("a.c",), ("-Wall",)]
)


@given(st.lists(FILES))
def test_files_and_definitions_are_in_no_kind(words: list[tuple[str, ...]]) -> None:
    flat = [part for word in words for part in word]
    found = plain_command(["-Oz", *flat, "-fPIC", "-march=x86-64-v2"])
    assert found and found.kind == ("-Oz", "-fPIC", "-march=x86-64-v2")
    assert found.inputs == tuple(word for word in flat if word == "a.c")
    for unknown in (
        "-fstack-usage",
        "-Wp,-MD,x.d",
        "-Xclang",
        "-mllvm",
        "-save-temps",
        "-Wframe-larger-than=1",
    ):
        assert plain_command(["-Oz", *flat, unknown]) is None


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """The folder of sockets, in one of this test alone."""
    runtime = Path("/tmp") / f"burnish-test-{os.getpid()}"  # short: a socket's path has 108 bytes at most
    runtime.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    yield runtime / "burnish"
    shutil.rmtree(runtime)


def launcher(built: Builds) -> str:
    """Return a launcher whose server does not start."""
    (built.folder / "bin").mkdir()
    found = shutil.copy(built.command()[0], built.folder / "bin" / "burnish-cc")
    (built.folder / "bin" / "clang").symlink_to(find_tool("clang"))
    write_script(built.folder / "bin" / "burnish", "exit 0")
    return str(found)


@pytest.mark.parametrize("option", ["--remember=none", "--budget=3evaluations", "--lock=missing"])
def test_where_no_object_is_remembered_clang_runs_first(built: Builds, place: Path, option: str) -> None:
    command = [launcher(built), option, "-Oz", "-c", "table.c", "-o", "table.o"]
    subprocess.run(command, cwd=built.folder, check=False, stderr=subprocess.DEVNULL)
    (lock,) = place.glob("*.lock")
    built.object.unlink()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(lock.with_suffix("")))
        server.listen()
        running = subprocess.Popen(command, cwd=built.folder)
        connection, _ = server.accept()
        with connection:
            words = connection.recv(1 << 20) + connection.recv(1 << 20)
            assert built.object.exists()
            connection.sendall(b"!" + bytes(4))
        assert running.wait(60) == 0
    assert b"--compiled=" in words and b"--direct" not in words


def test_where_the_server_dies_or_declines_clang_runs(built: Builds, place: Path) -> None:
    command = built.command("--budget=0.1s")
    command.remove("--alone")
    command[0] = launcher(built)
    subprocess.run(command, cwd=built.folder, check=True)
    (lock,) = place.glob("*.lock")
    clangs, _ = by_clang(built)
    for answer in (b"!", b"!" + DECLINED.to_bytes(4, "little")):
        built.object.unlink()
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(lock.with_suffix("")))
            server.listen()
            running = subprocess.Popen(command, cwd=built.folder)
            words = []
            for number, said in enumerate((answer, b"!" + bytes(4))):  # then clang has run
                connection, _ = server.accept()
                with connection:
                    words.append(connection.recv(1 << 20) + connection.recv(1 << 20))
                    assert built.object.exists() == bool(number)
                    connection.sendall(said)
            assert running.wait(60) == 0
        assert b"--direct" in words[0] and b"--compiled=" in words[1]
        assert built.object.read_bytes() == clangs
        lock.with_suffix("").unlink()
