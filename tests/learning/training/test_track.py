"""Every place that metrics go to has the same ones, also after a run was interrupted."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.core.errors import InputError, MissingTool
from burnish.learning.training.config import Config, Track
from burnish.learning.training.loop import Listener, train
from burnish.learning.training.track import (
    LOG,
    NAMES,
    JsonLines,
    TensorBoard,
    curve,
    flat,
    plot_log,
    position,
    read_log,
    shown,
)
from tests.learning.training.walk import Walk, walk_config

Scalars = dict[str, list[tuple[int, float]]]


def scalars_of_log(folder: Path) -> Scalars:
    rows = read_log(folder / LOG)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [(position(row), float(row[name])) for row in rows if name in row] for name in names}


def tensorboard(folder: Path) -> Scalars:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "tensorboard"))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def interrupted_once(config: Config, folder: Path) -> None:
    """Train in two parts, of which the second does two iterations again."""
    calls = iter((False, False, False, True))
    broken = replace(config, run=replace(config.run, checkpoint_every=2))
    with pytest.raises(KeyboardInterrupt):
        train(broken, folder, Walk, Listener(stop=lambda: interrupt(next(calls))))
    train(broken, folder, Walk)


def interrupt(now: bool) -> bool:
    if now:
        raise KeyboardInterrupt
    return False


def test_tensorboard_has_what_the_log_has(tmp_path: Path) -> None:
    config = replace(walk_config(iterations=6, validate_every=2), track=Track(tensorboard=True))
    interrupted_once(config, tmp_path)
    same(tensorboard(tmp_path), scalars_of_log(tmp_path))


def same(found: Scalars, expected: Scalars) -> None:
    assert found.keys() == expected.keys()
    for name, points in expected.items():
        assert [step for step, _ in found[name]] == [step for step, _ in points], name
        assert [v for _, v in found[name]] == pytest.approx([v for _, v in points], rel=1e-5), name


@pytest.mark.slow  # the import of mlflow takes seconds
def test_mlflow_has_what_the_log_has(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    from mlflow.tracking import MlflowClient

    uri = f"sqlite:///{tmp_path}/runs.db"
    config = replace(walk_config(iterations=6, validate_every=2), track=Track(tensorboard=False, mlflow=uri))
    interrupted_once(config, tmp_path)
    client = MlflowClient(uri)
    run = client.get_run(json.loads((tmp_path / NAMES).read_text())["mlflow"])
    assert run.info.status == "FINISHED"
    assert run.data.params["run.iterations"] == "6"
    expected = scalars_of_log(tmp_path)
    found = {}
    for name in expected:
        history = client.get_metric_history(run.info.run_id, name)
        found[name] = sorted({item.step: item.value for item in history}.items())  # the last of each step
    same(found, expected)


def test_an_unusable_mlflow_uri_is_named(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    config = replace(walk_config(iterations=1), track=Track(tensorboard=False, mlflow="nothing://x"))
    with pytest.raises(InputError, match=r"track\.mlflow: nothing://x: "):
        train(config, tmp_path, Walk)


def test_wandb_is_given_what_the_log_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    given: list[tuple[int, dict[str, Any]]] = []
    monkeypatch.setattr(
        wandb.Run, "log", lambda self, row, step, **_: given.append((step, row)), raising=True
    )
    config = replace(
        walk_config(iterations=3, validate_every=2), track=Track(tensorboard=False, wandb="burnish")
    )
    train(config, tmp_path, Walk)
    assert [row for _, row in given] == read_log(tmp_path / LOG)
    assert [step for step, _ in given] == [0, 10, 20, 30]
    run = json.loads((tmp_path / NAMES).read_text())["wandb"]
    assert list((tmp_path / "wandb").glob(f"offline-run-*-{run}/run-{run}.wandb"))


@pytest.mark.parametrize(
    ("package", "track", "command"),
    [
        (
            "torch.utils.tensorboard",
            Track(),
            "pip install '.[train]' in a clone of burnish, or set track.tensorboard = false",
        ),
        ("mlflow.entities", Track(tensorboard=False, mlflow="x"), "pip install '.[mlflow]'"),
        ("wandb", Track(tensorboard=False, wandb="x"), "pip install '.[wandb]'"),
    ],
)
def test_a_missing_package_is_named(
    package: str, track: Track, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingTool) as error:
        train(replace(walk_config(iterations=1), track=track), tmp_path, Walk)
    assert command in str(error.value)


def test_the_log_is_json_whatever_is_measured(tmp_path: Path) -> None:
    lines = JsonLines(tmp_path / LOG)
    lines.log({"iteration": 1, "return": float("nan"), "loss": float("inf"), "length": 2.0})
    lines.close()
    assert read_log(tmp_path / LOG) == [{"iteration": 1, "return": None, "loss": None, "length": 2.0}]


def test_a_broken_line_within_a_log_is_named(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text('{"iteration": 1}\n{"itera\n{"iteration": 3}\n')
    with pytest.raises(InputError, match=r"log\.jsonl, line 2: not a line of a training log"):
        read_log(tmp_path / LOG)
    with pytest.raises(InputError, match=r"nothing\.jsonl: expected an existing log\.jsonl"):
        read_log(tmp_path / "nothing.jsonl")


def test_log_of_a_killed_run_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({"steps": 1}) + '\n{"ste')
    assert read_log(path) == [{"steps": 1}]
    path.write_text("{}\n[]\n")
    with pytest.raises(InputError, match=r"log.jsonl, line 2: not a line of a training log"):
        read_log(path)
    path.write_text("{\n")
    with pytest.raises(InputError, match=r"line 1: not a line of a training log"):
        read_log(path)
    with pytest.raises(InputError, match="nowhere"):
        read_log(tmp_path / "nowhere")


@pytest.mark.usefixtures("curves")
def test_curves_are_drawn(tmp_path: Path) -> None:
    train(walk_config(iterations=3, validate_every=1), tmp_path, Walk)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    rows = read_log(tmp_path / LOG)
    assert shown(rows) == ["validation/ratio", "return", "steps_per_second"]
    assert curve(rows, "return")[0] == [10, 20, 30]


@pytest.mark.usefixtures("curves")
def test_no_curves_are_drawn_if_so_configured(tmp_path: Path) -> None:
    train(replace(walk_config(iterations=1), track=Track(curves=False, tensorboard=False)), tmp_path, Walk)
    assert not (tmp_path / "curves.png").exists()


def test_an_empty_log_is_an_empty_picture(tmp_path: Path) -> None:
    (tmp_path / LOG).write_text("")
    plot_log(tmp_path / LOG, tmp_path / "curves.svg")
    assert (tmp_path / "curves.svg").exists()


def test_leaves_of_tables_have_names_with_dots() -> None:
    assert flat({"a": {"b": 1, "c": {"d": [2]}}, "e": "x"}) == [("a.b", "1"), ("a.c.d", "[2]"), ("e", "x")]


def test_tensorboard_can_be_closed_without_a_row(tmp_path: Path) -> None:
    TensorBoard(tmp_path, walk_config(iterations=1), 0).close()
    assert tensorboard(tmp_path) == {}
