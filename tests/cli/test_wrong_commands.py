"""Wrong commands: each is refused in one line that names what is wrong and the next step."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from burnish.cli import COMMANDS, LAUNCHED, main
from burnish.core.result import Result
from burnish.llvm.programs import load_program

RESULT = Result(
    task="llvm_passes-v1",
    program="a.c",
    digest="0" * 32,
    objective="ir-instructions",
    method="random",
    seed=0,
    trace=("mian: gvn",),
    cost=3.0,
    baselines={"O0": 9.0, "Oz": 3.0},
    evaluations=2,
    seconds=0.1,
    toolchain={},
    source=("a.c",),
)
PROGRAM = "int main(int count, char **words) { return words[0][0] * count; }\n"
WRONG = [
    # words that are no command, or no option
    ("optimise a.c", "'optimise'", "did you mean 'optimize'?"),
    ("--json tasks", "--json", "expected a command first"),
    ("optimize", "expected PROGRAM", "see burnish optimize --help"),
    ("optimize a.c --bugdet 3s", "no option --bugdet", "did you mean --budget?"),
    ("optimize a.c --bugdet 3s", "compiler come after --", "burnish optimize hot.c -- -Iinclude"),
    ("optimize a.c -Iinclude", "no option -Iinclude", "compiler come after --"),
    ("optimize a.c --res", "--res", "--result, --resume"),
    ("optimize a.c -o", "-o/--output", "expected a value: --output OUTPUT"),
    ("optimize a.c --budget -3s", "--budget", "expected a value: --budget BUDGET"),
    ("evaluate a.c", "expected --methods LIST and --out FOLDER", "see burnish evaluate --help"),
    ("evaluate nosuch.c --split test", "expected --methods LIST and --out", "see burnish evaluate --help"),
    ("evaluate a.c --methods random", "expected --out FOLDER", "see burnish evaluate --help"),
    ("evaluate a.c --out e", "PROGRAM", "expected --methods LIST, too"),
    ("evaluate", "expected --out FOLDER", "see burnish evaluate --help"),
    ("validate rows.jsonl --link '\"-lm'", "--link", "expected words as a shell reads them"),
    ("apply a.c gvn -DX", "no option -DX", "burnish apply hot.c gvn -- -Iinclude"),
    ("tasks --task llvm_passes", "no option --task", "see burnish tasks --help"),
    ("tasks llvm_passes gvn", "'gvn'", "see burnish tasks --help"),
    ("replay rows.jsonl a.c", "'a.c'", "see burnish replay --help"),
    ("corpus biuld", "'biuld'", "did you mean 'build'?"),
    ("corpus build --splt train", "no option --splt", "did you mean --split?"),
    ("corpus stats -Iinclude", "no option -Iinclude", "see burnish corpus stats --help"),
    ("corpus random --count 3", "expected --folder", "see burnish corpus random --help"),
    ("inliner decision", "'decision'", "did you mean 'decisions'?"),
    ("report --drectory x", "no option --drectory", "did you mean --directory?"),
    ("report nosuch.jsonl", "nosuch.jsonl: no build log", "build something first"),
    ("report --against a.c", "--against a.c", "expected the program, too: --linked PROGRAM"),
    ("report --linked a.c", "a.c", "expected a linked program"),
    ("report --advice", "expected the command that links", "burnish report --advice -- clang"),
    ("report -- clang", "clang", "only --advice takes a command after --"),
    ("serve-inliner -- clang", "expected --policy", "see burnish serve-inliner --help"),
    ("check-system now", "'now'", "see burnish check-system --help"),
    # numbers, units and choices
    ("optimize a.c --seed -1", "--seed -1", "a whole number, 0 or more"),
    ("optimize a.c --seed x", "--seed x", "a whole number, 0 or more"),
    ("optimize a.c --jobs 0", "--jobs 0", "a whole number, 1 or more"),
    ("optimize a.c --workers -1", "--workers -1", "a whole number, 1 or more"),
    ("optimize a.c --deadline 0", "--deadline 0", "a number of seconds above 0"),
    ("optimize a.c --memory lots", "--memory lots", "a number of GiB above 0"),
    ("optimize a.c --budget 3sec", "'3sec'", "seconds (10s)"),
    ("optimize a.c --search genetik", "'genetik'", "did you mean 'genetic'?"),
    ("optimize a.c --level O9", "'O9'", "did you mean 'Oz'"),
    ("evaluate a.c --methods random --out e --confidence 95", "--confidence 95", "such as 0.95"),
    ("evaluate a.c --methods random --out e --repeats 0", "--repeats 0", "1 or more"),
    ("corpus random --folder c --size 0", "--size 0", "1 or more"),
    ("corpus build --folder c --limit -1", "--limit -1", "1 or more"),
    ("inliner decisions d.jsonl a.c --tries -1", "--tries -1", "0 or more"),
    ("validate rows.jsonl --timeout 0", "--timeout 0", "a number of seconds above 0"),
    # names
    ("optimize a.c --task llvm_pases", "'llvm_pases'", "did you mean 'llvm_passes'"),
    ("optimize a.c --objective speed", "'speed'", "did you mean 'seconds'?"),
    ("optimize a.c --policy nosuch", "'nosuch'", "known: shipped, none"),
    ("optimize kernels:ftt", "'ftt'", "did you mean 'fft'"),
    ("optimize a.c --threads 2", "--threads", "see --task llvm_passes --help"),
    ("apply a.c 'mian: gvn'", "'mian: gvn'", "did you mean 'main'"),
    ("apply a.c gvm", "'gvm'", "did you mean 'gvn'?"),
    ("tasks llvm_pases", "'llvm_pases'", "did you mean 'llvm_passes'"),
    ("train ppo-autophse", "'ppo-autophse'", "did you mean 'ppo-autophase'"),
    ("evaluate a.c --methods genetik --out e", "'genetik'", "did you mean 'genetic'?"),
    ("corpus build --folder c --split trian", "'trian'", "did you mean 'train'?"),
    ("export nosuch --out x.h", "'nosuch'", "known: "),
    # files and folders
    ("optimize nosuch.c", "nosuch.c", "no such file"),
    ("optimize a.m", "a.m", "expected a file (.c .cc .cpp .ll .bc)"),
    ("optimize matmul:4x4x4 a.c", "matmul:4x4x4, a.c", "give programs of one task"),
    ("optimize empty", "empty", "there is no C or C++ file"),
    ("optimize empty.bc", "empty.bc", "empty input"),
    ("optimize a.c -o new/", "the folder does not exist", "make it first, or name a file: new.o"),
    ("optimize a.c -o new/a.o", "its folder does not exist", "make it first: mkdir -p "),
    ("optimize a.c -o a.exe", "a.exe", "a name that ends in .o"),
    ("optimize matmul:0x4x4", "m is 0", "at least 1"),
    ("replay a.c", "a.c", "expected results, as burnish optimize --result FILE writes them"),
    ("replay nosuch.jsonl", "nosuch.jsonl", "expected results, as burnish optimize --result"),
    ("replay empty", "empty", "expected results, as burnish optimize --result"),
    ("replay empty.bc", "empty.bc", "expected results, as burnish optimize --result"),
    ("validate bytes.bc", "bytes.bc", "the file is not text; expected results"),
    ("leaderboard a.c", "a.c", "expected a leaderboard, as burnish evaluate --append FILE writes it"),
    ("evaluate --out empty", "empty", "there is no run.json"),
    ("corpus list --folder empty", "empty", "make one with: burnish corpus build"),
    ("inliner importance llvm_inlining-loaded-bytes d.jsonl", "d.jsonl", "burnish inliner decisions"),
    ("import-torch model.py:net -o x.onnx", "x.onnx", "a name that ends in .mlir"),
    ("export llvm_passes-ir-instructions --out x.h", "sequence-values", "expected one that chooses actions"),
    # rows of results
    ("replay rows.jsonl", "'mian: gvn'", "did you mean 'main'"),
    ("replay half.jsonl", "half.jsonl, line 2", "correct the line, or remove it"),
    ("replay cost.jsonl", "'cost' is 'much'", "expected float"),
    ("replay trace.jsonl", "'trace' is 'gvn'", "expected a list of texts"),
    ("replay less.jsonl", "'cost' is missing", "correct the line, or remove it"),
    ("replay more.jsonl", "no field 'colour'", "correct the line, or remove it"),
    ("replay version.jsonl", "'llvm_passes-v99'", "did you mean 'llvm_passes-v1'?"),
    ("replay bundle.jsonl", "is damaged", "write it again with --bundle"),
    ("apply --result rows.jsonl --number 4", "rows.jsonl", "expected --number 1 to 1"),
    # configurations of trainings
    ("train nosuch.toml", "nosuch.toml", "there is no such file"),
    ("train empty.toml", "empty.toml", "algorithm is missing"),
    ("train a.c", "a.c", "not TOML"),
    ("train key.toml", "'iteration'", "did you mean 'iterations'?"),
    ("train kind.toml", "run.iterations", "expected a whole number, not 'many'"),
    ("train ppo-autophase --set run.iterations", "'run.iterations'", "expected KEY=VALUE"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of files that are wrong, each in its way, and one program."""
    folder = tmp_path_factory.mktemp("wrong")
    (folder / "empty").mkdir()
    (folder / "a.c").write_text(PROGRAM)
    (folder / "a.m").write_text(PROGRAM)
    (folder / "model.py").write_text("")
    (folder / "empty.bc").write_bytes(b"")
    (folder / "bytes.bc").write_bytes(bytes([0x9A, 0xFF]))
    (folder / "empty.toml").write_text("")
    config = '[algorithm]\nname = "ppo"\n[[programs]]\nuse = "a.c"\n[run]\n'
    (folder / "key.toml").write_text(config + "iteration = 3\n")
    (folder / "kind.toml").write_text(config + 'iterations = "many"\n')
    row = json.loads(RESULT.to_json()) | {"digest": load_program(folder / "a.c").digest}
    rows = {
        "rows": {},
        "cost": {"cost": "much"},
        "trace": {"trace": "gvn"},
        "more": {"colour": "red"},
        "version": {"task": "llvm_passes-v99"},
        "bundle": {"bundle": {"": "AAAA"}},
    }
    for name, changes in rows.items():
        (folder / f"{name}.jsonl").write_text(json.dumps(row | changes) + "\n")
    text = json.dumps(row)
    (folder / "half.jsonl").write_text(f"{text}\n{text[:90]}\n")
    (folder / "less.jsonl").write_text(json.dumps({key: row[key] for key in row if key != "cost"}))
    return folder


