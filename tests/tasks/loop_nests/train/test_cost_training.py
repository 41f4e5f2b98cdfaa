"""Cost models learn from what was measured, and what was measured is not measured again."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.learning.training.config import config_of, read_config
from burnish.learning.training.validation import NOTHING_YET, SCORE
from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.features import COLUMNS
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy import tournament
from burnish.tasks.loop_nests.policy.proposals import KIND, load_for
from burnish.tasks.loop_nests.train.cost_training import schedule_comparison, schedule_costs
from burnish.tasks.loop_nests.train.measuring import Measurement, measure
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.train import cost_training
from burnish.tasks.tensors.train.comparison_fitting import fit_comparison
from burnish.tasks.tensors.train.fitting import LearningConfig, MeasuredProgram, fit, pair_accuracy, regret
from burnish.tasks.tensors.train.measuring import line_of, read_rows

MODEL: Any = {"task": TASK.id, "objective": "seconds", "vector_bytes": 32, "known": COLUMNS, "kind": KIND}
COMPARED: Any = {**MODEL, "kind": tournament.KIND}
NESTS = ("f32 m=24 n=16\no[m,n] = x[m] * y[n]\n", "f32 m=16 n=40\no[m,n] = x[m] * y[n]\n")
TABLE: dict[str, Any] = {
    "task": "loop_nests",
    "objective": "seconds",
    "algorithm": {"name": "schedule-costs", "schedules": 8, "narrow": 1.0, "fit": {"epochs": 2}},
    "programs": [{"use": "matmul-at:32x32x48"}, {"use": "outer:128x128", "variant": "other-extents"}],
    "validation": [{"use": "stencil5:128x128"}],
    "run": {"iterations": 100, "standardize_steps": 0},
}


def nests(count: int, rng: np.random.Generator) -> list[MeasuredProgram]:
    """Return made-up nests, of whose schedules' features one says what an operation takes."""
    made = []
    for _ in range(count):
        rows = rng.uniform(-1, 1, (20, 1, len(COLUMNS))).astype(np.float32)
        work = rng.uniform(10, 25)
        rows[:, :, COLUMNS.index("iterations")] = work
        rows[:, :, COLUMNS.index("operations of one")] = 1
        rows[:, :, COLUMNS.index("detour through memory")] = 0  # times grow with it, as with the two above
        seconds = 2.0 ** (work + 1 - 30 + 2 * rows[:, 0, COLUMNS.index("registers")])
        made.append(MeasuredProgram(tuple(rows), seconds.astype(np.float64)))
    return made


def test_order_and_times_are_learned() -> None:
    rng = np.random.default_rng(0)
    train, test = nests(40, rng), nests(40, rng)  # of ten, one bad choice decides
    config = LearningConfig(width=32, models=1, epochs=40, nests_of_batch=4)
    model = fit(train, config, 0, **MODEL)
    assert pair_accuracy(model, test) > 0.9
    assert np.exp(np.log(regret(model, test)).mean()) > 0.85
    errors = [model.log2_seconds(nest.features) - np.log2(nest.seconds) for nest in test]
    assert np.abs(np.concatenate(errors)).mean() < 0.5


