"""A task of another package: everything that works with burnish's own works with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from burnish.core.result import Result
from tests.sources import DATA

PACKAGE = Path(__file__).parents[2] / "examples" / "gcc_flags"
MODULE = PACKAGE / "gcc_flags"
PROJECT = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
COMMANDS = """
import contextlib, io, json, sys
from burnish.cli import main
told = []
for words in json.loads(sys.argv[1]):
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(words)
    told.append((code, out.getvalue(), errors.getvalue()))
print(json.dumps(told))
"""
BURNISH = (sys.executable, "-m", "burnish.cli")
TRAINING = """
task = "gcc_flags"
programs = [{ use = "matrix.c" }]
validation = [{ use = "matrix.c" }]
algorithm = { name = "ppo", steps = 8, minibatch = 8 }
environment = { count = 1, max_steps = 4 }
network = { kind = "mlp", hidden = [8] }
run = { iterations = 1, standardize_steps = 0 }
track = { curves = false, tensorboard = false }
"""
STEP = """
import gymnasium, burnish.envs
env = gymnasium.make("burnish/GccFlags-v0", programs="matrix.c")
_, info = env.reset()
action = env.unwrapped.task.actions.index("Os")
_, reward, *_, after = env.step(action)
assert after["cost"] < info["cost"] and reward > 0
env.close()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what pip would install, and matrix.c."""
    folder = tmp_path_factory.mktemp("installed")
    shutil.copytree(MODULE, folder / "gcc_flags", ignore=shutil.ignore_patterns("__pycache__"))
    metadata = folder / f"gcc_flags-{PROJECT['version']}.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n"
    )
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in PROJECT["entry-points"].items()
    )
    (metadata / "entry_points.txt").write_text(points)
    (folder / "matrix.c").write_bytes((DATA / "matrix.c").read_bytes())
    return folder


def run(installed: Path, words: Sequence[str], code: int = 0) -> str:
    """Run a command where the package is installed; return what it prints."""
    paths = [str(installed), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "80"}
    done = subprocess.run(
        words, cwd=installed, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def run_all(installed: Path, commands: Sequence[Sequence[str]]) -> list[tuple[int, str, str]]:
    """Run commands one after the other in one process; return each one's exit code, output and errors."""
    told = run(installed, [sys.executable, "-c", COMMANDS, json.dumps(commands)])
    return [(code, out, errors) for code, out, errors in json.loads(told)]


def test_it_is_short() -> None:
    assert len((MODULE / "__init__.py").read_text().splitlines()) <= 150


def test_it_is_listed(installed: Path) -> None:
    listed = json.loads(run(installed, [*BURNISH, "tasks", "--json"]))
    assert [task["task"].partition("-")[0] for task in listed][-1] == "gcc_flags"
    assert "fno-inline-functions" in listed[-1]["actions"]


def test_it_optimizes_and_what_it_found_is_replayed(installed: Path) -> None:
    words = ["optimize", "matrix.c", "--task", "gcc_flags", "-o", "m.o", "--result", "r.jsonl"]
    words += ["--budget", "12 evaluations"]
    found, same, compared = run_all(installed, [words, ["replay", "r.jsonl"], ["compare", "r.jsonl"]])
    assert found[0] == same[0] == compared[0] == 0, found + same + compared
    assert "matrix.c" in found[1] and "-Os" in found[1]
    (result,) = (Result.from_json(line) for line in (installed / "r.jsonl").read_text().splitlines())
    assert result.cost <= result.baselines["Os"] < result.baselines["O0"]
    assert (installed / "m.o").read_bytes()[:4] == b"\x7fELF"
    assert "the same again" in same[1]
    assert "matrix.c" in compared[1]


def test_what_it_found_is_validated(installed: Path) -> None:
    (installed / "sums.c").write_text(
        "#include <stdio.h>\nint main(int n, char **words) "
        '{ int c, sum = n; while ((c = getchar()) != EOF) sum += c; printf("%d\\n", sum); }\n'
    )
    (installed / "input.txt").write_text("some text")
    words = ["optimize", "sums.c", "--task", "gcc_flags", "--result", "sums.jsonl"]
    validate = ["validate", "sums.jsonl"]
    inputs = ["--run", "", "--run", "a 'b c' < input.txt"]
    commands = [[*words, "--budget", "6 evaluations"], [*validate, *inputs], validate]
    found, shown, without = run_all(installed, commands)
    assert found[0] == shown[0] == without[0] == 0, found + shown + without
    assert "-Os was kept  right\n" in shown[1]
    assert "prints the same as the unoptimized program on 2 inputs" in shown[1]
    assert "was not compared (--run)" in without[1]


def test_flags_are_applied_by_hand(installed: Path) -> None:
    shown = run(installed, [*BURNISH, "apply", "--task", "gcc_flags", "matrix.c", "Os", "fno-tree-ter"])
    assert shown.splitlines()[-1] == "gcc -c -Os -fno-tree-ter"


def test_methods_are_compared(installed: Path) -> None:
    words = [*BURNISH, "evaluate", "--task", "gcc_flags", "matrix.c", "--methods", "random,Os"]
    assert "random" in run(installed, [*words, "--budget", "3 evaluations", "--out", "compared"])


def test_a_policy_is_trained(installed: Path) -> None:
    (installed / "train.toml").write_text(TRAINING)
    run(installed, [*BURNISH, "train", "train.toml", "--out", "trained", "--quiet"])
    assert json.loads((installed / "trained" / "policy.card.json").read_text())["task"] == "gcc_flags-v0"


def test_the_policy_that_comes_with_it_guides_searches(installed: Path) -> None:
    (policy,) = (MODULE / "policies").glob("*.npz")
    card = json.loads(policy.with_suffix(".card.json").read_text())
    assert (card["task"], card["objective"]) == ("gcc_flags-v0", "bytes")
    words = ["optimize", "matrix.c", "--task", "gcc_flags", "--result", "guided.jsonl"]
    run(installed, [*BURNISH, *words, "--budget", "6 evaluations"])
    (result,) = (Result.from_json(line) for line in (installed / "guided.jsonl").read_text().splitlines())
    assert result.method == f"mixed@{policy.stem}"


def test_gymnasium_makes_it(installed: Path) -> None:
    run(installed, [sys.executable, "-c", STEP])


def test_bad_input_is_named(installed: Path) -> None:
    refused = {
        "optimize --task gcc_flag matrix.c": "did you mean 'gcc_flags'",
        "optimize --task gcc_flags matrix.c -o m.ll": "expected a name that ends in .o",
        "apply --task gcc_flags matrix.c Os Os": "'Os' is illegal after 1 steps",
        "optimize --task gcc_flags matrix.c --objective seconds": "give its arguments with --run",
    }
    told = run_all(installed, [words.split() for words in refused])
    for (code, _, error), message in zip(told, refused.values(), strict=True):
        assert code == 2
        assert message in error


def test_a_task_that_cannot_be_loaded_is_named_and_the_others_work(installed: Path, tmp_path: Path) -> None:
    metadata = tmp_path / "broken-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[burnish.tasks]\nbroken = no_such_module:TASK\n")
    assert "the task broken of broken cannot be loaded" in run(
        tmp_path, [*BURNISH, "tasks", "broken"], code=2
    )
    run(tmp_path, [sys.executable, "-W", "ignore", "-c", "import burnish.envs"])
