"""The policy of schedules: a cost model, what it proposes first, and what it learns from costs."""

from __future__ import annotations

import lzma
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.core.guide import Guide, InitialTraces
from burnish.core.session import Session
from burnish.policies.find import find_guide, names_for, shipped
from burnish.search import SEARCHES, Budget
from burnish.search.problem import Problem
from burnish.search.run import run
from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.api.schedule import follow
from burnish.tasks.loop_nests.families import FAMILIES
from burnish.tasks.loop_nests.features import COLUMNS
from burnish.tasks.loop_nests.kernel import Bench, CompiledNest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.policy.proposals import KIND, load_for, propose, propose_for
from burnish.tasks.loop_nests.train.measuring import Measurement, measure
from burnish.tasks.loop_nests.tree import naive
from burnish.tasks.tensors.machine import host, machine_of
from burnish.tasks.tensors.policy.cost_model import CostModel, SchedulePolicy, load_cost_model
from burnish.tasks.tensors.train.measuring import line_of, read_rows
from tests.tasks.loop_nests.nests import features, small

NEST = parse("f32 m=24 n=32 k=16\nc[m,n] += a[m,k] * b[k,n]")
WIDTH = len(COLUMNS)


def model_of(**weights: float) -> CostModel:
    """Return a model whose log2 of seconds an operation is a sum of some features."""
    column = np.zeros((1, WIDTH, 1), dtype=np.float32)
    for name, weight in weights.items():
        column[0, COLUMNS.index(name.replace("_", " "))] = weight
    layer = column, np.zeros((1, 1, 1), dtype=np.float32)
    zero, one = np.zeros(WIDTH, dtype=np.float32), np.ones(WIDTH, dtype=np.float32)
    return CostModel(TASK.id, "seconds", COLUMNS, 32, zero, one, (layer,), COLUMNS, KIND)


FEW_LOADS = model_of(vector_loads_of_an_operation=1, other_loads_of_an_operation=1)


def test_statements_add_up() -> None:
    """2^(iterations + operations + f) each: 8 and 24 operations, f = 1 where there is a vector."""
    rows = np.zeros((2, WIDTH), dtype=np.float32)
    rows[:, COLUMNS.index("iterations")] = 3, np.log2(24)
    rows[1, COLUMNS.index("has a vector")] = 1
    model = model_of(has_a_vector=1)
    found = model.log2_seconds([rows, rows[:1], rows[1:]])
    assert found.tolist() == pytest.approx([np.log2(8 + 48), 3, np.log2(48)])
    assert model.log2_seconds([]).shape == (0,)


def test_model_is_the_mean_of_its_networks() -> None:
    layer, bias = FEW_LOADS.layers[0]
    both = replace(FEW_LOADS, layers=((np.concatenate([layer, 3 * layer]), np.zeros((2, 1, 1), np.float32)),))
    twice = replace(FEW_LOADS, layers=((2 * layer, bias),))
    rows = [features(naive(NEST), 32)]
    assert both.log2_seconds(rows) == pytest.approx(twice.log2_seconds(rows))


def test_model_takes_its_columns_by_their_names(tmp_path: Path) -> None:
    """One that was trained before there was a feature goes on; one of a feature that is gone does not."""
    rows = [features(naive(NEST), 32)]
    kept = [name for name in COLUMNS if name != "registers"][::-1]
    weight, bias = FEW_LOADS.layers[0]
    layer = weight[:, [COLUMNS.index(name) for name in kept]], bias
    scale = np.zeros(len(kept), np.float32), np.ones(len(kept), np.float32)
    fewer = CostModel(TASK.id, "seconds", tuple(kept), 32, *scale, (layer,), COLUMNS, KIND)
    assert fewer.log2_seconds(rows) == pytest.approx(FEW_LOADS.log2_seconds(rows))
    replace(fewer, columns=("hue", *kept[1:])).save(tmp_path / "old.npz")
    with pytest.raises(InputError, match="the model takes 'hue', which is no longer a feature"):
        load_cost_model(tmp_path / "old.npz", COLUMNS, KIND)


def test_model_is_kept_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    FEW_LOADS.save(path)
    rows = [features(naive(NEST), 32)]
    assert load_cost_model(path, COLUMNS, KIND).log2_seconds(rows) == pytest.approx(
        FEW_LOADS.log2_seconds(rows)
    )
    assert isinstance(load_for(path, TASK), SchedulePolicy)
    replace(FEW_LOADS, task="loop_nests-v7").save(path)
    with pytest.raises(InputError, match="loop_nests-v7"):
        load_for(path, TASK)
    path.write_bytes(b"damaged")
    with pytest.raises(InputError, match="not a cost model"):
        load_cost_model(path, COLUMNS, KIND)


def test_first_proposal_is_what_the_model_likes() -> None:
    """A tile of registers: few loads for each product. The naive nest loads two numbers for each."""
    first = next(propose(NEST, FEW_LOADS, 32))
    chosen, begin = (
        FEW_LOADS.log2_seconds([features(tree, 32)])[0] for tree in (follow(NEST, first), naive(NEST))
    )
    assert chosen < begin - 1.5


