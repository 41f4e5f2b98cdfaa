"""The benchmark of loop nests, on nests of a few elements."""

from __future__ import annotations

import importlib
import json
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import loop_searches
import nests
import numpy as np
import pytest
from kit.floors import Floor
from kit.rounds import of_call, take
from kit.rows import mean
from loop_nests import cases, numpy_forms, peers
from loop_nests.floors import FLOORS
from loop_nests.own import OWN
from loop_nests.rows import CALLED, Row
from loop_nests.schedules import played, scheduler_of, tree_after

from burnish.core.errors import InputError, Miscompiled, MissingTool, UnknownName
from burnish.policies.value_table import TablePolicy, save_table, state_key
from burnish.tasks.loop_nests import families
from burnish.tasks.loop_nests.kernel import Bench
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.session import open_nest
from burnish.tasks.loop_nests.tree import Tree, naive

FAMILIES = ("matmul", *cases.KINDS)


def small(family: str) -> Nest:
    """Return a nest of a family whose extents are all different, and odd ones among them."""
    extents = range(5, 5 + len(families.FAMILIES[family].iterators))
    return families.find(f"{family}:{'x'.join(map(str, extents))}")


def row(group: str = "nest", /, **seconds: Sequence[float]) -> Row:
    """Return a row with the samples of a few contenders, whose names have _ for /."""
    samples = {name.replace("_", "/"): samples for name, samples in seconds.items()}
    machine = {"vector_bytes": 64}
    case: dict[str, Any] = {
        "case": "outer:2x2",
        "group": group,
        "split": "test",
        "flops": 100,
        "machine": machine,
    }
    return Row(**case, nest="", peak_flops=1000, schedules={"policy": {"seconds": 0.1}}, samples=samples)


@pytest.mark.parametrize("peer", ["numpy", "torch"])
@pytest.mark.parametrize("name", OWN)
def test_every_form_of_an_expression_computes_it(peer: str, name: str) -> None:
    assert list(peers.forms(peer, name, Bench(cases.Case(name, "own").nest)))