@pytest.mark.parametrize(("words", "wrong", "step"), WRONG, ids=[words for words, *_ in WRONG])
def test_wrong_command_is_refused_in_one_line_with_the_next_step(
    words: str,
    wrong: str,
    step: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    assert main(shlex.split(words)) == 2
    shown, said = capsys.readouterr()
    assert not shown and said.startswith("burnish: error: ") and said.count("\n") == 1, said
    assert wrong in said and step in said


def test_a_program_may_follow_an_option(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(["apply", "a.c", "--json", "gvn"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


@pytest.mark.parametrize("command", ["", *(name for name in COMMANDS if name not in LAUNCHED)])
def test_help_whose_reader_has_gone_ends_quietly(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with _pipe_without_reader() as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main([*command.split(), "--help"]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("command", ["cc", "check-system"])
def test_process_whose_reader_has_gone_ends_quietly(command: str) -> None:
    with _pipe_without_reader() as pipe:
        words = [sys.executable, "-m", "burnish.cli", command, "--help"]
        done = subprocess.run(words, stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert done.stderr == b""


@contextmanager
def _pipe_without_reader() -> Iterator[IO[str]]:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        yield pipe


def test_help_says_each_form_of_a_program_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("a file (.c .cc .cpp .ll .bc), a folder") == 1
    assert "for loop_nests a file" in shown and "for mlir_schedules a file" in shown
    assert "for wasm_passes a file (.wasm .wat)" in shown


def test_examples_of_corpus_stand_on_lines_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "burnish corpus build --split train" in lines
    assert "burnish corpus build --from ~/project --folder mine" in lines
