"""burnish train: what it shows, how it ends, and how it goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from burnish.cli import main, train
from burnish.learning.training import ranked
from burnish.learning.training.config import Config, shipped
from burnish.learning.training.loop import CONFIG
from burnish.learning.training.track import LOG, read_log
from tests.learning.training.walk import Walk

WALK = """
description = "a walk"
algorithm = { name = "walk" }
programs = { use = "random:0" }
run = { iterations = 4, validate_every = 2, checkpoint_every = 2 }
track = { tensorboard = false }
"""


@pytest.fixture
def walk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without_curves: None) -> str:
    """Return the name of a configuration of a training without a network."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ranked, "open_training", Walk)
    (tmp_path / "walk.toml").write_text(WALK)
    return "walk.toml"


def test_a_run_is_reported(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", walk]) == 0
    out, err = capsys.readouterr()
    folder = Path("runs/walk")
    assert len(read_log(folder / LOG)) == 5
    best = json.loads((folder / "policy.card.json").read_text())["results"]
    said = f"best policy: of iteration {best['iteration']}, {best['validation/ratio']:.4f} on the validation"
    assert "all iterations are done, after iteration 4" in out
    assert said in out
    assert "wrote runs/walk/policy.txt, policy.card.json, curves.png" in out
    assert "walk  iteration 2  20 steps" in err
    assert "start / policy" in err
    assert (
        json.loads((folder / "policy.card.json").read_text())["training"]["command"]
        == "burnish train walk.toml"
    )


def test_json_is_what_the_log_has(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", walk, "--json", "--out", "x"]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == read_log(Path("x") / LOG)
    assert err == ""


def test_actions_are_left_out_of_a_run_and_its_continuation(walk: str) -> None:
    assert main(["train", walk, "--without", "outline*,mergefunc", "--without", "gvn"]) == 0
    config = json.loads((Path("runs/walk") / CONFIG).read_text())
    assert config["options"] == {"without": "outline*,mergefunc,gvn"}
    assert main(["train", walk, "--set", "run.iterations=6"]) == 2  # another task


def test_quiet_says_nothing(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", walk, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_the_same_command_goes_on(walk: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", walk]) == 0
    assert main(["train", walk, "--set", "run.iterations=6"]) == 0
    assert "resuming after iteration 4" in capsys.readouterr().err
    assert [row["iteration"] for row in read_log(Path("runs/walk") / LOG)] == list(range(7))
    assert main(["train", "--resume", "runs/walk", "--set", "run.iterations=7"]) == 0
    assert [row["iteration"] for row in read_log(Path("runs/walk") / LOG)] == list(range(8))
    assert json.loads((Path("runs/walk") / CONFIG).read_text())["run"]["iterations"] == 7


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_saves_and_says_how_to_go_on(
    number: signal.Signals, walk: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Walk, "iterate", interrupted(Walk.iterate, 3, number))
    before = signal.getsignal(number)
    assert main(["train", walk, "--out", "a folder"]) == 130
    err = capsys.readouterr().err
    assert "stopping after this iteration; Ctrl-C again stops at once" in err
    assert "stopped after iteration 3; to resume: burnish train walk.toml --out 'a folder'" in err
    assert signal.getsignal(number) is before
    assert (Path("a folder") / "policy.txt").exists()
    assert main(["train", walk, "--out", "a folder"]) == 0
    assert [row["iteration"] for row in read_log(Path("a folder") / LOG)] == list(range(5))


def test_a_second_interruption_stops_at_once(
    walk: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Walk, "iterate", interrupted(Walk.iterate, 3, signal.SIGINT, signal.SIGINT))
    assert main(["train", walk]) == 130
    assert len(read_log(Path("runs/walk") / LOG)) == 3
    assert main(["train", walk]) == 0  # from the checkpoint of iteration 2
    assert [row["iteration"] for row in read_log(Path("runs/walk") / LOG)] == list(range(5))


def test_what_has_nothing_to_lose_is_interrupted_at_once(walk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Walk, "validate", interrupted(Walk.validate, 0, signal.SIGINT))
    assert main(["train", walk]) == 130
    assert read_log(Path("runs/walk") / LOG) == []


def interrupted(
    method: Callable[[Walk], Any], iteration: int, *numbers: signal.Signals
) -> Callable[[Walk], Any]:
    """Return a method that is interrupted, the first time that it is called in that state."""
    left = list(numbers)

    def call(walk: Walk) -> Any:
        found = method(walk)
        while left and walk.iterations == iteration:
            os.kill(os.getpid(), left.pop())
        return found

    return call


def test_those_that_are_shipped_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--list"]) == 0
    shown = capsys.readouterr().out
    assert {line.split()[0] for line in shown.splitlines() if line.strip()} >= set(shipped())
    assert main(["train"]) == 2
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["smoke", "--set", "run.iteration=2"], "no key named 'iteration'; did you mean 'iterations'"),
        (["smok"], "no training configuration named 'smok'; did you mean 'smoke'"),
        (["--resume", "nowhere"], "nowhere/config.json: there is no run to resume"),
        (["smoke", "--resume", "x"], "--resume takes the configuration from its folder"),
        (["walk.toml", "--set", "algorithm.name=pppo"], "walk: algorithm.name: no algorithm named 'pppo'"),
    ],
)
def test_what_is_wrong_is_an_error(
    words: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "walk.toml").write_text(WALK)
    assert main(["train", *words]) == 2
    assert message in capsys.readouterr().err


def test_without_torch_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['torch'] = None; from burnish.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", code, "train", "smoke", "--out", str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "burnish: error: training needs torch, which is not installed: "
        "pip install '.[train]' in a clone of burnish\n"
    )
    assert not (tmp_path / "run").exists()


def test_listing_needs_no_torch() -> None:
    code = "import sys; sys.modules['torch'] = None; from burnish.cli import main; main(['train', '--list'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout


def test_a_terminal_has_a_line_that_lives(
    walk: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Walk, "iterate", slowly(Walk.iterate))
    monkeypatch.setattr(Walk, "export", slowly(Walk.export))

    def terminal(**options: Any) -> Console:
        return Console(**options, force_terminal=True, width=80)

    monkeypatch.setattr(train, "Console", terminal)
    assert main(["train", walk]) == 0
    err = capsys.readouterr().err
    lines = [re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]", err)]
    assert any(" left " in line for line in lines)
    assert any("iteration 4  40 steps" in line and "start / policy" in line for line in lines)
    assert all(len(line) <= 80 for line in lines)


def slowly(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that takes as long as it takes to see what is shown."""

    def call(*arguments: Any) -> Any:
        time.sleep(0.3)
        return method(*arguments)

    return call


def test_a_configuration_is_what_the_training_is_opened_with(
    walk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Config] = []

    def opened(config: Config, folder: Path, note: Callable[[str], None]) -> Walk:
        seen.append(config)
        return Walk(config, folder, note)

    monkeypatch.setattr(ranked, "open_training", opened)
    assert main(["train", walk, "--set", "run.seed=7", "--set", "objective=text-bytes"]) == 0
    assert (seen[0].run.seed, seen[0].objective, seen[0].name) == (7, "text-bytes", "walk")
