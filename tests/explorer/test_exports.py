"""Exports are read by what they are for: burnish apply, burnish replay, the task's own readers."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.core.errors import InputError
from burnish.core.registry import load_task
from burnish.core.result import Result
from burnish.explorer.exploration import Exploration
from burnish.explorer.exports import OpenedFile, apply_command, suffixes
from burnish.explorer.features import FeatureChange, changed, counted
from burnish.explorer.state_tree import StateTree
from tests.explorer.conftest import MATRIX
from tests.explorer.test_exploration import PROGRAMS
from tests.sources import DATA

TRACE = ("sroa<modify-cfg>", "transpose: gvn", "simplifycfg")


def test_command_of_burnish_repeats_the_trace(tree: StateTree, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(tree.texts(TRACE)["Repeat with burnish"])
    assert words[:2] == ["burnish", "apply"]
    assert main([*words[1:], "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["step"] for row in rows] == ["(opened)", *TRACE]
    assert rows[-1]["ir-instructions"] == tree.visit(TRACE).cost


def test_command_has_the_settings_and_the_compilers_arguments() -> None:
    task = load_task("llvm_passes").configured({"level": "O2", "always_inline": "False"})
    opened = OpenedFile("a b.c", ("-Iinclude",))
    words = shlex.split(apply_command(task, ("gvn",), "ir-instructions", opened))
    assert words[-4:] == ["a b.c", "gvn", "--", "-Iinclude"]
    assert "--ignore-always-inline" in words
    assert words[words.index("--level") + 1] == "O2"


def test_texts_without_a_file_have_no_command_of_burnish() -> None:
    with (
        Exploration(load_task("llvm_codegen"), PROGRAMS["llvm_codegen"]()) as exploration,
        closing(StateTree(exploration)) as tree,
    ):
        assert list(tree.texts(())) == ["Trace"]


def test_other_tools_command_is_the_tasks(tree: StateTree) -> None:
    assert "Repeat without burnish" not in tree.texts(TRACE)  # opt cannot run an entry at a site
    command = tree.texts(TRACE[::2])["Repeat without burnish"]
    assert "function(sroa<modify-cfg>)" in command


def test_result_is_replayed(tree: StateTree, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "found.jsonl"
    path.write_bytes(tree.file(TRACE, ".jsonl"))
    row = Result.from_json(path.read_text())
    assert (row.trace, row.source) == (TRACE, MATRIX.source)
    assert main(["replay", str(path)]) == 0
    assert main(["replay", str(path), "--program", str(Path(MATRIX.name).parent / "strings.c")]) != 0


def test_compiler_applies_a_remembered_state(tmp_path: Path) -> None:
    task, source = load_task("llvm_passes"), DATA / "strings.c"
    trace = ("mem2reg", "loop-reduce", "reassociate", "clang<O1>", "jump-threading<threshold=2>")
    with (
        Exploration(task, task.source().load(str(source)).program) as exploration,
        closing(StateTree(exploration, task.goal("loaded-bytes", {}))) as tree,
    ):
        (tmp_path / "known").write_bytes(tree.file(trace, ".remembered"))
        cost = tree.visit(trace).cost
        assert cost < tree.baselines()["Oz"]
    options = f"--remember {tmp_path}/known --budget remembered --report {tmp_path}/log --alone".split()
    command = [str(Path(sys.executable).parent / "burnish"), "cc", *options]
    subprocess.run([*command, "-Oz", "-c", source, "-o", tmp_path / "made.o"], check=True)
    row = json.loads((tmp_path / "log").read_text().splitlines()[-1])
    assert (tuple(row["trace"]), row["loaded_bytes"]) == (trace, cost)


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_file_format_is_written(name: str) -> None:
    task = load_task(name)
    with (
        Exploration(task, PROGRAMS[name]()) as exploration,
        closing(StateTree(exploration)) as tree,
    ):
        files = {suffix: tree.file((), suffix) for suffix in suffixes(task)}
        assert all(files.values())
        if name == "mlir_schedules":
            assert b"transform." in files[".mlir"]
        if ".o" in files:
            assert files[".o"].startswith(b"\x7fELF")
        with pytest.raises(InputError, match="does not write this format"):
            tree.file((), ".exe")


def test_changed_features_are_named_largest_change_first(tree: StateTree) -> None:
    found = tree.features((), TRACE[:1])
    before, after = (tree.exploration.observe(tree.exploration.state(trace)) for trace in ((), TRACE[:1]))
    names = list(tree.exploration.task.observation().columns)
    assert found
    for name, old, new, along in found:
        assert (before[names.index(name)], after[names.index(name)]) == (old, new)
        assert along == (old, new)
    ratios = [abs(new - old) / max(old, new) for _, old, new, _ in found]
    assert ratios == sorted(ratios, reverse=True)
    assert not tree.features((), ())


def test_changed_features_have_their_values_along_the_trace(tree: StateTree) -> None:
    known, trace = tree.exploration, TRACE[:3]
    names = list(known.task.observation().columns)
    states = [known.state(trace[:length]) for length in range(len(trace) + 1)]
    counts = [known.observe(state) for state in states]
    for name, old, new, along in tree.features(trace[:-1], trace):
        assert along == tuple(one[names.index(name)] for one in counts)
        assert along[-2:] == (old, new)
    with Exploration(known.task, known.program) as unknown:
        assert unknown.observe_along(trace, "autophase", seconds=-1.0) == [None] * len(states)


def test_rows_of_a_matrix_are_numbered() -> None:
    loops = load_task("loop_nests").observation("schedule")
    with Exploration(load_task("loop_nests"), PROGRAMS["loop_nests"]()) as exploration:
        states = exploration.root, exploration.state(("down",))
        first, second = (exploration.observe(state, "schedule") for state in states)
        found = changed(loops, first, second)
    assert sorted(found) == [FeatureChange("1: cursor", 1.0, 0.0), FeatureChange("2: cursor", 0.0, 1.0)]


def test_counts_come_before_shares() -> None:
    names = counted(load_task("llvm_passes"))
    assert names[0] == "opcode-counts"
    assert names.index("autophase") < names.index("opcode-counts-normalized")


def test_unknown_observation_is_an_error(tree: StateTree) -> None:
    with pytest.raises(InputError, match="expected an array of named numbers: opcode-counts"):
        tree.features((), (), "ir")
