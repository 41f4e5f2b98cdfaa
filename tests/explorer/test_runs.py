"""Runs on disk: their kinds, and files that grow."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.core.result import Result
from burnish.evaluation.rows import Row
from burnish.explorer.runs import Entry, LogReader, ResultFiles, TrainingRun, details, run_at, summary
from burnish.tasks.llvm_passes import TASK
from tests.cli.results import result_of
from tests.evaluation.rows import row

RESULT = replace(
    result_of("a.c", "0" * 32, "mem2reg", "gvn"), cost=80.0, baselines={"O0": 200.0, "Oz": 100.0}, valid=True
)
CHECKED = replace(RESULT, verified=("replayed",))


def lines(*numbers: int) -> str:
    return "".join(f'{{"iteration": {number}}}\n' for number in numbers)


def iterations(reader: LogReader) -> tuple[bool, list[int]]:
    again, rows = reader.news()
    return again, [row["iteration"] for row in rows]


def test_log_is_read_as_it_grows(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    reader = LogReader(log)
    assert iterations(reader) == (False, [])  # the training has not begun
    log.write_text(lines(0, 1) + '{"iterat')
    assert iterations(reader) == (False, [0, 1])
    assert iterations(reader) == (False, [])
    log.write_text(lines(0, 1, 2))
    assert iterations(reader) == (False, [2])
    log.write_text(lines(0, 1))  # truncated by a resumed training
    assert iterations(reader) == (True, [0, 1])
    log.write_text(lines(100, 1, 3))  # rewritten, and longer than before
    assert iterations(reader) == (True, [100, 1, 3])
    log.write_text(lines(100, 1, 5))  # and of the same length
    assert iterations(reader) == (True, [100, 1, 5])
    log.write_text(lines(100, 1, 5) + "damaged\n[]\n" + lines(4))
    assert iterations(reader) == (False, [4])


def test_kinds_are_told_apart(tmp_path: Path) -> None:
    training, evaluation, results = (tmp_path / name for name in ("training", "evaluation", "results"))
    for folder in (training, evaluation, results):
        folder.mkdir()
    (training / "config.json").write_text('{"algorithm": {"name": "ppo"}}')  # it has just begun
    (evaluation / "rows.jsonl").write_text(row("a.c", 80.0).to_json() + "\n")
    (evaluation / "programs.jsonl").write_text("{}\n")
    (results / "a.jsonl").write_text(RESULT.to_json() + "\n")
    (results / "b.jsonl").write_text(RESULT.to_json() + "\n")
    (results / "notes.jsonl").write_text('{"a": 1}\n')
    (results / "search.svg").write_text("<svg/>")
    assert run_at(training) == TrainingRun(training)
    assert run_at(evaluation) == ResultFiles(evaluation, (evaluation / "rows.jsonl",))
    files = results / "a.jsonl", results / "b.jsonl"
    assert run_at(results) == ResultFiles(results, files, (results / "search.svg",))
    assert run_at(files[0]) == ResultFiles(files[0], files[:1])
    (training / "log.jsonl").write_text(lines(0))
    assert run_at(training / "log.jsonl") == TrainingRun(training)
    for name in (str(tmp_path / "hot.c"), "matmul:64x64x64", "corpus:brotli"):
        assert run_at(Path(name)) is None
    (tmp_path / "compile_commands.json").write_text("[\n]\n")
    assert run_at(tmp_path / "compile_commands.json") is None


def test_last_row_of_a_key_counts_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    first, last, other = row("a.c", 90.0), row("a.c", 80.0), row("b.c", None)
    file.write_text("".join(f"{one.to_json()}\n" for one in (first, other, last)) + first.to_json()[:20])
    entries, notes = ResultFiles(file, (file,)).entries()
    assert [entry.found for entry in entries] == [other, last]
    assert len({entry.key for entry in entries}) == 2
    assert notes == ["rows.jsonl: the last line is incomplete, and left out"]
    file.write_text(first.to_json())  # complete, but for the end of its line
    assert ResultFiles(file, (file,)).entries() == ([Entry("0:0", file, first)], [])


def entry_of(found: Result | Row) -> Entry:
    return Entry("0:0", Path("results.jsonl"), found)


@pytest.mark.parametrize(
    ("found", "ratio", "reference", "verified"),
    [
        (CHECKED, 1.25, "-Oz", "yes"),
        (RESULT, 1.25, "-Oz", "replayed"),
        (replace(CHECKED, valid=None), 1.25, "-Oz", "no"),
        (replace(CHECKED, valid=False), 1.25, "-Oz", "failed"),
        (replace(CHECKED, timing={"ratio": 2.0}), 2.0, "-Oz", "yes"),
        (replace(CHECKED, baselines={"O0": 200.0}), None, "-Oz", "yes"),
        (replace(CHECKED, task="llvm_passes-v0"), None, "", "yes"),  # of another version
        (replace(CHECKED, task="of_another_package-v1"), None, "", "yes"),
        (row("a.c", 80.0), 1.25, "halved", "replayed"),
        (row("a.c", None), None, "halved", "failed"),
    ],
)
def test_line_of_the_table(found: Result | Row, ratio: float | None, reference: str, verified: str) -> None:
    line = summary(entry_of(found))
    assert (line["ratio"], line["reference"], line["verified"]) == (ratio, reference, verified)
    json.dumps([line, details(entry_of(found))], allow_nan=False)


def test_details_of_a_result() -> None:
    entry = entry_of(replace(CHECKED, beside={"ir-instructions": {"result": 7.0, "Oz": 8.0}}))
    shown = details(entry)
    assert summary(entry)["unit"] == "bytes"
    assert shown["trace"] == ("mem2reg", "gvn")
    assert shown["baselines"] == [["-O0", 200.0], ["-Oz", 100.0]]
    assert shown["beside"] == {"ir-instructions": {"reference": 8.0, "result": 7.0, "unit": "instructions"}}


def test_row_of_an_evaluation_has_the_task_of_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(row("a.c", 80.0).to_json() + "\n")
    (without,), _ = ResultFiles(file, (file,)).entries()
    with pytest.raises(InputError, match=r"the task is unknown; expected run\.json beside the file"):
        without.task()
    (tmp_path / "run.json").write_text(json.dumps({"task": TASK.id, "options": {}}))
    (entry,), _ = ResultFiles(file, (file,)).entries()
    assert entry.task().id == TASK.id


def test_damaged_card_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "policy.card.json").write_text("{")
    with pytest.raises(InputError, match=r"policy\.card\.json: .*; expected what burnish train writes"):
        TrainingRun(tmp_path).card()
    assert TrainingRun(tmp_path).config() == {}
