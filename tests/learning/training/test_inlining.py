"""What the configurations for inlining train: seconds of it, on two small files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.core.registry import load_task
from burnish.core.trace import split_entry
from burnish.envs.env import Env
from burnish.envs.env_spaces import ActionSpace
from burnish.learning.agents.demonstrations import demonstrate
from burnish.learning.agents.learner import seeded_torch
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.build_encoder import build_encoder
from burnish.learning.networks.mlp import MLPConfig
from burnish.learning.training.algorithms import LEARNERS, open_training, settings_of, trainings_of
from burnish.learning.training.chosen_programs import choose
from burnish.learning.training.config import Config, Expert, Source, read_config, shipped
from burnish.learning.training.expert import ExpertSetup, check_expert, completed, read_demonstrations
from burnish.learning.training.loop import TrainingOutcome, train
from burnish.learning.training.track import read_log
from burnish.learning.training.validation import with_choices
from burnish.policies.answer import answers_of
from burnish.policies.find import shipped as shipped_policies
from burnish.policies.load import load_action_policy
from burnish.tasks.llvm_inlining.observations import INLINED, WOULD
from burnish.tasks.llvm_inlining.policy.decisions import (
    Decisions,
    Observed,
    Rows,
    Trying,
    decide,
    observations_of,
    rows_of,
)
from burnish.tasks.llvm_inlining.train.answer_fitting import (
    Fitting,
    FittingConfig,
    begin,
    difference,
    fit_member,
    judged,
    undecided,
)
from burnish.tasks.llvm_inlining.train.credit_training import AnswerValuesTraining
from burnish.tasks.llvm_inlining.train.votes import SURE, layers_of, vote, voting_widths
from burnish.workers.worker import Limits
from tests.core.asking_task import TASK as ASKING
from tests.core.asking_task import calls
from tests.sources import program
from tests.tasks.llvm_inlining.policy.test_decisions import PROBLEM

DATA = Path(__file__).parents[2] / "data"
TASK = load_task("llvm_inlining")
NAMES = [name for name in shipped() if name.startswith("inlining-")]
AFTER_CREDIT = ("ppo", "bc-max", "evolution", "dqn")
RECIPES = (("leveldb", "libsass", "pybullet", "igraph", "jq", "pycryptodome"), ("box2d", "pymunk"))
"""The packages to learn from and to validate on: all in the train split, but for pymunk in val."""
CREDIT = (("train",), ("box2d", "pymunk", "val"))
SHIPPED = "llvm_inlining-loaded-bytes"
SMALL = ["run.standardize_steps=12", "run.validate_every=1", "track.tensorboard=false", "environment.count=1"]


def small(name: str, *changes: str) -> Config:
    """Return a configuration that trains for seconds."""
    files = [(Source(str(DATA / file)),) for file in ("classes.cpp", "hash_table.c")]
    return replace(read_config(name, [*SMALL, *changes]), programs=files[0], validation=files[1])


def trained(config: Config, folder: Path) -> TrainingOutcome:
    return train(config, folder, open_training)


def test_there_is_one_for_every_method() -> None:
    algorithms = {read_config(name).algorithm["name"] for name in NAMES}
    assert algorithms == {"ppo", "dqn", "evolution", "cloning", "bc-max", "answer-values"}
    assert algorithms <= {*trainings_of(TASK)}


@pytest.mark.parametrize("name", NAMES)
def test_all_that_a_configuration_names_is_there(name: str) -> None:
    config = read_config(name)
    if config.algorithm["name"] in LEARNERS:
        settings_of(config)
        ActionSpace(TASK, config.environment.actions, config.environment.sites)
        build_encoder(config.network, TASK, config.environment.observation)
        check_expert(config.expert, TASK, "loaded-bytes", name)
    assert (config.task, config.objective) == (TASK.name, "loaded-bytes")
    used = [{source.use for source in sources} for sources in (config.programs, config.validation)]
    if config.start_from or name == "inlining-credit":
        wanted = RECIPES if config.start_from else CREDIT
        assert used == [{f"corpus:{package}" for package in packages} for packages in wanted]
        assert config.start_from in ("", SHIPPED)
        assert config.network["hidden"] == [78, 64, 32]
        assert config.run.patience or name == "inlining-credit"
    else:
        assert used == [{"corpus:train"}, {"corpus:val"}]


def test_mlgo_s_hyper_parameters_are_those_that_it_published() -> None:
    config = read_config("inlining-mlgo")
    _, settings = settings_of(config)
    assert (settings.learning_rate, settings.clip, settings.entropy_coefficient) == (3e-5, 0.2, 0.003)
    assert (settings.discount, settings.gae_lambda, settings.moving_average) == (0.0, 0.0, 0.8)
    assert tuple(config.network["hidden"]) == (40, 40, 20)
    assert settings.early_end_seconds == 30


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param("inlining-mlgo", ["algorithm.steps=6", "run.iterations=1"], marks=pytest.mark.slow),
        pytest.param("inlining-bc-max", ["run.iterations=1"], marks=pytest.mark.slow),
        pytest.param(
            "inlining-heuristic",
            ["algorithm.validation_share=0", "run.iterations=1"],
            marks=pytest.mark.slow,
        ),
        ("inlining-credit", ["algorithm.answers=6", "algorithm.fit.epochs=4", "algorithm.fit.members=3"]),
    ],
)
def test_what_is_trained_answers_in_the_worker(name: str, changes: list[str], tmp_path: Path) -> None:
    outcome = trained(small(name, *changes), tmp_path)
    assert outcome.policy and outcome.best
    session = TASK.open(program("hash_table.c"))
    assert session.answer(answers_of(outcome.policy, TASK))
    assert not session.sites()
    ratio = outcome.best.metrics["validation/ratio"]
    reference = TASK.open(program("hash_table.c")).measure("loaded-bytes")
    assert ratio == pytest.approx(reference / session.measure("loaded-bytes"))


@pytest.mark.parametrize("name", AFTER_CREDIT)
def test_a_recipe_begins_with_the_policy_of_its_start(name: str, tmp_path: Path) -> None:
    changes = [f"start_from={SHIPPED}", "run.seconds=1e-9"]
    outcome = trained(small(f"inlining-{name}", *changes), tmp_path)
    session = TASK.open(program("hash_table.c"))
    reference = session.measure("loaded-bytes")
    session.answer(answers_of(shipped_policies()[SHIPPED], TASK))
    assert outcome.best and outcome.policy
    assert outcome.best.iteration == 0
    assert outcome.best.metrics["validation/ratio"] == pytest.approx(
        reference / session.measure("loaded-bytes")
    )


def test_a_second_pass_tries_the_answers_of_the_policy(tmp_path: Path) -> None:
    """The first pass is under the heuristic's answers; `start_from` is validated first."""
    changes = [
        f"start_from={SHIPPED}",
        "algorithm.answers=3",
        "algorithm.passes=2",
        "algorithm.fit.members=0",
        "network.hidden=[78, 64, 32]",
        "algorithm.rounds=1",
        "algorithm.fit.epochs=30",
    ]
    outcome = trained(small("inlining-credit", *changes), tmp_path)
    scores = [row.get("validation/ratio", 0.0) for row in read_log(tmp_path / "log.jsonl")]
    assert [score > 0 for score in scores] == [True, False, True, False, True]
    lines = (tmp_path / "decisions.jsonl").read_text().splitlines()
    first, second = [Decisions.from_json(line) for line in lines]
    assert first.trace == ()
    assert second.trace
    assert second.digest == first.digest
    assert second.cost != first.cost
    given = dict(map(split_entry, second.trace))
    for site, row in zip(second.sites, second.rows, strict=True):
        assert (site in given) == (row[WOULD] != row[INLINED])
    assert outcome.best
    assert outcome.best.metrics["validation/ratio"] == max(scores)
    with pytest.raises(InputError, match=r"start_from: members of a vote begin anew; .*fit\.members=0"):
        trained(small("inlining-credit", f"start_from={SHIPPED}"), tmp_path / "vote")


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(["algorithm.fit.members=0", "algorithm.rounds=2"], marks=pytest.mark.slow),
        ["algorithm.fit.members=2"],
    ],
)
def test_the_credit_of_answers_goes_on_after_an_interruption(tmp_path: Path, changes: list[str]) -> None:
    changes = ["algorithm.answers=4", "algorithm.fit.epochs=4", *changes]
    trained(small("inlining-credit", *changes, "run.iterations=2"), tmp_path)
    lines = (tmp_path / "decisions.jsonl").read_text()
    trained(small("inlining-credit", *changes), tmp_path)
    assert (tmp_path / "decisions.jsonl").read_text() == lines
    whole = trained(small("inlining-credit", *changes), tmp_path / "whole")
    assert whole.best and whole.policy
    files = (np.load(path) for path in (whole.policy, tmp_path / "policy.npz"))
    first, second = ({name: file[name] for name in file.files if "weight" in name} for file in files)
    assert len(first) > 2
    assert all(second[name] == pytest.approx(weights, abs=1e-6) for name, weights in first.items())
    if "algorithm.fit.members=2" in changes:
        with pytest.raises(InputError, match=r"another network: .*network\.hidden = \[78, 129, 65, 5, 3\]"):
            trained(small("inlining-ppo", f"start_from={tmp_path}"), tmp_path / "ppo")


