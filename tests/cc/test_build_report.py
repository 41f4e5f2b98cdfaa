"""The build log and what is read from it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cc import build_log
from burnish.cc.build_log import Record
from burnish.cc.build_summary import change_percent, summarise
from burnish.cc.commands import report as command
from burnish.cli import main
from burnish.core.errors import InputError


def a_record(directory: Path, output: str = "a.o", **changes: object) -> Record:
    record = Record(
        time="2030-01-01T00:00:00+00:00",
        directory=str(directory),
        source=output.replace(".o", ".c"),
        output=output,
        level="Oz",
        action="optimized",
        reason="",
        loaded_bytes_before=1000,
        loaded_bytes=900,
        text_bytes_before=500,
        text_bytes=480,
        seconds=2.0,
        trace=("gvn", "f: licm"),
        evaluations=40,
        compiler="clang 23.1.4",
    )
    return replace(record, **changes)  # type: ignore[arg-type]


def build(directory: Path) -> tuple[Path, list[Record]]:
    """Write three objects and a log of four."""
    records = [
        a_record(directory, "a.o", loaded_bytes=800),
        a_record(directory, "a.o"),
        a_record(directory, "b.o", action="kept", reason="nothing smaller was found", loaded_bytes=1000),
        a_record(directory, "c.o", action="passed through", reason="-O2: no", level="O2", loaded_bytes=1000),
        a_record(directory, "gone.o", loaded_bytes=1),
    ]
    for name in ("a.o", "b.o", "c.o"):
        (directory / name).touch()
    log = directory / "state" / "cc.jsonl"
    for record in records:
        build_log.append(log, record)
    return log, records


def shown(log: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    """Return what `burnish report` prints of the log's directory."""
    assert command.main([str(log), "--directory", str(log.parents[1]), *options]) == 0
    return capsys.readouterr().out


def test_the_log_is_read_back(tmp_path: Path) -> None:
    log, records = build(tmp_path)
    assert build_log.read(log) == records


def test_lines_of_other_versions_are_left_out(tmp_path: Path) -> None:
    log, records = build(tmp_path)
    with log.open("a") as more:
        more.write('{"time": "2040"}\n[]\nhalf a li')
    assert build_log.read(log) == records


def test_a_missing_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no build log"):
        build_log.read(tmp_path / "missing.jsonl")


def test_the_log_is_where_xdg_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert build_log.default_log() == tmp_path / "burnish" / "cc.jsonl"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert build_log.default_log() == tmp_path / ".local" / "state" / "burnish" / "cc.jsonl"


def test_the_latest_line_of_each_output_counts(tmp_path: Path) -> None:
    _, records = build(tmp_path)
    summary = summarise(records, tmp_path)
    assert [record.output for record in summary.records] == ["a.o", "b.o", "c.o"]
    assert (summary.loaded_bytes_before, summary.loaded_bytes, summary.gone) == (3000, 2900, 1)
    assert (summary.text_bytes_before, summary.text_bytes) == (1500, 1440)
    assert summary.reasons == (("kept: nothing smaller was found", 1), ("passed through: -O2: no", 1))
    assert len(summarise(records, tmp_path, gone_too=True).records) == 4
    assert not summarise(records, tmp_path / "elsewhere").records


def test_sources_of_one_program_are_rows_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "program").touch()
    rows = [
        a_record(tmp_path, "program", source="a.c"),
        a_record(tmp_path, "program", source="b.c", loaded_bytes_before=None, loaded_bytes=None),
    ]
    summary = summarise(rows, tmp_path)
    assert len(summary.records) == 2
    assert (summary.loaded_bytes_before, summary.unmeasured) == (1000, 1)


def test_crashes_of_the_compiler_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, records = build(tmp_path)
    assert "crash" not in shown(log, capsys)
    build_log.append(log, replace(records[1], crashes=2))
    build_log.append(log, replace(records[2], crashes=1))
    assert "   3 crashes of the compiler while searching" in shown(log, capsys)
    assert json.loads(shown(log, capsys, "--json"))["total"]["crashes"] == 3


