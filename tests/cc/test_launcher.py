"""burnish-cc and burnish-c++: what needs no Python is done without it, and comes out the same."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import sys
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from burnish.cc import build_log
from burnish.cc.build_summary import measured
from burnish.cc.commands.launch import find_launcher
from burnish.cc.jobs import ClangJob
from burnish.cc.refusals import too_small
from burnish.cc.remaking import compilation
from burnish.core.errors import MissingTool
from tests.cc.conftest import Compiler, compiling, copied_launcher, make_stock
from tests.cc.test_drop_in import UNTOUCHED
from tests.waiting import MOST_SECONDS, wait_until

SMALL = {
    "a small object": "-Oz -c rows.c",
    "a small object with a name": "-c -Os -o out.o rows.c",
    "a small object, joined": "-c -Os -oout.o rows.c",
    "small objects": "-Oz -c rows.c main.c",
    "a small program": "-Oz -shared -fPIC rows.c -o rows.so",
    "levels of speed": "-O2 -c sum.c rows.c",
    "the last level": "-Oz -O1 -c sum.c",
    "an object and a program": "-O2 main.c sum.c rows.c shape.cpp -fno-rtti -nostdlib++",
}
# Here burnish would search, for as long as its budget says.
SEARCHED = {"unused linker flag", "headers", "sanitizer", "coverage", "profile", "stack usage", "LLVM option"}
UNPLANNED = "link-time optimization"  # clang's jobs make no object, so the log has none to repeat
COMMANDS = {name: line for name, line in UNTOUCHED.items() if name not in {*SEARCHED, UNPLANNED}} | SMALL


def make_launcher(directory: Path, *options: str, name: str = "cc") -> Compiler:
    make_stock(directory)
    log = directory.with_suffix(".jsonl")
    return Compiler(directory, [find_launcher(f"burnish-{name}"), "--report", str(log), *options], log=log)


def make_python(directory: Path) -> Compiler:
    """Return what the launcher hands a command over to that it does not understand."""
    make_stock(directory)
    log = directory.with_suffix(".jsonl")
    command = [sys.executable, "-m", "burnish.cli", "cc", "--launched", "--report", str(log)]
    return Compiler(directory, command, log=log)


def plain(job: ClangJob) -> list[str]:
    """Return a job without temporary files' random names, and the C++ library, which the launcher chooses."""
    words = [re.sub(r"-[0-9a-f]{6,}\.", "-X.", word) for word in job.command]
    headers = "-internal-isystem"
    return [word for last, word in itertools.pairwise(words) if headers not in (last, word)]


def told(compiler: Compiler) -> list[dict[str, object]]:
    """Return the build log as it is reported, without what differs from one run to the next."""
    assert compiler.log
    records = [measured(row) for row in build_log.read(compiler.log)] if compiler.log.exists() else []
    # an assembled object does not name its compiler, and nothing is to be compiled again
    rows = [
        asdict(row) | ({"command": plain(compilation(row))} if row.level else {"command": (), "compiler": ""})
        for row in records
    ]
    for row in rows:
        del row["time"], row["seconds"], row["recalled"]  # the second run finds what the first one remembers
    return rows


@pytest.mark.parametrize("line", COMMANDS.values(), ids=COMMANDS.keys())
def test_it_does_what_python_does(tmp_path: Path, line: str) -> None:
    """The same files, output, exit code and log, whoever decides."""
    ours = make_launcher(tmp_path / "project")
    done = ours(*line.split())
    records = told(ours)
    ours.directory = ours.directory.rename(tmp_path / "launcher")  # objects may name it
    (tmp_path / "project.jsonl").unlink(missing_ok=True)
    python = make_python(tmp_path / "project")
    expected = python(*(line if line.startswith("-- ") else f"-- {line}").split())
    assert (done.returncode, done.stdout) == (expected.returncode, expected.stdout)
    assert records == told(python)
    assert ours.files().keys() == python.files().keys()
    linked = {"program", "a.out", "program.so", "rows.so"}  # each with an unwinder of its own
    for name in ours.files().keys() - linked:
        assert ours.files()[name] == python.files()[name]


def test_python_does_not_start_where_nothing_can_be_gained(tmp_path: Path) -> None:
    """The launcher alone, in a folder without Python, builds whatever is small, fast or not compiled."""
    stock = make_stock(tmp_path / "project")
    words = [copied_launcher(tmp_path / "bin"), "--report", str(tmp_path / "log")]
    alone = Compiler(stock.directory, words)
    assert not stock("-Oz", "-fPIC", "-c", "rows.c", "-o", "old.o").returncode
    for line in (
        *SMALL.values(),
        *(f"{line} -Oz" for line in ("-E sum.c", "-S sum.c", "-fsyntax-only sum.c", "-M sum.c", "--version")),
        "-Oz -shared old.o -o librows.so",
        "-Oz -c start.S",
    ):
        done = alone(*line.split())
        assert (done.returncode, done.stderr) == (0, b""), line