def test_the_worth_of_inlining_is_what_leaving_costs_more() -> None:
    table = decide(PROBLEM)
    data = judged([table], margin=0.5)
    inlined = table.rows[:, -1] == 1
    sign = np.where(inlined, 1, -1)
    expected = sign * np.sign(table.changes) * np.log1p(abs(table.changes)) + 0.5 * sign
    assert data.gains == pytest.approx(expected)
    with pytest.raises(InputError, match="no answer was tried"):
        judged([], FittingConfig().margin)


def test_the_credit_of_answers_begins_with_those_of_the_heuristic() -> None:
    """The threshold is in the first layer, so a short fit to the heuristic's answers has all of them."""
    rows = decide(PROBLEM).rows
    policies = []
    for _ in range(2):
        encoder = build_encoder({"hidden": [78, 64, 32]}, TASK, "inlining-features")
        policies.append(Policy(encoder, TASK.actions, critic="none"))
        begin(policies[-1], rows, seed=1)
    first, second = (policy.state_dict() for policy in policies)
    assert all(torch.equal(first[name], second[name]) for name in first)
    fitting = Fitting(policies[0], undecided(rows, 1.0), FittingConfig(), seed=0)
    assert fitting.fit(40)["agreement"] == 1.0


VECTORS = ("inlining-features", "callee-ir2vec", "caller-ir2vec")


