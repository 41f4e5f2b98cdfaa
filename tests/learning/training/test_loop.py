"""The loop: limits, the best policy, early stopping, and that a killed run goes on to the same curve."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from burnish.core.errors import InputError
from burnish.learning.training.checkpoint import FILE, load_checkpoint, locked
from burnish.learning.training.config import Config
from burnish.learning.training.loop import SERIES, IterationProgress, Listener, TrainingOutcome, train
from burnish.learning.training.track import LOG, TIMES, read_log
from burnish.learning.training.validation import SCORE
from tests.learning.training.walk import Walk, long_walk, walk_config
from tests.waiting import wait_until


def curve(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of a run's log without times."""
    return [{k: v for k, v in row.items() if k not in TIMES} for row in read_log(folder / LOG)]


def walk(folder: Path, listener: Listener = Listener(), **run: Any) -> TrainingOutcome:
    return train(walk_config(**run), folder, Walk, listener)


def stop_after(iterations: int) -> Listener:
    calls = iter(range(1, 1000))
    return Listener(stop=lambda: next(calls) >= iterations)


def test_each_iteration_is_a_row_and_some_are_validated(tmp_path: Path) -> None:
    outcome = walk(tmp_path, iterations=7, validate_every=3)
    assert (outcome.why, outcome.iteration) == ("iterations", 7)
    rows = curve(tmp_path)
    assert [row["iteration"] for row in rows] == list(range(8))
    assert [row.get("steps", 0) for row in rows] == [10.0 * i for i in range(8)]
    assert [row["iteration"] for row in rows if SCORE in row] == [0, 3, 6, 7]


def test_the_best_policy_is_exported_with_its_card(tmp_path: Path) -> None:
    outcome = walk(tmp_path, Listener(command="burnish train walk"), iterations=9, validate_every=1, seed=5)
    scores = [row[SCORE] for row in curve(tmp_path)]
    assert outcome.best and outcome.policy
    assert outcome.best.iteration == scores.index(max(scores))
    assert float(outcome.policy.read_text()) == pytest.approx(math.log(max(scores)))
    card = json.loads((tmp_path / "policy.card.json").read_text())
    assert card["results"] == {"iteration": outcome.best.iteration, SCORE: max(scores)}
    assert card["training"]["command"] == "burnish train walk"
    assert card["training"]["config"]["run"]["seed"] == 5
    assert card["task"] == "walking-v0"
    assert card["toolchain"]["torch"] == torch.__version__


def test_a_series_of_policies_is_kept_with_their_scores(tmp_path: Path) -> None:
    walk(tmp_path / "series", iterations=7, validate_every=4, keep_every=3)
    rows = {row["iteration"]: row[SCORE] for row in curve(tmp_path / "series") if SCORE in row}
    assert list(rows) == [0, 3, 4, 6, 7]
    folder = tmp_path / "series" / SERIES
    kept = [f"iteration-{number:06}" for number in (0, 3, 6)]
    assert sorted(path.name for path in folder.iterdir()) == [
        name for stem in kept for name in (f"{stem}.card.json", f"{stem}.txt")
    ]
    for stem, number in zip(kept, (0, 3, 6), strict=True):
        assert float((folder / f"{stem}.txt").read_text()) == pytest.approx(math.log(rows[number]))
        card = json.loads((folder / f"{stem}.card.json").read_text())
        assert card["results"] == {"iteration": number, SCORE: rows[number]}
    walk(tmp_path / "best", iterations=7)
    assert not (tmp_path / "best" / SERIES).exists()


@pytest.mark.parametrize(
    ("run", "why", "iterations"),
    [
        ({"steps": 35}, "steps", 4),
        ({"iterations": 3, "steps": 35}, "iterations", 3),
        ({"iterations": 9, "_finishes_at": 2}, "finished", 2),
        ({"iterations": 9, "seconds": 1e-9}, "seconds", 0),
    ],
)
def test_a_run_ends_at_its_first_limit(
    run: dict[str, Any], why: str, iterations: int, tmp_path: Path
) -> None:
    outcome = walk(tmp_path, **run)
    assert (outcome.why, outcome.iteration) == (why, iterations)
    assert SCORE in curve(tmp_path)[-1]
    again = walk(tmp_path, **run)  # there is nothing left to do
    assert (again.why, again.iteration) == (why, iterations)
    assert len(curve(tmp_path)) == iterations + 1


def test_patience_counts_validations_since_the_best(tmp_path: Path) -> None:
    said: list[str] = []
    listener = Listener(say=said.append)
    outcome = walk(tmp_path, listener, iterations=200, validate_every=1, patience=4, seed=1)
    scores = [row[SCORE] for row in curve(tmp_path)]
    assert outcome.why == "patience"
    assert outcome.best
    assert len(scores) - 1 == outcome.iteration == outcome.best.iteration + 4
    kept = f"the policy of iteration {outcome.best.iteration}, which is kept: {max(scores):.4f}"
    (why,) = said
    assert why == (
        f"stopping after iteration {outcome.iteration}: 4 validations in a row were not better than "
        f"{kept}, the last one {scores[-1]:.4f}"
    )
    longer = walk(tmp_path, iterations=200, validate_every=1, patience=9, seed=1)
    assert longer.best
    assert longer.iteration == longer.best.iteration + 9