def test_which_of_two_is_faster_is_learned() -> None:
    rng = np.random.default_rng(0)
    train, test = nests(40, rng), nests(20, rng)
    model = fit_comparison(
        train, LearningConfig(width=32, models=1, epochs=20, nests_of_batch=4), 0, **COMPARED
    )
    assert pair_accuracy(model, test) > 0.8
    assert np.exp(np.log(regret(model, test)).mean()) > 0.75
    config = LearningConfig(width=4, models=2, epochs=1)
    one, other = (fit_comparison(train, config, 3, **COMPARED).margins(test[0].features) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_a_comparison_model_is_trained_from_what_was_measured(tmp_path: Path) -> None:
    rows = [row for text in NESTS for row in measure(text, host().vector_bytes, 6, seed=0)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{line_of(row)}\n" for row in rows))
    algorithm = {
        "name": "schedule-comparison",
        "measured": [str(tmp_path / "rows.jsonl")],
        "fit": {"epochs": 2},
    }
    table = {
        **TABLE,
        "algorithm": algorithm,
        "programs": [{"use": NESTS[0]}],
        "validation": [{"use": NESTS[1]}],
    }
    training = schedule_comparison(config_of(table, "tiny"), tmp_path, lambda text: None)
    while not training.iterate().get("finished"):
        pass
    assert 0 <= training.validate()["validation/pairs"] <= 1
    path, card = training.export(training.policy_state(), tmp_path)
    assert card["kind"] == tournament.KIND
    policy = tournament.load_for(path, TASK)
    assert next(policy(TASK.open(parse(NESTS[0]).program("nest"))).initial_traces)
    shipped = read_config("schedule-comparison")
    assert shipped.algorithm["name"] == "schedule-comparison"


def test_same_seed_gives_the_same_model() -> None:
    train = nests(6, np.random.default_rng(0))
    models = [fit(train, LearningConfig(epochs=2), 3, **MODEL) for _ in range(2)]
    for (one, first), (other, second) in zip(models[0].layers, models[1].layers, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(first, second)


def test_chosen_and_best_are_compared() -> None:
    """Three schedules of 1, 2 and 4 seconds, of which the model takes the second to be the fastest."""
    nest = nests(1, np.random.default_rng(0))[0]
    three = MeasuredProgram(nest.features[:3], np.array([1.0, 2.0, 4.0]))

    class Wrong:
        def margins(self, rows: Any) -> Any:
            predicted = np.array([2.0, 1.0, 3.0], dtype=np.float32)
            return predicted[None, :] - predicted[:, None]

    wrong: Any = Wrong()
    assert regret(wrong, [three]).tolist() == [0.5]
    assert pair_accuracy(wrong, [three]) == pytest.approx(2 / 3)


def test_training_measures_once_and_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of(TABLE, "tiny")
    training = schedule_costs(config, tmp_path, lambda text: None)
    assert training.validate()[SCORE] == NOTHING_YET
    while not training.iterate().get("finished"):
        pass
    metrics = training.validate()
    assert 0 < metrics[SCORE] <= 1
    assert 0 <= metrics["validation/pairs"] <= 1
    path, card = training.export(training.policy_state(), tmp_path)
    assert card["kind"] == "schedule-costs"
    assert load_for(path, TASK).objective == "seconds"
    kinds = 2 if host().vector_bytes > 32 else 1
    measured = read_rows(tmp_path / "measured.jsonl", Measurement)
    assert len(measured) == 2 * kinds * 8
    assert {one.vector_bytes for one in measured} == {32, host().vector_bytes}
    assert "m=128 n=128" not in measured[-1].nest  # the variant's extents

    def fail(*arguments: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(cost_training, "measured_on", fail)
    files = []
    for name in ("measured", "validation"):
        files.append(tmp_path / f"{name}.jsonl.xz")
        files[-1].write_bytes(lzma.compress((tmp_path / f"{name}.jsonl").read_bytes()))
    elsewhere = {**TABLE, "algorithm": {**TABLE["algorithm"], "measured": list(map(str, files))}}
    for folder, table in ((tmp_path, TABLE), (tmp_path / "new", elsewhere)):
        folder.mkdir(exist_ok=True)
        again = schedule_costs(config_of(table, "tiny"), folder, lambda text: None)
        while not again.iterate().get("finished"):
            pass
        assert again.validate() == metrics


def test_what_guides_and_what_was_measured_are_there(tmp_path: Path) -> None:
    (tmp_path / "none.npz").write_bytes(b"none")
    wrong = {
        "guide": ("nobody", "no policy named 'nobody'"),
        "measured": (["nowhere.jsonl"], "algorithm.measured: nowhere.jsonl: there is no such file"),
    }
    for key, (value, message) in wrong.items():
        table = {**TABLE, "algorithm": {**TABLE["algorithm"], key: value}}
        with pytest.raises((InputError, UnknownName), match=message):
            schedule_costs(config_of(table, "tiny"), tmp_path, lambda text: None)


def test_other_tasks_have_no_schedules() -> None:
    table = TABLE | {"task": "llvm_passes", "objective": "ir-instructions"}
    with pytest.raises(InputError, match="expected a task of programs in 'nest'"):
        schedule_costs(config_of(table, "tiny"), Path(), lambda text: None)