@pytest.mark.parametrize("hidden", [[78, 64, 32], [96, 64, 32]])
def test_vectors_begin_without_a_say(hidden: list[int]) -> None:
    """The start of a policy that observes vectors has the logits of the one on the features alone."""
    session = TASK.open(PROBLEM.program)
    wide = rows_of(session, VECTORS)
    policies = []
    for observation, units in (("inlining-features", [78, 64, 32]), (VECTORS, hidden)):
        encoder = build_encoder({"hidden": units}, TASK, observation)
        policies.append(Policy(encoder, TASK.actions, critic="none"))
        begin(policies[-1], wide, observation, seed=1)
    gains = undecided(wide, 1.0)
    alone = Fitting(policies[0], gains, FittingConfig(), seed=0)
    seeing = Fitting(policies[1], gains, FittingConfig(), VECTORS, seed=0)
    with torch.no_grad():
        expected, found = (difference(one.policy, one._batch) for one in (alone, seeing))
    assert found.numpy() == pytest.approx(expected.numpy(), abs=1e-5)
    seeing.fit(1)
    assert policies[1].state_dict()["encoder.layers.0.weight"][:78, 38:].any()


def test_a_policy_learns_from_the_vectors_of_its_questions(tmp_path: Path) -> None:
    observed = f"environment.observation={json.dumps(VECTORS)}"
    changes = ["algorithm.answers=3", "algorithm.fit.epochs=2", "algorithm.fit.members=2", observed]
    changes.append("network.hidden=[80, 8]")
    outcome = trained(small("inlining-credit", *changes), tmp_path)
    assert outcome.policy and outcome.best
    card = load_action_policy(outcome.policy).card
    assert tuple(card["observation"]) == VECTORS
    session = TASK.open(program("hash_table.c"))
    reference = session.measure("loaded-bytes")
    assert session.answer(answers_of(outcome.policy, TASK))
    ratio = outcome.best.metrics["validation/ratio"]
    assert ratio == pytest.approx(reference / session.measure("loaded-bytes"))
    with pytest.raises(InputError, match=r"not a training program, so the vectors .* are unknown"):
        trained(
            small("inlining-credit", *changes, f"algorithm.tried={json.dumps([str(other_table(tmp_path))])}"),
            tmp_path / "other",
        )
    later = f"environment.observation={json.dumps(VECTORS[::-1])}"
    with pytest.raises(InputError, match="a vote needs 'inlining-features' first"):
        trained(small("inlining-credit", *changes, later), tmp_path / "later")
    with pytest.raises(InputError, match="'graph' is observed, which tables of decisions do not have"):
        trained(small("inlining-credit", 'environment.observation="graph"'), tmp_path / "graph")