def test_lines_without_crashes_are_read(tmp_path: Path) -> None:
    log, records = build(tmp_path)
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps(row | {"crashes": 0}) + "\n" for row in rows))
    for row in rows:
        del row["crashes"]
    with log.open("a") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    assert build_log.read(log) == [*records, *records]


def test_change_is_relative_to_clang() -> None:
    assert change_percent(1000, 900) == -10
    assert change_percent(0, 0) is None
    assert change_percent(None, 1) is None


def test_the_table_has_files_total_and_reasons(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = shown(build(tmp_path)[0], capsys)
    figures = ("-10.00 %", "3,000", "2,900", "-3.33 %", "-4.00 %")
    for part in ("a.o", "3 files", *figures, "1 passed through: -O2: no", "1 left out"):
        assert part in out, out


def test_reasons_that_differ_in_numbers_are_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = [f"the object has {number} bytes of code: too few to gain" for number in (5, 17)]
    other = "-O2: no objective for speed yet"
    for number, reason in enumerate([*few, other]):
        (tmp_path / f"{number}.o").touch()
        build_log.append(tmp_path / "log", a_record(tmp_path, f"{number}.o", action="kept", reason=reason))
    words = [str(tmp_path / "log"), "--directory", str(tmp_path)]
    assert command.main(words) == 0
    out = capsys.readouterr().out
    assert "   2 kept: the object has ... bytes of code: too few to gain\n" in out
    assert f"   1 kept: {other}\n" in out
    assert command.main([*words, "--files", "too few"]) == 0
    out = capsys.readouterr().out
    assert "0.o" in out and "1.o" in out and "2.o" not in out
    assert all(reason in out for reason in few)
    assert main(["report", *words, "--files", "nothing"]) == 2
    assert "no file has such a reason" in capsys.readouterr().err


@pytest.mark.parametrize(
    "output",
    [
        "build/CMakeFiles/CMakeScratch/TryCompile-aBc/CMakeFiles/cmTC_1.dir/CheckC.c.o",
        "CMakeFiles/CMakeTmp/CMakeFiles/cmTC_1.dir/testCCompiler.c.o",
        "CMakeFiles/3.25.1/CompilerIdC/a.out",
        "meson-private/tmpabc/output.obj",
        "conftest.o",
        "conftest",
    ],
)
def test_what_is_compiled_to_look_at_the_system_counts_nowhere(tmp_path: Path, output: str) -> None:
    path = tmp_path / output
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    gone = a_record(tmp_path, f"{output}.d/gone.o") if "/" in output else a_record(tmp_path, "conftest.gone")
    summary = summarise([a_record(tmp_path, output), gone], tmp_path, gone_too=True)
    assert (summary.records, summary.gone) == ((), 0)


def test_a_project_may_be_called_almost_so(tmp_path: Path) -> None:
    for name in ("conftests.o", "my_conftest.o", "CMakeFiles/app.dir/a.o"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        assert summarise([a_record(tmp_path, name)], tmp_path).records, name


def test_a_log_that_cannot_be_written_is_named_with_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    assert main(["report"]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path}/home/burnish/cc.jsonl: the build log could not be written: " in said
    assert "Not a directory" in said and "--report" in said
    assert "build something first" not in said


def test_json_is_for_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(shown(build(tmp_path)[0], capsys, "--json"))
    assert (found["total"]["loaded_bytes"], found["total"]["text_bytes"]) == (2900, 1440)
    assert [row["source"] for row in found["files"]] == ["a.c", "b.c", "c.c"]


def test_nothing_to_report_says_where_it_looked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, _ = build(tmp_path)
    assert main(["report", str(log), "--directory", str(tmp_path / "state")]) == 2
    assert f"no object at or below {tmp_path / 'state'}" in capsys.readouterr().err
