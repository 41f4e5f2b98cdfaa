"""The stages of sequence values, on counters whose best sequences are known."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import SearchHints, Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.walk import replay_legal
from burnish.learning.portfolio.costs import CostTable, TableSetup, fill, fit_time
from burnish.learning.portfolio.portfolio import greedy_cover
from burnish.learning.portfolio.suffixes import SuffixSetup, learn_suffixes
from burnish.learning.portfolio.training import SequenceValuesTraining
from burnish.learning.training.collect import collect, problems_of, read_found
from burnish.learning.training.config import read_config
from burnish.learning.training.loop import IterationProgress, Listener, train
from burnish.policies.find import shipped
from burnish.policies.sequence_values import load_sequence_values
from burnish.search import Budget
from tests.core.counting_task import ACTIONS, TASK, CountingSession, counters
from tests.core.failures import failing_task

PROGRAMS = [counters("a=12 b=7"), counters("a=64"), counters("a=9 b=9 c=3")]
COUNTING = replace(TASK, hints=SearchHints((("halve",),)))


@pytest.mark.usefixtures("nothing_left")
def test_collected_traces_are_kept_and_not_searched_again(tmp_path: Path) -> None:
    state = tmp_path / "found.jsonl"
    options: dict[str, Any] = {"budget": Budget(evaluations=60)}
    collect(problems_of(COUNTING, PROGRAMS[:2], ["total"]), state, **options)
    before = state.read_text()
    state.write_text(before + '{"program": "kil')  # and killed
    found = collect(problems_of(COUNTING, PROGRAMS, ["total"]), state, **options)
    assert state.read_text().startswith(before)
    assert [item.program for item in found] == [program.name for program in PROGRAMS]
    assert read_found(state) == found
    for item, program in zip(found, PROGRAMS, strict=True):
        session = COUNTING.open(program)
        session.replay(item.trace)
        started = COUNTING.open(program)
        replay_legal(started, COUNTING.hints.initial_traces[0])
        assert session.measure("total") == item.cost <= started.measure("total")


def test_damaged_state_is_named(tmp_path: Path) -> None:
    state = tmp_path / "found.jsonl"
    state.write_text('{"program": "a"}\n')
    with pytest.raises(InputError, match=r"found\.jsonl, line 1: not a row of collected traces"):
        read_found(state)


def filled(task: Task, state: Path, traces: list[tuple[str, ...]], programs: int = 3) -> CostTable:
    return fill(TableSetup(task, ["total"], ["values"]), PROGRAMS[:programs], traces, state)


@pytest.mark.usefixtures("nothing_left")
def test_table_grows_both_ways(tmp_path: Path) -> None:
    state = tmp_path / "table.jsonl"
    first = filled(COUNTING, state, [("halve",), ("subtract(1)",)], programs=2)
    assert first.costs[:, :, 0].tolist() == [[1 + 6 + 7, 1 + 11 + 6], [33, 64]]
    assert first.references.tolist() == [[14], [33]]
    assert first.features[0].tolist() == [12, 7, 0, 0]
    written = state.read_text()
    state.write_text(written + '{"program": "kil')  # and killed
    whole = filled(COUNTING, state, [("subtract(3)",), ("halve",)])
    assert state.read_text().startswith(written)
    assert whole.programs == tuple(program.name for program in PROGRAMS)
    again = filled(COUNTING, state, [("halve",), ("subtract(3)",)])
    np.testing.assert_array_equal(again.costs[:, ::-1], whole.costs)
    assert json.loads(state.read_text().splitlines()[1])["program"] == PROGRAMS[0].name


class DriftingSession(CountingSession):
    """Each measurement of the process finds 1 % more than the one before."""

    measured = 0

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        Session.__init__(self, ACTIONS, reopen=partial(DriftingSession, program))

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        DriftingSession.measured += 1
        return super().cost(objective, site) * 1.01**DriftingSession.measured


def test_a_noisy_cost_is_measured_in_turn_with_the_reference(tmp_path: Path) -> None:
    noisy = {"total": replace(TASK.objective("total"), noisy=True)}
    task = replace(COUNTING, open=DriftingSession, objectives=noisy)
    traces = [("halve",), *((("add(1)",) * count + ("halve",)) for count in (1, 2, 3))]
    found = filled(task, tmp_path / "noisy", traces).log_ratios("total")
    exact = filled(COUNTING, tmp_path / "exact", traces).log_ratios("total")
    assert np.abs(exact).max() > 0.05
    assert found == pytest.approx(exact, abs=0.02)


def test_crash_costs_infinitely_much(tmp_path: Path) -> None:
    task = failing_task(COUNTING, "give-up")
    table = filled(task, tmp_path / "table.jsonl", [("halve",), ("give-up",), ("subtract(1)",)], programs=1)
    assert np.isinf(table.costs[0, :, 0]).tolist() == [False, True, False]
    assert table.log_ratios("total")[0, 1] == -np.inf


def test_table_of_other_objectives_is_refused(tmp_path: Path) -> None:
    state = tmp_path / "table.jsonl"
    filled(COUNTING, state, [("halve",)])
    with pytest.raises(InputError, match="choose another file"):
        fill(TableSetup(COUNTING, ["largest"], ["values"]), PROGRAMS, [], state)


def test_greedy_cover_by_hand() -> None:
    gains = np.array([[3.0, 0, 0], [2, 2, 0], [0, 2, 1], [0, 0, 0]])
    # 2 + 2 = 4 first; then the first adds 1 at the first case, the third adds 1 at the last
    assert greedy_cover(gains, 9) == ([1, 0, 2], [4, 1, 1])
    assert greedy_cover(gains, 1) == ([1], [4])
    assert greedy_cover(gains, 9, least=1) == ([1], [4])
    # 3 in 1, 4 in 2, 3 in 1: the first; then 2 in 2, and 3 in 1: the third, and nothing is left
    assert greedy_cover(gains, 9, time=np.array([1.0, 2, 1, 1])) == ([0, 2], [3, 3])


@pytest.mark.usefixtures("nothing_left")
def test_suffixes_that_gain_are_credited(tmp_path: Path) -> None:
    setup = SuffixSetup(COUNTING, "total", ((), ("halve",)), COUNTING.actions)
    state = tmp_path / "suffixes.jsonl"
    credits = learn_suffixes(setup, PROGRAMS, state, seed=0)
    assert list(credits.values()) == sorted(credits.values(), reverse=True)
    rows = [json.loads(line) for line in state.read_text().splitlines()]
    assert all(row["saved"] > 0 for row in rows)
    for row in rows:  # what is credited in a round is no more than what was there to save
        assert sum(share for _, share in row["credits"]) <= 3
    assert learn_suffixes(setup, PROGRAMS, state, seed=0) == credits
    best = next(iter(credits))
    session = COUNTING.open(PROGRAMS[1])
    before = session.measure("total")
    replay_legal(session, best)
    assert session.measure("total") < before


def test_time_is_fitted_by_size() -> None:
    sizes = np.array([1.0, 2.0, 4.0])
    features = np.stack([np.exp(sizes) - 1, np.zeros(3)], axis=1)
    seconds = np.exp(np.stack([0.5 + 2 * sizes, np.full(3, 0.7), 3 - sizes], axis=1))
    # what is relatively faster on large programs is not taken to be faster still on larger ones
    expected = np.array([[0.5, 0.7, 3 - 7 / 3], [2, 0, 0]])
    np.testing.assert_allclose(fit_time(features, seconds), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "objectives"),
    [
        ("sequence-values", ("ir-instructions", "text-bytes")),
        ("sequence-values-text", ("text-bytes",)),
        ("sequence-values-loaded", ("loaded-bytes while slowdown<=1.05",)),
        ("sequence-values-machine", ("loaded-bytes while slowdown<=1.05 and stack-growth<=1.5",)),
        ("sequence-values-seconds", ("seconds",)),
        ("sequence-values-without-outliners", ("ir-instructions",)),
    ],
)
def test_shipped_configurations_say_what_is_searched_for_and_seen(
    name: str, objectives: tuple[str, ...]
) -> None:
    table = read_config(name).algorithm
    assert tuple(table["objectives"]) == objectives
    assert table["observations"] == ["autophase", "opcode-counts"]


def test_a_plan_that_does_not_say_takes_the_task_s(tmp_path: Path) -> None:
    words = ['programs=[{use="random:0..1:300"}]', 'validation=[{use="random:0..1:300"}]']
    words += ["algorithm.objectives=[]", "algorithm.observations=[]", f'algorithm.state="{tmp_path}"']
    training = SequenceValuesTraining(read_config("sequence-values", words), tmp_path, lambda _: None)
    assert training.objectives == ("ir-instructions",)
    assert training.observations == ("opcode-counts",)
    training.close()


def test_whole_training_on_random_programs(tmp_path: Path) -> None:
    config = read_config(
        "sequence-values",
        [
            'programs=[{use="random:0..3:120"}]',
            'validation=[{use="random:100..102:120"}]',
            f'algorithm.state="{tmp_path / "state"}"',
            'algorithm.search="12"',
            "algorithm.jobs=1",
            "algorithm.searched=4",
            "algorithm.portfolio_programs=4",
            "algorithm.generations=3",
            "algorithm.table=4",
            "algorithm.suffix_programs=1",
            "algorithm.fit.epochs=12",
            "run.validate_every=6",
        ],
    )
    told: list[IterationProgress] = []
    outcome = train(config, tmp_path / "run", SequenceValuesTraining, Listener(progress=told.append))
    assert outcome.why == "finished"
    assert {item.seconds_left for item in told} == {None}
    assert outcome.policy
    policy = load_sequence_values(outcome.policy)
    assert policy.objective == "ir-instructions"
    assert policy.traces[0] == ("clang<Oz>",)
    assert len(policy.keys) == 4
    assert outcome.best and outcome.best.metrics["validation/all"] >= 1
    card = json.loads(outcome.policy.with_suffix(".card.json").read_text())
    assert card["kind"] == "sequence-values"
    found = [asdict(item) for item in read_found(tmp_path / "state" / "found.jsonl")]
    again = train(config, tmp_path / "run", SequenceValuesTraining)
    assert again.best and again.best.metrics == outcome.best.metrics
    assert [asdict(item) for item in read_found(tmp_path / "state" / "found.jsonl")] == found


def test_sequences_of_another_policy_are_in_the_first_generation(tmp_path: Path) -> None:
    config = read_config(
        "sequence-values",
        [
            'programs=[{use="random:0..1:120"}]',
            'validation=[{use="random:100..100:120"}]',
            'algorithm.objectives=["ir-instructions"]',
            'algorithm.also=["llvm_passes-ir-instructions"]',
            f'algorithm.state="{tmp_path}"',
            'objective="ir-instructions"',
            "algorithm.jobs=1",
            "algorithm.searched=0",
            "algorithm.portfolio_programs=2",
            "algorithm.slowest=10",
            "algorithm.generations=1",
            "algorithm.table=2",
            "algorithm.suffix_programs=0",
            "algorithm.fit.epochs=1",
        ],
    )
    assert train(config, tmp_path, SequenceValuesTraining).why == "finished"
    _, first = map(json.loads, (tmp_path / "portfolio-ir-instructions.jsonl").read_text().splitlines())
    others = load_sequence_values(shipped()["llvm_passes-ir-instructions"]).traces
    assert {tuple(trace) for trace in first["traces"]} >= {*others}


def test_a_policy_gets_training_programs_of_another_machine(tmp_path: Path) -> None:
    base = load_sequence_values(shipped()["llvm_passes-loaded-bytes"])
    for turn, programs in enumerate(("random:0..2:120", "random:3..4:120")):
        words = [f'programs=[{{use="{programs}"}}]', 'validation=[{use="random:100..101:120"}]']
        words += ["algorithm.jobs=1"]
        if turn:
            words.append(f'algorithm.base="{tmp_path / "0" / "policy.npz"}"')
        config = read_config("sequence-values-machine", words)
        outcome = train(config, tmp_path / str(turn), SequenceValuesTraining)
        assert outcome.why == "finished" and outcome.policy
        policy = load_sequence_values(outcome.policy)
        assert policy.traces == base.traces and policy.suffixes == base.suffixes
        count = 2 if turn else 3  # the second turn's programs replace the first one's
        assert (policy.machines == policy.machines[-1]).all(axis=1).sum() == count
        assert len(policy.keys) == len(policy.gains) == len(policy.machines) == len(base.keys) + count
        assert outcome.best and outcome.best.metrics["validation/all"] >= 1
    table = [json.loads(line) for line in (tmp_path / "1" / "table.jsonl").read_text().splitlines()[1:]]
    features = {line["program"]: line["features"] for line in table if "features" in line}
    of_first = np.array(features[min(features)], dtype=np.float32)[: len(base.mean)]
    np.testing.assert_allclose(policy.keys[-2], base.embedded(of_first), rtol=1e-5)