def other_table(folder: Path) -> Path:
    """Return a file of the decisions of a program that is not trained on."""
    path = folder / "other.jsonl"
    path.write_text(f"{replace(decide(PROBLEM, trying=Trying(most=1)), digest='0' * 32).to_json()}\n")
    return path


def test_packages_that_validate_are_not_fitted_to(tmp_path: Path) -> None:
    """Other modules of the same package have much of the same code. A module of a user's folder has none."""
    training = AnswerValuesTraining(small("inlining-credit"), tmp_path, print)
    assert not training.packages
    training.packages = {"box2d"}
    table = decide(PROBLEM, trying=Trying(most=1))
    names = ("box2d/a.cpp", "leveldb/b.cpp", "box2d_of_mine/c.cpp", "d.cpp")
    training.before = [replace(table, program=name, digest=f"{i:032}") for i, name in enumerate(names)]
    assert [one.program for one in training._used()] == ["leveldb/b.cpp", "box2d_of_mine/c.cpp", "d.cpp"]
    training.used, training.before = None, training.before[:1]
    with pytest.raises(InputError, match="no answer was tried"):
        training._used()


def perceptron(hidden: Sequence[int], observation: Observed = "inlining-features", seed: int = 0) -> Policy:
    with seeded_torch(seed, 0):
        encoder = build_encoder({"hidden": hidden}, TASK, observation)
        return Policy(encoder, TASK.actions, critic="none")


def differences(policy: Policy, rows: Rows, observation: Observed = "inlining-features") -> NDArray[Any]:
    with torch.no_grad():
        found = difference(policy, policy.collate(observations_of(rows, observation)))
    return found.numpy().astype(np.float64)


@pytest.mark.parametrize("observation", ["inlining-features", VECTORS])
def test_a_vote_is_the_mean_of_what_its_members_say(observation: Observed) -> None:
    """Cut off at a full vote; what is not decided is as LLVM's heuristic has it."""
    rows = rows_of(TASK.open(PROBLEM.program), VECTORS)
    hidden = [78, 16, 8] if observation == "inlining-features" else [90, 16, 8]
    members = [perceptron(hidden, observation, seed) for seed in range(5)]
    for seed, member in enumerate(members):
        begin(member, rows, observation, seed=seed)
        for weights, _ in layers_of(member)[1:]:
            torch.nn.init.normal_(weights, std=0.3, generator=torch.Generator().manual_seed(seed))
        layers_of(member)[-1][1][1] -= float(np.median(differences(member, rows, observation)))
    seeing = observation != "inlining-features"
    widths = voting_widths(5, MLPConfig(tuple(hidden)), sees_vectors=seeing)
    assert widths == (78 + 5 * (hidden[0] - 78), 81, 41, 11, 3)
    policy = perceptron(widths, observation)
    said = np.array([differences(member, rows, observation) for member in members])
    votes = np.clip(said, -0.5, 0.5).mean(axis=0) / 0.5
    would = 2 * rows[:, WOULD] - 1
    for needed in (0.0, 0.2, 0.6, 1.0):
        vote(policy, members, full=0.5, needed=needed)
        excess = np.maximum(votes - needed, 0) - np.maximum(-votes - needed, 0)
        found = differences(policy, rows, observation)
        assert found == pytest.approx(SURE * excess + would, abs=2e-3)
    assert found == pytest.approx(would, abs=2e-3)
    assert (votes > 0.2).any() and (votes < -0.2).any() and (abs(votes) < 0.2).any()


def test_what_cannot_vote_is_refused() -> None:
    for hidden, why in (([77, 8], "the first of 78 units or more, which"), ([78], "two layers or more")):
        with pytest.raises(InputError, match=why):
            voting_widths(3, MLPConfig(hidden=tuple(hidden)))
    with pytest.raises(InputError, match="78 units or more, and more for the vectors"):
        voting_widths(3, MLPConfig(hidden=(78, 8)), sees_vectors=True)
    with pytest.raises(InputError, match="the scale 'log1p' and no layer_norm"):
        voting_widths(3, MLPConfig(hidden=(78, 8), layer_norm=True))
    with pytest.raises(InputError, match=r"needed: expected mean votes from 0 to 1, not \(1\.5,\)"):
        FittingConfig(needed=(1.5,))


