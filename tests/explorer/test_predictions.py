"""A policy's predictions are those that it gives a search."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.core.registry import load_task
from burnish.core.trace import Trace
from burnish.explorer.exploration import Exploration
from burnish.explorer.predictions import Predictions, Predictor, predict
from burnish.policies.find import find_guide
from burnish.tasks.loop_nests.drawing import draw
from burnish.tasks.loop_nests.features import Featurizer, features_of_tree
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.sketches import trace_of
from burnish.tasks.mlir_schedules.drawing import draw as draw_of_op
from burnish.tasks.mlir_schedules.features import features, features_of_trace
from burnish.tasks.mlir_schedules.session import open_program
from burnish.tasks.mlir_schedules.sketches import opened
from burnish.tasks.mlir_schedules.sketches import trace_of as trace_of_ops
from burnish.workers.worker import Limits
from tests.explorer.test_exploration import PROGRAMS
from tests.tasks.mlir_schedules.small import small


def predicted(task_name: str, trace: Trace = (), policy: str = "shipped") -> Predictions:
    task, program = load_task(task_name), PROGRAMS[task_name]()
    with (
        Exploration(task, program) as exploration,
        closing(Predictor(task, program, policy, task.objective().name, Limits())) as predictor,
    ):
        legal = [one.entry for one in exploration.legal(exploration.state(trace))]
        found = predictor(trace, legal)
        assert predictor(trace, legal) == found
        assert found.probabilities.keys() | found.ratios.keys() <= set(legal)
        return found


def test_prior_follows_the_last_action_on_the_program() -> None:
    task = load_task("llvm_passes")
    found = find_guide("shipped", task, "ir-instructions")
    assert found
    with closing(task.open(PROGRAMS["llvm_passes"]())) as session:
        prior = found[0](session).prior
        assert prior
        rows = [prior.among(session.actions).after(before) for before in ("", "mem2reg")]
    for row, trace in zip(rows, ((), ("mem2reg", "transpose: gvn")), strict=True):
        chances = predicted("llvm_passes", trace)
        assert chances.policy == "llvm_passes-ir-instructions"
        assert sum(chances.probabilities.values()) == pytest.approx(1)
        assert list(chances.probabilities.values()) == pytest.approx(list(row))
        assert not chances.ratios


def test_policy_of_states_answers_the_question() -> None:
    found = predicted("llvm_inlining").probabilities
    assert len(found) == 2
    assert sum(found.values()) == pytest.approx(1)


def test_cost_model_predicts_each_schedule() -> None:
    found = predicted("loop_nests")
    assert not found.probabilities
    assert found.ratios["down"] == 1  # moves the cursor only
    assert len(set(found.ratios.values())) > 5
    vectors = predicted("loop_nests", ("k: swap_up",))
    assert min(vectors.ratios.values()) < 0.8


def test_cost_model_predicts_each_schedule_of_an_op() -> None:
    found = predicted("mlir_schedules")
    assert not found.probabilities
    assert found.ratios["next"] == 1  # moves the cursor only
    assert found.ratios["matmul#1: tile(1, 8)"] == 1  # too large for vectors yet
    tiled = predicted("mlir_schedules", ("matmul#1: tile(1, 8)", "matmul#1: tile(0, 4)"))
    assert tiled.ratios["matmul#1: vectorize"] == 1
    assert tiled.ratios["matmul#1: tile(1, 1)"] > 1.5


def test_actions_that_no_sketch_has_are_not_predicted() -> None:
    program = small("layer")
    trace = ("generic#3: tile(0, 4)", "generic#2: fuse(1)")
    with pytest.raises(InputError, match=r"generic#2: no sketch has fuse\(1\); expected one of tile, "):
        predict(load_task("mlir_schedules"), program, "shipped", "seconds", trace, ())


@pytest.mark.parametrize("name", ["matmul", "product", "conv", "strided", "pool", "columns", "mlp"])
def test_features_of_a_trace_are_those_of_the_sketches_that_make_it(name: str) -> None:
    _, ops = opened(open_program(small(name)))
    rng = np.random.default_rng(0)
    for _ in range(20):
        sketches = {site: sketch for site, op in ops.items() if (sketch := draw_of_op(op, 8, rng))}
        rows = features_of_trace(ops, trace_of_ops(ops, sketches), 8)
        np.testing.assert_allclose(rows, features(ops, sketches, 8), rtol=1e-5)


def test_without_a_policy_nothing_is_predicted() -> None:
    assert predicted("llvm_codegen") == Predictions()
    assert predicted("llvm_passes", policy="none") == Predictions()


def test_unknown_policy_is_an_error() -> None:
    task = load_task("llvm_passes")
    with pytest.raises(UnknownName, match="no policy named 'ships'"):
        Predictor(task, PROGRAMS["llvm_passes"](), "ships", "ir-instructions", Limits())


@pytest.mark.parametrize("seed", range(6))
def test_features_of_a_tree_are_those_of_the_sketch_that_makes_it(seed: int) -> None:
    nest = parse("f32 m=20 n=24 k=9\nt[m,n] += a[m,k] * b[k,n]\nc[m,n] = max(t[m,n], 0)")
    rng = np.random.default_rng(seed)
    sketches = (draw(nest, 32, rng) for _ in range(200))
    sketch, made = next((sketch, made) for sketch in sketches if (made := trace_of(nest, sketch)))
    rows = features_of_tree(made[1], 32)
    np.testing.assert_allclose(rows, Featurizer(nest, 32).of_sketch(sketch), rtol=1e-5)