def test_a_stopped_run_goes_on_to_the_same_curve(tmp_path: Path) -> None:
    walk(tmp_path / "whole", iterations=10, validate_every=4)
    first = walk(tmp_path / "parts", stop_after(3), iterations=10, validate_every=4)
    assert (first.why, first.iteration) == ("interrupted", 3)
    second = walk(tmp_path / "parts", stop_after(4), iterations=10, validate_every=4)
    assert (second.why, second.iteration) == ("interrupted", 7)
    last = walk(tmp_path / "parts", iterations=10, validate_every=4)
    assert last.why == "iterations"
    assert curve(tmp_path / "parts") == curve(tmp_path / "whole")


def test_a_finished_run_can_be_made_longer(tmp_path: Path) -> None:
    walk(tmp_path / "whole", iterations=8, validate_every=2)
    walk(tmp_path / "parts", iterations=4, validate_every=2)
    walk(tmp_path / "parts", iterations=8, validate_every=2)
    assert curve(tmp_path / "parts") == curve(tmp_path / "whole")


def test_a_killed_run_goes_on_to_the_same_curve(tmp_path: Path) -> None:
    """It dies in an iteration, two behind its checkpoint: lines of the log are done again."""
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    train(long_walk(), whole, Walk)
    process = subprocess.Popen([sys.executable, "-m", "tests.learning.training.walk", str(killed), "12"])
    wait_until(lambda: lines_in(killed / LOG) == 12, process)
    process.kill()
    process.wait()
    checkpoint = load_checkpoint(killed)
    assert checkpoint and checkpoint.iteration == 9
    with (killed / LOG).open("a") as log:
        log.write('{"iteration": 1')  # a line that was cut off
    train(long_walk(), killed, Walk)
    assert curve(killed) == curve(whole)
    assert (killed / "policy.txt").read_text() == (whole / "policy.txt").read_text()


def lines_in(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_another_configuration_is_refused_and_named(tmp_path: Path) -> None:
    walk(tmp_path, iterations=2)
    before = curve(tmp_path)
    with pytest.raises(InputError, match=r"another configuration: run\.seed differs; take another --out"):
        walk(tmp_path, iterations=5, seed=1)
    with pytest.raises(InputError, match=r"algorithm\.finishes_at, run\.seed differ;"):
        walk(tmp_path, iterations=5, seed=1, _finishes_at=7)
    assert curve(tmp_path) == before


def test_what_is_no_number_stops_the_run_and_keeps_the_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="diverged: loss/all is not a number in iteration 4;"):
        walk(tmp_path, iterations=9, _fails_at=4, checkpoint_every=2)
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint and checkpoint.iteration == 2


def test_progress_tells_the_best_and_the_time_left(tmp_path: Path) -> None:
    told: list[IterationProgress] = []
    notes: list[str] = []
    walk(tmp_path, Listener(progress=told.append, note=notes.append), iterations=4, validate_every=2)
    assert [item.row["iteration"] for item in told] == [0, 1, 2, 3, 4]
    assert told[0].seconds_left is None
    assert told[-1].seconds_left == 0
    assert all(item.best for item in told)
    assert notes[0] == "opened"


def test_a_folder_is_trained_in_by_one_process(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(InputError, match="another process is training there"):
        walk(tmp_path, iterations=1)


@pytest.mark.parametrize("content", [b"", b"nothing", b"PK\x03\x04half"])
def test_a_damaged_checkpoint_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(InputError, match=r"checkpoint\.pt: not a checkpoint.*remove it to start again"):
        walk(tmp_path, iterations=1)


def test_a_checkpoint_of_another_format_is_named(tmp_path: Path) -> None:
    torch.save({"format": 0}, tmp_path / FILE)
    with pytest.raises(InputError, match="not a checkpoint of this version"):
        walk(tmp_path, iterations=1)


def test_a_checkpoint_runs_nothing(tmp_path: Path) -> None:
    torch.save({"format": 1, "config": Runs(tmp_path / "ran")}, tmp_path / FILE)
    with pytest.raises(InputError, match="not a checkpoint"):
        walk(tmp_path, iterations=1)
    assert not (tmp_path / "ran").exists()


class Runs:
    """What would make a file when unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot make this folder"):
        walk(tmp_path / "file" / "run", iterations=1)


def test_only_limits_are_taken_from_the_new_configuration() -> None:
    config: Config = walk_config(iterations=2)
    assert replace(config.run, iterations=9) == config.with_limits_of(walk_config(iterations=9)).run
