"""burnish corpus, and references to its programs in the other commands."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from burnish.cli import main
from burnish.llvm.corpora.mlgo import read_mlgo
from burnish.llvm.toolchain import find_tool

MORE = "/* " + "long enough to be more than a stub " * 3 + "*/\n"
NAMES = ("red", "green", "blue", "grey")


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Return a folder with four projects of a file each, and a file that does not compile."""
    for name in NAMES:
        (tmp_path / "mine" / name).mkdir(parents=True)
        code = f"int {name}(int x) {{ int s = 0; while (x) s += x-- * {len(name)}; return s; }}\n{MORE}"
        (tmp_path / "mine" / name / "a.c").write_text(code)
    (tmp_path / "mine/red/bad.c").write_text("int bad = ;\n" + MORE)
    return tmp_path / "mine"


@pytest.fixture
def folder(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["corpus", "build", "--from", str(sources), "--folder", str(tmp_path / "corpus")]) == 0
    capsys.readouterr()
    return tmp_path / "corpus"


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_build_says_what_compiled(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "corpus"
    assert main(["corpus", "build", "--from", str(sources), "--folder", str(folder), "--jobs", "2"]) == 0
    shown = capsys.readouterr().out
    assert "80.0%" in shown
    assert "failed: expected expression" in shown
    assert f"4 programs in {folder}, digest " in shown


def test_list_filters(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["corpus", "list", "--folder", str(folder), "--json"]
    assert main(command) == 0
    assert [row["path"] for row in lines(capsys)] == [f"{name}/a.c" for name in sorted(NAMES)]
    assert main([*command, "--status", "failed"]) == 0
    assert [(row["path"], row["reason"]) for row in lines(capsys)] == [("red/bad.c", "expected expression")]
    assert main([*command, "--smallest", "10000"]) == 0
    assert lines(capsys) == []
    assert main([*command, "train"]) == 0
    assert len(lines(capsys)) == len(NAMES)


def test_list_knows_what_can_be_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "list", "kernels", "--json"]) == 0
    rows = {row["name"]: row for row in lines(capsys)}
    assert list(rows["kernels:fft"]["inputs"]) == ["small", "medium", "large"]
    assert main(["corpus", "list", "workloads"]) == 0
    assert "workloads:lz4" in capsys.readouterr().out


def test_stats_count_by_split(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpus", "stats", "--folder", str(folder), "--json"]) == 0
    (stats,) = lines(capsys)
    assert stats["programs"] == 4
    train = stats["splits"]["train"]
    assert (train["compiled"], train["failed"]) == (4, 1)
    assert train["bitcode_bytes"] > train["stored_bytes"] > 0
    assert main(["corpus", "stats", "--folder", str(folder)]) == 0
    assert "expected expression" in capsys.readouterr().out


def test_split_deals_out_folders_and_goes_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["corpus", "split", "--folder", str(folder)]
    assert main([*command, "--assign", "train=2,val=1,test=1"]) == 0
    assert main(["corpus", "stats", "--folder", str(folder), "--json"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert "No program is in two splits; left out for this reason: 0." in shown
    splits = json.loads(shown[-1])["splits"]
    assert {name: split["compiled"] for name, split in splits.items()} == {"train": 2, "val": 1, "test": 1}
    assert main([*command, "--reset"]) == 0
    assert "train  all             4" in capsys.readouterr().out


def test_a_single_folder_is_split_by_file_where_that_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flat").mkdir()
    for number, name in enumerate(NAMES, 2):
        code = (
            f"int {name}(int x) {{ return x * {number}; }}\nint {name}s(int x) {{ return x + {number}; }}\n"
        )
        (tmp_path / f"flat/{name}.c").write_text(code + MORE)
    corpus = tmp_path / "corpus"
    built = ["corpus", "build", "--from", str(tmp_path / "flat"), "--functions", "--folder", str(corpus)]
    assert main(built) == 0
    command = ["corpus", "split", "--folder", str(corpus), "--assign", "train=2,val=1,test=1"]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert "train  flat            8" in shown.out
    assert "test and val got no program. The 8 programs are in one folder, flat" in shown.err
    assert "add --by-file" in shown.err
    assert main([*command, "--by-file"]) == 0
    shown = capsys.readouterr()
    assert "train  flat            4" in shown.out  # both functions of a file are in one split
    assert "val    flat            2" in shown.out
    assert shown.err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["build", "--from", "nowhere"], "nothing to compile there"),
        (["build", "--split", "trian"], "did you mean 'train'"),
        (["fetch", "--package", "zopfly"], "did you mean 'zopfli'"),
        (["build", "--link"], "--link: only with --from"),
        (["build", "--from", ".", "DEFAULT"], "expected --folder too"),
        (["build", "--limit", "3", "DEFAULT"], "expected --folder too"),
        (["build", "--from", ".", "--limit", "3"], "--limit: only without --from"),
        (["build", "--from", ".", "--link", "--functions"], "expected only one of them"),
        (["list", "--folder", "nowhere"], "no corpus there"),
        (["split", "--folder", "FOLDER", "--assign", "train"], "expected shares such as"),
        (["split", "--folder", "FOLDER", "--by-file"], "--by-file: expected --assign too"),
        (["list", "mime", "--folder", "FOLDER"], "did you mean 'mine'"),
    ],
)
def test_wrong_words_are_explained(
    folder: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(folder) if word == "FOLDER" else word for word in words]
    if words[-1] == "DEFAULT":
        words.pop()
    elif "--folder" not in words and words[0] != "fetch":
        words += ["--folder", str(folder)]
    assert main(["corpus", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["build", "--from", "EMPTY", "--lto", "--thinlto"],
            "--link and --thinlto: expected only one of them",
        ),
        (["build", "--thinlto"], "--thinlto: only with --from"),
        (["build", "--from", "EMPTY", "--command=-O2"], "--command: only with --objects"),
        (["extract", "EMPTY", "EMPTY", "--command", "("], "--command (: missing )"),
        (["build", "--from", "EMPTY", "--objects"], "no object there"),
        (["build", "--from", "EMPTY", "--add-flag=-Os"], "without options that could be changed"),
        (["build", "--from", "EMPTY", "--replace-flag=-O2"], "expected NAME=VALUE"),
        (["build", "--delete-flag=-O2"], "--add-flag, --delete-flag, --replace-flag: only with --from"),
    ],
)
def test_wrong_words_about_objects_are_explained(
    tmp_path: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(tmp_path) if word == "EMPTY" else word for word in words]
    if words[0] == "build":
        words += ["--folder", str(tmp_path / "corpus")]
    assert main(["corpus", *words]) == 2
    assert message in capsys.readouterr().err


