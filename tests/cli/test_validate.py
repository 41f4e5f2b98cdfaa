"""burnish validate: what it says of results, and its exit code."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cli import main, validate
from burnish.cli.jobs import results
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.programs import load_program
from tests.cli.results import result_of, written
from tests.evaluation.broken_passes import MOODS, broken_task
from tests.evaluation.negating_task import NEGATING
from tests.sources import DATA

pytestmark = pytest.mark.usefixtures("nothing_left")


def result(source: Program, *trace: str, fallback: str = "") -> Result:
    return result_of(source.name, source.digest, *trace, fallback=fallback)


@pytest.fixture
def moody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return a program in a folder that is the current one, and let results be of the broken task."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(validate, "task_of", lambda row: broken_task("mode+1"))
    Path("moods.c").write_text(MOODS)
    Path("input.txt").write_text("some text")
    return load_program("moods.c")


def squeezed(text: str) -> str:
    """Return text with one blank where there are more."""
    return re.sub(" +", " ", text)


def test_right_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kernel, file = load_kernel("fft"), load_program(DATA / "matrix.c")
    path = written(tmp_path, result(kernel, "clang<Oz>", "gvn"), result(file, fallback="Oz"))
    assert main(["validate", path, "--inputs", "small,medium"]) == 0
    shown = capsys.readouterr().out
    assert "kernels:fft 2 steps right\n" in squeezed(shown)
    assert "prints the same as the unoptimized program on 2 inputs" in shown
    assert f"{file.name} -Oz was kept replayed and verified; its behaviour was not compared" in squeezed(
        shown
    )
    assert shown.count("right") == 1
    assert "outputs were not compared: the program has no workload" in shown


def test_a_kernel_with_a_size_is_validated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--budget", "5", "--workers", "1", "--result", "found.jsonl"]
    assert main(["optimize", "kernels:sha256@small", *words]) == 0
    assert main(["validate", "found.jsonl", "--sanitize", "undefined", "--inputs", "small"]) == 0
    shown = capsys.readouterr().out
    assert re.search("kernels:sha256 .* right\n", shown)
    assert "prints the same as the unoptimized program on 1 input" in shown
    assert "sanitizers (undefined) find nothing in the source" in shown


def test_wrong_result_is_reduced_and_reproduced(
    tmp_path: Path, moody: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, result(moody, "gvn"), result(moody, "gvn", "mode+1", "sccp"))
    words = ["--run", "a 'b c' < input.txt", "--run", "", "--json", "--reproducers", "found"]
    assert main(["validate", path, *words]) == 1
    right, wrong = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert right["right"] and right["failure"] == ""
    assert not wrong["right"] and wrong["kind"] == "the program does something else"
    assert "prints b'3 words, sum 922\\n'" in wrong["failure"]
    assert wrong["reduced"] == ["mode+1"] and wrong["minimal"]
    assert wrong["reproducer"] == "found/moods.c.reproducer"
    assert "only" not in Path("found/moods.c.reproducer/trace.txt").read_text()
    assert "burnish does" in Path("found/moods.c.reproducer/README.md").read_text()  # opt has no mode+1


def test_wrong_result_is_told_in_words(
    tmp_path: Path, moody: Program, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", written(tmp_path, result(moody, "mode+1")), "--run", ""]) == 1
    shown = capsys.readouterr().out
    assert "moods.c 1 step WRONG: the program does something else: input ''" in squeezed(shown)
    assert "the shortest wrong trace" in shown
    assert "see moods.c.reproducer/README.md" in shown


def test_undefined_behaviour_of_the_source_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("overflow.c").write_text(
        '#include <stdio.h>\nint main(int n, char **v) { int x = 2147483647; x += n; printf("%d\\n", x); }\n'
    )
    path = written(tmp_path, result(load_program("overflow.c"), "gvn"))
    assert main(["validate", path, "--run", "", "--sanitize", "undefined"]) == 1
    shown = capsys.readouterr().out
    assert "overflow.c 1 step right" in squeezed(shown)
    assert (
        "the program itself has undefined behaviour: input '': overflow.c:2:51: runtime error: "
        "signed integer" in shown
    )


def test_sanitizers_find_nothing_in_a_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, result(load_kernel("sha256"), "clang<O3>"))
    assert main(["validate", path, "--sanitize", "address,undefined", "--inputs", "small"]) == 0
    shown = capsys.readouterr().out
    assert "AddressSanitizer finds nothing in the optimized program" in shown
    assert "sanitizers (address and undefined) find nothing in the source" in shown


def test_task_of_others_is_validated_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for module in (results, validate):
        monkeypatch.setattr(module, "load_task", lambda name: NEGATING)
    Path("mine.counters").write_text("a=12 b=7")
    source = Program("mine.counters", "counters", b"a=12 b=7")
    right, wrong = result(source, "halve"), result(source, "halve", "negate", "add(1)")
    assert main(["validate", written(tmp_path, right)]) == 0
    assert "mine.counters 1 step right\n" in squeezed(capsys.readouterr().out)
    assert main(["validate", written(tmp_path, right, wrong)]) == 1
    shown = capsys.readouterr().out
    wrong_row = "mine.counters 3 steps WRONG: the program does something else: 2 counters are below 0"
    assert wrong_row in squeezed(shown)
    assert "the shortest wrong trace, after " in shown
    assert "  count negate\n  see mine.counters.reproducer/README.md\n" in shown
    assert Path("mine.counters.reproducer/trace.txt").read_text() == "negate\n"
    assert main(["validate", written(tmp_path, right), "--sanitize", "address"]) == 2
    assert "counting-v4 has no sanitizers" in capsys.readouterr().err
    assert main(["validate", written(tmp_path, right), "--run", ""]) == 2
    assert "programs of this task are not run with arguments" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--sanitize", "adress"], "no sanitizer named 'adress'"),
        (["--run", "< missing.txt"], "missing.txt: No such file"),
        (["--program", "missing.c"], "no such file"),
    ],
)
def test_bad_words_are_an_input_error(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, result(load_program(DATA / "matrix.c"), "gvn"))
    assert main(["validate", path, *words]) == 2
    assert message in capsys.readouterr().err


def test_changed_program_is_an_input_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = replace(result(load_program(DATA / "matrix.c"), "gvn"), digest="other")
    assert main(["validate", written(tmp_path, row)]) == 2
    assert "differs from the program of the result" in capsys.readouterr().err
