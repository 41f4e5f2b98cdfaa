"""Training on whole compiles: cloning, PPO and evolution; a run goes on where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.learning.training.config import config_of, read_config
from burnish.learning.training.loop import train
from burnish.learning.training.validation import SCORE
from burnish.tasks.llvm_codegen.policy.scorer import load_scorer
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program
from burnish.tasks.llvm_codegen.train.eviction_training import KINDS, EvictionTraining
from tests.sources import program

pytestmark = pytest.mark.usefixtures("without_curves")


def table(kind: str, **more: Any) -> dict[str, Any]:
    algorithm = {
        "name": kind,
        "fewest_decisions": 1,
        "cloning": {"epochs": 3, "batch": 16},
        "ppo": {"modules": 1, "samples": 2},
        "evolution": {"modules": 1, "pairs": 2, "sigma": 0.2},
    }
    return {
        "task": "llvm_codegen",
        "objective": "spill-cost",
        "algorithm": algorithm,
        "programs": [{"use": "kernels:sha256"}, {"use": "kernels:matmul"}],
        "validation": [{"use": "kernels:fft"}],
        "options": {"pipeline": "O2"},
        "environment": {"count": 1},
        "network": {"hidden": [8]},
        "run": {"iterations": 5, "validate_every": 5},
        "track": {"tensorboard": False},
        **more,
    }


def opened(kind: str, folder: Path, **more: Any) -> EvictionTraining:
    return EvictionTraining(config_of(table(kind, **more), "mine.toml"), folder, lambda text: None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_comes_out_that_compiles(kind: str, tmp_path: Path) -> None:
    outcome = train(config_of(table(kind), "mine.toml"), tmp_path, EvictionTraining)
    assert outcome.best
    assert outcome.policy
    assert outcome.best.metrics["validation/modules"] == 1
    session = open_program(program("hash_table.c"), CodegenOptions(pipeline="O2"))
    assert session.generate(load_scorer(outcome.policy).native).code


def test_a_run_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole, first, second = (opened("eviction-ppo", tmp_path) for _ in range(3))
    try:
        rows = [dict(whole.iterate()) for _ in range(5)]
        for _ in range(4):
            first.iterate()
        second.load_state_dict(first.state_dict())
        assert dict(second.iterate()) == rows[-1]
        assert second.validate() == whole.validate()
        assert whole.compiles == second.compiles == 2 * 2
    finally:
        for one in (whole, first, second):
            one.close()


def test_the_score_is_llvms_cost_over_the_policys(tmp_path: Path) -> None:
    training = opened("eviction-cloning", tmp_path)
    try:
        found = training.validate()
        training.export(training.policy_state(), tmp_path)
    finally:
        training.close()
    held = training.held[0]
    session = open_program(training.validation[0], training.options)
    costs = session.generate(load_scorer(tmp_path / "policy.npz").native).spill_costs
    policy = sum(costs[name] for name in held.llvms.costs)
    llvm = sum(session.stock().spill_costs[name] for name in held.llvms.costs)
    assert found[SCORE] == pytest.approx(llvm / policy, rel=1e-6)
    assert np.isclose(found["validation/total"], found[SCORE])


def test_improvement_begins_at_once_with_the_policy_of_a_start(tmp_path: Path) -> None:
    cloned = train(config_of(table("eviction-cloning"), "mine.toml"), tmp_path / "cloned", EvictionTraining)
    assert cloned.best
    after = opened("eviction-ppo", tmp_path, start_from=str(tmp_path / "cloned"))
    try:
        assert after.validate()[SCORE] == pytest.approx(cloned.best.metrics[SCORE])
        assert "loss/clone" not in after.iterate()
        assert after.compiles == 2
    finally:
        after.close()


def test_what_cannot_be_trained_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected llvm_codegen"):
        opened("eviction-ppo", tmp_path, task="llvm_passes", objective="text-bytes", options={})
    with pytest.raises(InputError, match="expected spill-cost"):
        opened("eviction-ppo", tmp_path, objective="text-bytes")
    with pytest.raises(InputError, match="slots are scored by a perceptron"):
        opened("eviction-ppo", tmp_path, network={"kind": "sequence"})


@pytest.mark.parametrize("kind", KINDS)
def test_shipped_configurations_fit(kind: str) -> None:
    config = read_config(f"regalloc-{kind}")
    assert config.algorithm["name"] == kind
    assert config.options["pipeline"] == "O2"