def test_members_share_the_units_of_the_heuristic_and_nothing_else() -> None:
    other = replace(PROBLEM, program=program("hash_table.c"))
    tables = [decide(problem, trying=Trying(most=6)) for problem in (PROBLEM, other)]
    members = [perceptron([78, 8], seed=seed) for seed in (3, 3, 4)]
    config = FittingConfig(epochs=2)
    for seed, member in zip((3, 3, 4), members, strict=True):
        fit_member(member, tables, config, seed=seed)
    first, same, third = (member.state_dict() for member in members)
    assert all(torch.equal(first[name], same[name]) for name in first)
    alike = {name for name in first if torch.equal(first[name], third[name])}
    assert alike == {f"encoder.{name}" for name in ("mean", "deviation", "layers.0.weight", "layers.0.bias")}
    with pytest.raises(InputError, match="no answer was tried"):
        fit_member(members[0], [decide(PROBLEM, trying=Trying(most=0))], config, seed=5)


def test_demonstrations_have_the_compiler_s_own_answers_too() -> None:
    hot = program("classes.cpp")
    session = TASK.open(hot)
    entry = session.alternatives()[0]
    full = completed(TASK, hot, (entry,), Limits())
    session.replay([entry])
    whole = TASK.open(hot)
    whole.replay(full)
    assert entry in full
    assert not whole.sites()
    assert whole.digest() == session.digest()
    with pytest.raises(InputError, match="has no record of the compiler's own answer"):
        completed(ASKING, calls("main 4: f; f 2:"), (), Limits())


def test_decisions_are_demonstrations(tmp_path: Path) -> None:
    """The heuristic's answers, but for the one whose other answer was measured to be the best."""
    table = decide(PROBLEM)
    assert (table.changes < 0).any()
    path = tmp_path / "decisions.jsonl"
    path.write_text(f"{table.to_json()}\n")
    expert = Expert(demonstrations=str(path))
    setup = ExpertSetup(TASK, PROBLEM.goal.name, expert, seed=0, workers=1, limits=Limits())
    (found,) = read_demonstrations(setup, [PROBLEM.program])
    assert (found.cost, found.reference) == (table.cost + table.changes.min(), table.cost)
    env = Env(TASK, [PROBLEM.program], objective=PROBLEM.goal.name)
    try:
        steps = demonstrate(env, found)  # raises an error if the trace ends at another cost
    finally:
        env.close()
    given = dict(split_entry(text) for text in found.trace)
    heuristic = {site: TASK.actions[row[INLINED]] for site, row in zip(table.sites, table.rows, strict=True)}
    changed = [site for site in table.sites if site in given and given[site] != heuristic[site]]
    assert changed == [table.sites[int(table.changes.argmin())]]
    assert [TASK.actions[step.action] for step in steps] == list(given.values())
    with pytest.raises(InputError, match="has no training program for loaded-bytes"):
        read_demonstrations(replace(setup, objective="loaded-bytes"), [PROBLEM.program])


@pytest.mark.slow
def test_cloning_learns_from_a_file_of_decisions(tmp_path: Path) -> None:
    path = tmp_path / "decisions.jsonl"
    path.write_text(f"{decide(replace(PROBLEM, objective='loaded-bytes')).to_json()}\n")
    changes = ["algorithm.validation_share=0", "run.iterations=1", f"expert.demonstrations={path}"]
    assert trained(small("inlining-heuristic", *changes), tmp_path / "run").policy


def test_programs_in_which_nothing_is_asked_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "alone.c").write_text("int twice(int x) { return 2 * x; }\n")
    sources = (Source(str(tmp_path / "alone.c")), Source(str(DATA / "hash_table.c")))
    space = ActionSpace(TASK, None, 0)
    programs = choose(sources, "programs", TASK)
    assert len(programs) == 2
    (left,) = with_choices(programs, TASK, space, Limits())
    assert Path(left.name).name == "hash_table.c"
    with pytest.raises(InputError, match="no program has a legal action"):
        with_choices(choose(sources[:1], "programs", TASK), TASK, space, Limits())