@pytest.mark.parametrize(
    ("line", "output", "reason"),
    [
        (
            "--objective=loaded-bytes -O2 -flto -c sum.c",
            "sum.o",
            "-flto: with link-time optimization the object is not final",
        ),
        ("-Oz -c start.S", "start.o", "assembly has no passes to choose"),
        ("-Oz -c start.s", "start.o", "assembly has no passes to choose"),
        ("-Oz -x c-header shape.h -o shape.pch", "shape.pch", "a precompiled header has no code"),
        ("-Oz -c sum.c -save-temps", "sum.o", "clang makes the object in several steps"),
    ],
)
def test_what_is_left_alone_says_why(tmp_path: Path, line: str, output: str, reason: str) -> None:
    ours = make_launcher(tmp_path / "project", "--alone")
    (ours.directory / "shape.h").write_text("int area(int width, int height);\n")
    assert not ours(*line.split()).returncode
    (row,) = ours.records()
    assert (row["output"], row["action"], row["reason"]) == (output, "passed through", reason)


def test_the_log_is_bounded(tmp_path: Path) -> None:
    """The launcher renames what has grown large, Python goes on from there, and both are read."""
    ours = make_launcher(tmp_path / "project")
    assert ours.log
    before = tmp_path / "project.jsonl.1"
    with ours.log.open("wb") as log:
        log.truncate(build_log.MOST_BYTES - 1)
        log.seek(0, os.SEEK_END)
        log.write(b"\n")
    assert not ours("-Oz", "-c", "rows.c").returncode
    assert before.stat().st_size > build_log.MOST_BYTES
    assert not ours.log.exists()
    assert not ours("-Oz", "-c", "start.S").returncode
    assert [row.output for row in build_log.read(ours.log)] == ["rows.o", "start.o"]
    (last,) = (row for row in build_log.read(ours.log) if row.output == "start.o")
    for number in range(3):
        with ours.log.open("ab") as log:
            log.truncate(build_log.MOST_BYTES)
            log.write(b"\n")
        build_log.append(ours.log, replace(last, output=f"{number}.o"))
    assert [row.output for row in build_log.read(before)] == ["2.o"]
    assert sorted(path.name for path in tmp_path.glob("project.jsonl*")) == ["project.jsonl.1"]


def test_its_lines_are_those_of_the_build_log(tmp_path: Path) -> None:
    odd = 'r\xf6ws "1"\\\n.c'
    ours = make_launcher(tmp_path / "project")
    (ours.directory / "rows.c").rename(ours.directory / odd)
    assert not ours("--remember=none", "-Oz", "-c", odd).returncode  # or Python makes the object
    assert ours.log
    (row,) = ours.records()
    searched = {
        "crashes",
        "evict_policy",
        "saved_in_groups",
        "recalled",
        "memory_error",
    }  # of what was searched
    assert row.keys() == {field.name for field in fields(build_log.Record)} - searched
    (record,) = build_log.read(ours.log)
    assert (record.source, record.output) == (odd, odd[:-1] + "o")
    assert record.output_path == ours.directory / record.output
    assert record.reason == too_small(record.text_bytes)


def test_burnish_cc_is_the_launcher(tmp_path: Path) -> None:
    """Its exit code, its output and its log; and a command that it does not understand comes back."""
    ours = make_launcher(tmp_path / "project")
    burnish = [sys.executable, "-m", "burnish.cli", "cc", "--report", str(ours.log)]
    assert ours.run([*burnish, "-Oz", "-c", "rows.c"]).returncode == 0
    assert ours.run([*burnish, "-c", "broken.c"]).returncode == 1
    assert ours.run([*burnish, "-Oz", "-x", "c", "-c", "rows.c", "-o", "x.o"]).returncode == 0
    assert [row["output"] for row in ours.records()] == ["rows.o", "x.o"]
    assert b"usage: burnish cc" in ours.run([*burnish, "--help"]).stdout
    assert ours.run([*burnish, "--budget"]).returncode == 2


def test_without_it_burnish_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _name: str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match=r"burnish-cc is neither in .* install that again"):
        find_launcher("burnish-cc")


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_reaches_clang(tmp_path: Path, signum: int) -> None:
    ours = make_launcher(tmp_path / "project")
    with compiling(ours, "-O2") as process:
        process.send_signal(signum)
        assert process.wait(MOST_SECONDS) == -signum
    assert "slow.o" not in ours.files()


def test_it_dies_as_clang_dies(tmp_path: Path) -> None:
    ours = make_launcher(tmp_path / "project")
    with compiling(ours, "-O2") as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        wait_until(lambda: bool(children.read_text().split()))
        os.kill(int(children.read_text().split()[0]), signal.SIGKILL)
        assert process.wait(MOST_SECONDS) == -signal.SIGKILL


def test_a_file_of_diagnostics_stays(tmp_path: Path) -> None:
    """Asked for its plan, clang removes it; so it has to be asked before."""
    ours = make_launcher(tmp_path / "project", "--budget=5evaluations")
    assert not ours("-Os", "-c", "sum.c", "--serialize-diagnostics", "sum.dia").returncode
    assert "sum.dia" in ours.files()


def test_a_search_begins_where_the_launcher_ends(tmp_path: Path) -> None:
    """clang has run, so a second run of it is for the better object alone."""
    ours = make_launcher(tmp_path / "project", "--search=random", "--policy=none")
    assert ours("-Os", "-MD", "-c", "sum.c", "rows.c").stderr == b""
    rows = {row["source"]: row for row in ours.records()}
    assert rows["rows.c"]["reason"] == too_small(rows["rows.c"]["text_bytes"])
    assert rows["sum.c"]["evaluations"] > 0
    assert json.loads(json.dumps(rows["sum.c"]))["text_bytes"] <= rows["sum.c"]["text_bytes_before"]