@pytest.mark.parametrize("peer", ["numpy", "torch"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_form_of_a_peer_computes_the_nest(peer: str, family: str) -> None:
    assert list(peers.forms(peer, family, Bench(small(family))))


def test_a_wrong_result_is_no_contender(monkeypatch: pytest.MonkeyPatch) -> None:
    def outer(t: Any) -> Any:
        return lambda: np.multiply(t.x[:, None], 1.001 * t.y, out=t.o)

    monkeypatch.setattr(numpy_forms, "FORMS", {"outer": (outer,)})
    with pytest.raises(Miscompiled, match=r"numpy: outer: .* of o differ"):
        list(peers.forms("numpy", "outer", Bench(small("outer"))))


def test_what_another_one_wrote_is_not_a_peers_result(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(small("outer"))
    bench.arrays["o"][...] = bench.expected["o"]
    monkeypatch.setattr(numpy_forms, "FORMS", {"outer": (lambda t: lambda: t.o,)})
    with pytest.raises(Miscompiled):
        list(peers.forms("numpy", "outer", bench))


def test_a_peer_that_is_missing_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingTool, match=r"pip install .*requirements\.txt"):
        peers.load("jax")
    with pytest.raises(UnknownName):
        peers.load("jacks")


def test_every_case_is_held_out_or_in_no_set() -> None:
    matmuls, others = cases.matmuls(), cases.others()
    assert [case.split for case in others] == ["test"] * 20
    assert {case.split for case in matmuls if case.group == "matmul"} == {"test"}
    assert {case.name: case.split for case in matmuls if case.group != "matmul"} == {
        "matmul:512x512x512": "none",
        "matmul:1024x1024x1024": "none",
    }
    assert len({case.family for case in others}) == 20
    assert len({case.name for case in matmuls}) == 22
    assert all(len(case.nest.outputs) == 1 for case in (*matmuls, *others))  # which peers compute


def test_matmuls_go_from_the_smallest_to_the_largest_that_is_held_out() -> None:
    work = [families.find(name).flops for name in families.names("matmul", "test")]
    chosen = [case.nest.flops for case in cases.matmuls() if case.group == "matmul"]
    assert chosen == sorted(chosen)
    assert (chosen[0], chosen[-1]) == (min(work), max(work))


def test_cases_are_chosen_by_pattern() -> None:
    chosen = cases.choose(["nests"], "conv1d:*,stencil*")
    assert [case.family for case in chosen] == ["stencil5", "stencil7", "stencil9", "conv1d"]
    with pytest.raises(InputError, match=r"--only nothing: expected .*softmax"):
        cases.choose(["nests"], "nothing")


def test_each_round_has_every_contender_after_others_than_before() -> None:
    order: list[str] = []

    def sample(name: str) -> float:
        order.append(name)
        return float(len(order))

    samples = take({name: lambda name=name: sample(name) for name in "abc"}, 40)  # type: ignore[misc]
    assert all(sorted(order[first : first + 3]) == ["a", "b", "c"] for first in range(0, 120, 3))
    assert {(one, other) for one, other in pairwise(order) if one != other} == set(permutations("abc", 2))
    assert {name: [order[int(number) - 1] for number in samples[name]] for name in "abc"} == {
        name: [name] * 40 for name in "abc"
    }


def test_a_batch_is_as_long_as_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    # a call takes 0.25 s, and each of the first three twice as long
    monkeypatch.setattr(time, "process_time", lambda: 0.25 * (len(calls) + min(3, len(calls))))
    sample = of_call(lambda: calls.append(0), batch_seconds=2.0)
    before = len(calls)
    assert sample() == 0.25
    assert len(calls) - before == 8 + 8  # untimed, then timed


def test_the_best_form_of_a_peer_counts_by_its_median() -> None:
    found = row(refined=[2.0, 2.0, 9.0], numpy_one=[1.0, 8.0, 8.0], numpy_two=[5.0, 6.0, 7.0], jax_one=[3.0])
    assert found.seconds("numpy") == 6
    assert found.form("numpy") == "two"
    assert found.ratio("refined", "numpy") == 3
    assert found.ratio("refined", "numpy", "jax") == 1.5
    assert math.isinf(found.seconds("torch"))


def test_the_share_of_the_peak_is_of_the_probe_in_the_same_rounds() -> None:
    assert row(refined=[1.0], peak=[2.0]).of_peak == 100 / 500


def test_floors_are_means_and_least_ratios_of_their_group() -> None:
    rows = [
        row(refined=[1.0], jax_a=[2.0], numba_a=[3.0]),
        row(refined=[1.0], jax_a=[9.0], numba_a=[8.0]),
        row("matmul", refined=[1.0], jax_a=[0.5]),
    ]
    average = Floor("", ("nest",), "refined", ("numba", "jax"), 1.45, 1.2)
    assert average.value(rows) == pytest.approx(4)
    assert replace(average, least=True).value(rows) == 2
    assert math.isnan(average.value(rows[2:]))
    assert (average.floor(64), average.floor(32)) == (1.45, 1.2)


def test_a_floor_of_ours_against_ours_compares_what_is_called_with_what_is_called() -> None:
    samples = {"policy": [2.0], "refined": [1.0], "policy call": [4.0], "refined call": [3.0]}
    found = replace(row(), samples=samples)
    (floor,) = (floor for floor in FLOORS if floor.peers == ("refined",))
    assert floor.value([found]) == pytest.approx(1 / 2)
    assert floor.value([found], CALLED) == pytest.approx(3 / 4)


def test_the_mean_of_ratios_is_geometric() -> None:
    assert mean([1, 4, 2]) == pytest.approx(2)


def test_schedulers_are_found_by_name() -> None:
    nest = small("outer")
    assert scheduler_of("naive")(nest, 1) == (naive(nest), 0)
    assert scheduler_of("tests.benchmarks.test_nests:split_first")(nest, 0.5)[1] == 0.5
    assert scheduler_of("loops@none")(nest, 0)[0] == naive(nest)  # without a policy and without measuring
    with pytest.raises(InputError, match=r"--schedule tests\.benchmarks\.test_nests:nothing"):
        scheduler_of("tests.benchmarks.test_nests:nothing")
    with pytest.raises(UnknownName):
        scheduler_of("no-such-search")


def split_first(nest: Nest, seconds: float) -> tuple[Tree, float]:
    """Return other loops than the naive ones."""
    return tree_after(nest, (f"{nest.statements[0].iterators[0]}: split(2)",)), seconds


def test_the_run_leaves_rows_a_table_and_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"--only sum-columns* --peers numpy --schedule {__name__}:split_first --rounds 2 --seconds 0.5"
    assert nests.main([*line.split(), "--out", str(tmp_path)]) == 0
    call, found = Row.read(tmp_path / "rows.jsonl")
    assert (call.group, found.split) == ("call", "test")
    assert found.schedules["refined"]["seconds"] == 0.5
    assert "n.1 in 2" in found.schedules["refined"]["tree"]
    assert set(found.samples) == {
        *("peak", "policy", "policy call", "refined", "refined call"),
        *("numpy/sum_columns", "numpy/sum_columns_einsum"),
    }
    assert {len(samples) for samples in found.samples.values()} == {2}
    assert "other nests, refined / NumPy" in (tmp_path / "table.txt").read_text()
    assert (tmp_path / "ratios.svg").read_bytes()
    assert "one product" in capsys.readouterr().out


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps({"case": "x"}))
    with pytest.raises(InputError, match=r"not rows of this benchmark"):
        Row.read(tmp_path / "rows.jsonl")


def search_row(case: str, curve: list[tuple[float, float]]) -> loop_searches.Row:
    return loop_searches.Row(case, "test", "random", 1.0, curve, "", [8.0, 8.0], [2.0])


def test_the_curve_is_the_mean_of_the_best_so_far() -> None:
    rows = [search_row("a", [(1.0, 8.0), (3.0, 2.0)]), search_row("b", [(2.0, 2.0)])]
    assert loop_searches.curve_of(rows) == [(1.0, 1.0), (2.0, pytest.approx(2)), (3.0, pytest.approx(4))]


def test_trained_policies_are_rows_by_the_names_of_their_runs(tmp_path: Path) -> None:
    policy = tmp_path / "loops-mine" / "policy.npz"
    actions = ("swap_down", "split(8)", "vectorize")
    card = {"task": "loop_nests-v0", "observation": "schedule", "max_steps": 2, "sites": 0}
    policy.parent.mkdir()
    rows = {state_key(open_nest(small("outer").program()).observe("schedule")): np.array([1.0, 0, 0])}
    save_table(policy, TablePolicy(actions, rows, card=card))
    assert str(played(policy, small("outer"))[0]).startswith("for n in 6\n  for m in 5")
    line = ["--matmuls", "1", "--methods", "", "--policy", "", "--trained", str(policy), "--rounds", "1"]
    assert loop_searches.main([*line, "--out", str(tmp_path)]) == 0
    (found,) = loop_searches.read(tmp_path / "rows.jsonl")
    assert (found.method, found.curve) == ("loops-mine", [])
    with pytest.raises(InputError, match=r"nowhere/policy\.npz: there is no such file; burnish train writes"):
        played(Path("nowhere/policy.npz"), small("outer"))


def test_a_search_is_timed_anew_beside_the_naive_loops_and_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"--matmuls 1 --methods random --policy {__name__}:split_first --seconds 0.5 --rounds 1"
    for _ in range(2):  # the second time nothing is measured
        assert loop_searches.main([*line.split(), "--out", str(tmp_path)]) == 0
    rows = loop_searches.read(tmp_path / "rows.jsonl")
    assert [one.method for one in rows] == ["random", "policy", "policy, refined"]
    assert [one.seconds for one in rows[1:]] == [0, 0.5]
    assert all(one.speedup > 0 for one in rows)
    assert "LoopTune's policy" in capsys.readouterr().out
    assert (tmp_path / "speedups.svg").read_bytes()