def test_proposals_end_where_there_are_no_others() -> None:
    proposals = propose(parse("f32 m=2 n=2\nc[m,n] = a[m,n] * 2"), FEW_LOADS, 32)
    traces = [next(proposals)]
    with pytest.raises(StopIteration):
        while len(traces) < 1000:
            traces.append(proposals.send(1e-3))
    assert len(set(traces)) == len(traces)


def test_same_nest_gets_the_same_proposals() -> None:
    def some(costs: list[float]) -> list[tuple[str, ...]]:
        proposals = propose(NEST, FEW_LOADS, 32)
        return [next(proposals), *[proposals.send(cost) for cost in costs]]

    assert some([1e-6, 2e-6, math.inf, 1e-6]) == some([1e-6, 2e-6, math.inf, 1e-6])


def test_no_schedule_is_proposed_twice() -> None:
    proposals = propose(NEST, FEW_LOADS, 32)
    trees = [str(follow(NEST, next(proposals)))]
    trees += [str(follow(NEST, proposals.send(1e-6))) for _ in range(40)]
    assert len(set(trees)) == len(trees)


def test_costs_say_where_to_look() -> None:
    """The model knows nothing. Where what is measured counts loops, proposals have fewer of them."""

    def loops(cost: Callable[[int], float]) -> float:
        proposals, counts = propose(NEST, model_of(), 32), []
        trace = next(proposals)
        for _ in range(60):
            counts.append(len(follow(NEST, trace).places))
            trace = proposals.send(cost(counts[-1]))
        return float(np.mean(counts[30:]))

    assert loops(lambda count: 2.0**count) < loops(lambda count: 2.0**-count) - 1


def test_search_follows_it_to_the_end_of_the_budget() -> None:
    """Its proposals are a search of their own: nothing else is tried."""
    asked = []

    def counting(session: Session) -> Guide:
        guide = SchedulePolicy(FEW_LOADS, propose_for)(session)

        def counted() -> InitialTraces:
            trace = next(guide.initial_traces)
            while True:
                asked.append(trace)
                trace = guide.initial_traces.send((yield trace))

        return replace(guide, initial_traces=counted())

    problem = Problem(TASK, NEST.program("nest"), "seconds")
    result = run(SEARCHES["mixed"], problem, Budget(evaluations=12), guide_for=counting)
    assert result.evaluations == 12
    assert len(asked) >= 12
    assert result.trace in asked


def test_measured_schedules_are_kept_as_lines(tmp_path: Path) -> None:
    found = measure(str(NEST), host().vector_bytes, 6, seed=0)
    assert len(found) == 6
    assert [one.seconds for one in found] == sorted(one.seconds for one in found)
    assert len({one.sketch for one in found}) == 6
    path = tmp_path / "measured.jsonl"
    path.write_text("\n".join(map(line_of, found)) + "\n" + '{"nest": "cut o')
    assert read_rows(path, Measurement) == found
    compressed = tmp_path / "measured.jsonl.xz"
    compressed.write_bytes(lzma.compress("\n".join(map(line_of, found)).encode()))
    assert read_rows(compressed, Measurement) == found
    compressed.write_bytes(b"damaged")
    with pytest.raises(InputError, match="expected measured schedules, compressed by xz"):
        read_rows(compressed, Measurement)
    with pytest.raises(InputError, match="not a measured schedule"):
        path.write_text("{}\n")
        read_rows(path, Measurement)
    with pytest.raises(InputError, match="vectors of 48 bytes"):
        measure(str(NEST), 48, 1, seed=0)


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_the_shipped_policy_is_that_of_such_a_machine(
    vector_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu = {16: "x86-64", 32: "haswell", 64: "skylake-avx512"}[vector_bytes]
    monkeypatch.setattr("burnish.tasks.tensors.policy.cost_model.host", lambda: machine_of(cpu))
    found = find_guide("shipped", TASK, "seconds")
    assert found
    assert found[1] == f"{TASK.name}-seconds-{'avx512' if vector_bytes == 64 else 'avx2'}"


@pytest.mark.parametrize("name", names_for(TASK))
def test_shipped_policies_fit_their_task(name: str) -> None:
    guide_for, found = find_guide(name, TASK, "seconds") or (None, "")
    assert isinstance(guide_for, SchedulePolicy)
    assert found == name
    assert guide_for.objective == "seconds"
    assert shipped()[name].stat().st_size < 1e6
    assert shipped()[name].with_suffix(".card.json").is_file()


@pytest.mark.parametrize("family", FAMILIES)
def test_its_first_choice_is_right_and_makes_vectors(family: str) -> None:
    """Without measuring, on nests that are none of its training's: by the machine's own vectors."""
    nest = small(family, (40, 48, 36, 20, 24, 16))
    guide_for, _ = find_guide("shipped", TASK, "seconds") or (None, "")
    assert guide_for
    tree = follow(nest, next(guide_for(TASK.open(nest.program())).initial_traces))
    assert "[vectorize]" in str(tree)
    Bench(nest).check(CompiledNest(tree, host()))