def test_modules_of_objects_are_extracted_and_built(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Flags are changed by every command that reads modules with their options."""
    build = tmp_path / "out"
    build.mkdir()
    for name in NAMES[:2]:
        (tmp_path / f"{name}.c").write_text(f"int {name}(int x) {{ return x * {len(name)}; }}\n")
        clang = [str(find_tool("clang")), "-O2", "-Xclang", "-fembed-bitcode=all"]
        subprocess.run([*clang, "-c", tmp_path / f"{name}.c", "-o", build / f"{name}.o"], check=True)
    subprocess.run(["gcc", "-c", tmp_path / "red.c", "-o", build / "plain.o"], check=True)
    mlgo, mine, again = tmp_path / "mlgo", tmp_path / "corpus", tmp_path / "again"
    assert main(["corpus", "extract", str(mlgo), str(build), "--add-flag=-mllvm", "--add-flag=-x"]) == 0
    said = capsys.readouterr().out
    assert "2 modules in" in said and "1 objects left out, such as plain.o: no bitcode in it" in said
    assert read_mlgo(mlgo).options("red.o")[-2:] == ("-mllvm", "-x")
    words = ["corpus", "build", "--folder", str(mine), "--from", str(mlgo / "corpus_description.json")]
    assert main([*words, "--delete-flag=-mllvm", "--replace-flag=-target-cpu=haswell"]) == 0
    assert main(["corpus", "export", str(again), "--folder", str(mine), "--delete-flag=-tune-cpu"]) == 0
    options = read_mlgo(again).options("mlgo/red.o")
    assert "-O2" in options and "-x" not in options and "-tune-cpu" not in options
    assert options[options.index("-target-cpu") + 1] == "haswell"
    assert main(["corpus", "export", str(again), "--folder", str(mine), "--", "-Oz"]) == 0
    assert "-Oz" in read_mlgo(again).options("mlgo/red.o")
    capsys.readouterr()
    assert main(["corpus", "extract", str(mlgo), str(build), "--command=-Oz"]) == 2
    assert "no module to write\ngreen.o: no option of its command matches -Oz" in capsys.readouterr().err


def test_random_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--count", "3", "--seed", "5", "--size", "200", "--folder", str(tmp_path)]
    assert main(["corpus", "random", *words]) == 0
    assert "3 programs in" in capsys.readouterr().out


def test_a_program_of_a_corpus_is_optimized_and_replayed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["optimize", f"corpus@{folder}:mine/[br]*/a.c", "random:3:100", "--budget", "8"]
    assert main([*command, "--workers", "1", "--result", "results.jsonl", "--quiet"]) == 0
    rows = [json.loads(line) for line in Path("results.jsonl").read_text().splitlines()]
    assert [row["source"] for row in rows] == [
        [f"corpus@{folder}:mine/blue/a.c"],
        [f"corpus@{folder}:mine/red/a.c"],
        ["random:3:100"],
    ]
    assert sorted(path.name for path in tmp_path.glob("*.o")) == [
        "mine-blue-a.c.o",
        "mine-red-a.c.o",
        "random-3-100.o",
    ]
    assert main(["replay", "results.jsonl"]) == 0
    assert capsys.readouterr().out.count("the same again") == 3


def test_passes_takes_a_reference(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", "random:3:100", "sroa<modify-cfg>", "--json"]) == 0
    assert lines(capsys)[1]["changed"] is True


def test_import_shows_the_datasets_and_makes_a_corpus_of_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "files/sha").mkdir(parents=True)
    (tmp_path / "files/sha/sha.c").write_text('#include <stdio.h>\nint main(void) { puts("ok"); }\n')
    (tmp_path / "files/gsm").mkdir()
    (tmp_path / "files/gsm/gsm.c").write_text("int main(void) { return 4; }\n")
    assert main(["corpus", "import", "chstone", str(tmp_path / "files"), "--quiet", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert "gsm cannot be run: exit code 4" in said
    assert "2 programs of chstone-v0 in" in said and "split test; 1 can be run" in said
    assert main(["corpus", "import", "--json"]) == 0
    rows = {row["dataset"]: row for row in lines(capsys)}
    assert rows["chstone-v0"]["imported"] and not rows["cbench-v1"]["imported"]
    assert main(["corpus", "import"]) == 0
    assert "PolyBench/C 4.2" in capsys.readouterr().out
    folder = str(tmp_path / "data/burnish/datasets/chstone-v0")
    for words, message in (
        (
            ["split", "--folder", folder, "--assign", "train=1,test=1"],
            "an evaluation suite, which is never in",
        ),
        (["import", "chston"], "did you mean 'chstone-v0'"),
        (["import", "chstone"], "expected the folder with its files too"),
    ):
        assert main(["corpus", *words]) == 2
        assert message in capsys.readouterr().err
