"""What the heuristic sees, as environments show it; and a vocabulary of it, from training to native code."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.envs.env import Env
from burnish.learning.agents.export import to_arrays
from burnish.learning.agents.policy import FlatHead
from burnish.learning.networks.mlp import MLP
from burnish.learning.training.algorithms import open_training
from burnish.learning.training.config import Source, read_config
from burnish.learning.training.learning import PolicyTraining
from burnish.policies.native import native_network
from burnish.search.problem import Problem
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.observations import FEATURES, INLINED, ROW
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, Trying, decide
from burnish.tasks.llvm_inlining.policy.default_traces import best_decided, default_observations
from burnish.tasks.llvm_inlining.policy.vocabulary import write_vocabulary
from tests.sources import program

BOTH = ("inlining-features", "heuristic")
FILE = Path(__file__).parents[3] / "data" / "classes.cpp"


@pytest.fixture(scope="module")
def table() -> Decisions:
    return decide(Problem(TASK, program("classes.cpp")), trying=Trying(most=0))


def seen_in_play(source: Program, observation: tuple[str, ...] = BOTH) -> list[dict[str, Any]]:
    """Return what an environment shows where it is told what the heuristic says."""
    env = Env(TASK, [source], observation=observation, objective="loaded-bytes")
    observed, info = env.reset(seed=0)
    seen = []
    while info["mask"].any():
        seen.append(observed)
        observed, _, _, _, info = env.step(int(observed["heuristic"][1]))
    env.close()
    return seen


def test_they_are_what_an_environment_shows_where_the_heuristic_answers() -> None:
    sources = [program("classes.cpp"), program("hash_table.c")]
    expected = [row for source in sources for row in seen_in_play(source)]
    found = default_observations(TASK, sources, BOTH, most=1000)
    assert len(found) == len(expected) > 30
    for one, other in zip(found, expected, strict=True):
        assert {name: one[name].tolist() for name in BOTH} == {name: other[name].tolist() for name in BOTH}
    features = default_observations(TASK, sources, "inlining-features", most=20)
    assert [row.tolist() for row in features] == [row["inlining-features"].tolist() for row in expected[:20]]


def test_vectors_are_what_an_environment_shows_too() -> None:
    source, names = program("hash_table.c"), (*BOTH, "callee-ir2vec")
    expected = seen_in_play(source, names)
    found = default_observations(TASK, [source], names, most=1000)
    assert len(found) == len(expected) > 4
    for one, other in zip(found, expected, strict=True):
        assert {name: one[name].tolist() for name in names} == {name: other[name].tolist() for name in names}
        assert one["callee-ir2vec"].any()


def test_tables_have_them_too(table: Decisions, tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    answered = replace(table, trace=("a > b #1: inline",))
    path.write_text(f"{answered.to_json()}\n{table.to_json()}\n")
    found = default_observations(TASK, path, "inlining-features", most=1000)
    assert np.array(found).tolist() == table.rows[:, : len(FEATURES)].tolist()
    with pytest.raises(InputError, match="'graph' is observed, which tables of decisions do not have"):
        default_observations(TASK, path, ("inlining-features", "graph"), most=9)
    path.write_text("")
    with pytest.raises(InputError, match="no module in which LLVM asks"):
        default_observations(TASK, path, BOTH, most=9)


def open_ppo(folder: Path, *changes: str) -> PolicyTraining:
    changes = ("track.tensorboard=false", "environment.count=1", *changes)
    config = replace(read_config("inlining-mlgo", changes), programs=(Source(str(FILE)),))
    config = replace(config, validation=(Source(str(FILE.with_name("hash_table.c"))),))
    training = open_training(config, folder, lambda _: None)
    assert isinstance(training, PolicyTraining)
    return training


def test_mlgo_s_configuration_has_a_vocabulary_of_default_traces(table: Decisions, tmp_path: Path) -> None:
    """A thousand quantiles of each feature, whose mean and deviation standardize it as well."""
    training = open_ppo(tmp_path, "environment.observation=inlining-features")
    torch.manual_seed(0)
    try:
        policy = training.policy()
    finally:
        training.close()
    encoder = policy.encoder
    assert isinstance(encoder, MLP)
    rows = table.rows[:, : len(FEATURES)]
    quantiles = np.quantile(rows, np.linspace(0, 1, 1000), axis=0).T
    np.testing.assert_allclose(encoder.boundaries.numpy(), quantiles, rtol=1e-6)
    np.testing.assert_allclose(encoder.mean.numpy(), quantiles.mean(axis=1), rtol=1e-5)
    deviation = quantiles.std(axis=1)
    np.testing.assert_allclose(encoder.deviation.numpy(), np.where(deviation, deviation, 1), rtol=1e-5)
    masks = np.ones((len(rows), 2), dtype=bool)
    head = policy.head
    assert isinstance(head, FlatHead)
    with torch.no_grad():  # half of them are inlined
        log_probs = policy.log_probs(policy.collate(list(rows)), torch.from_numpy(masks))
        head.logits.bias[1] -= (log_probs[:, 1] - log_probs[:, 0]).median() + 1e-4
    chosen = policy.act(list(rows), masks).tolist()
    exported = to_arrays(policy)
    assert exported.log_probs(list(rows), masks).argmax(axis=1).tolist() == chosen
    assert native_network(exported).choose(np.ascontiguousarray(rows)).tolist() == chosen
    assert 0 < sum(chosen) < len(chosen)


def test_quantiles_come_from_the_files_of_a_vocabulary(table: Decisions, tmp_path: Path) -> None:
    """The network has the same boundaries from the files as from the decisions that they were made of."""
    write_vocabulary(tmp_path / "vocab", table.rows, 1000)
    training = open_ppo(tmp_path / "run", f"run.standardize_on={tmp_path / 'vocab'}", "network.kind=mlp")
    try:
        encoder = training.policy().encoder
    finally:
        training.close()
    assert isinstance(encoder, MLP)
    quantiles = np.quantile(table.rows[:, : len(FEATURES)], np.linspace(0, 1, 1000), axis=0).T
    np.testing.assert_allclose(encoder.boundaries.numpy(), quantiles, rtol=1e-6)


def tried(program_name: str, *changes: float, cost: float = 100.0) -> Decisions:
    """Return decisions of which the heuristic inlined every second one."""
    sites = tuple(f"main > f #{number}" for number in range(len(changes)))
    rows = np.zeros((len(changes), len(ROW)), dtype=np.int64)
    rows[1::2, INLINED] = 1
    return Decisions(program_name, program_name, "loaded-bytes", cost, (), sites, rows, np.array(changes))


def test_the_best_answers_of_a_file_are_those_that_were_measured(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    answered = replace(tried("c", 5, -1), trace=("main > f #1: leave",), cost=90.0)
    rows = tried("a", 3, -2, math.nan), tried("b", 0, math.nan), tried("c", -4, 1), answered
    path.write_text("".join(f"{one.to_json()}\n" for one in rows))
    found = best_decided(path)
    assert found is not None
    assert [(one.program, one.cost, one.reference, one.trace) for one in found] == [
        ("a", 98, 100, ("main > f #1: leave",)),
        ("b", 100, 100, ()),
        ("c", 89, 90, ()),  # without its answer: the heuristic's
    ]
    path.write_text('{"program": "a", "trace": []}\n')
    assert best_decided(path) is None


def test_what_cannot_be_standardized_on_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl: expected 'random', 'default', or a file or a folder"):
        open_ppo(tmp_path, "run.standardize_on=none.jsonl")
    with pytest.raises(
        InputError, match="expected 'random', because there are no default decisions in llvm_passes"
    ):
        open_ppo(
            tmp_path, "run.standardize_on=default", "task=llvm_passes", "environment.observation=autophase"
        )
