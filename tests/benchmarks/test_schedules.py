"""The benchmark of MLIR schedules, on programs of a few elements."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch_mlir")

import schedules
from kit.floors import Floor
from kit.rounds import FEW, SLOW_SECONDS, take_turns
from mlir_schedules import cases, peers, pictures, traces
from mlir_schedules.benches import Bench, open_bench
from mlir_schedules.cases import Case
from mlir_schedules.floors import FLOORS, SINGLE
from mlir_schedules.rows import CALLED, LINKED, NAIVE, OURS, Row, mean_ratio

from burnish.core.errors import InputError, Miscompiled, MissingTool, UnknownName
from burnish.tasks.mlir_schedules.peers.way import Way
from burnish.tasks.mlir_schedules.programs import MlirSource
from burnish.tasks.mlir_schedules.writing import families, sets
from burnish.tasks.tensors.arrays import placed

COMPARED = [family for group in cases.FAMILIES.values() for family in group]


def small(family: str) -> Case:
    """Return a program of a family whose extents are all different, and odd ones among them."""
    extents = [one for one in families.FAMILIES[family].extents if one != families.ANY]
    numbers = "x".join(str(5 + number) for number in range(len(extents)))
    return Case(f"{family}:{numbers}", cases.group_of(family))


def row(group: str = "conv", /, case: str = "conv2d:1x1x1x1", **seconds: Sequence[float]) -> Row:
    """Return a row with the samples of a few contenders, whose names have _ for /."""
    samples = {name.replace("_", "/"): samples for name, samples in seconds.items()}
    machine = {"vector_bytes": 64}
    measured: dict[str, Any] = {
        "group": group,
        "split": "test",
        "flops": 100,
        "machine": machine,
        "samples": samples,
    }
    return Row(case=case, **measured, digest="", trace=("next",), origin="hand", failed={})


@pytest.mark.parametrize("family", COMPARED)
def test_every_way_of_torch_computes_the_program(family: str) -> None:
    failed: dict[str, str] = {}
    found = list(peers.forms("torch", open_bench(small(family)), failed))
    assert found
    assert not failed


@pytest.mark.parametrize("name", ["conv2d-batch:2x3x7x9x4x3x2x1", "conv2d-batch:3x2x5x5x4x1x1x0"])
def test_torch_computes_batches_in_both_formats(name: str) -> None:
    failed: dict[str, str] = {}
    found = peers.forms("torch", open_bench(Case(name, cases.group_of(name))), failed)
    assert [form.name for form in found] == ["torch/channels_last", "torch/contiguous"]
    assert not failed
    with pytest.raises(InputError, match="imagesxchannelsx"):
        open_bench(Case("conv2d-batch:2x3", cases.CHANNELS_FIRST))


@pytest.mark.parametrize("family", ["add", "relu", "matmul"])
def test_numpy_computes_the_program(family: str) -> None:
    failed: dict[str, str] = {}
    assert [form.name for form in peers.forms("numpy", open_bench(small(family)), failed)] == ["numpy/into"]
    assert not failed


def test_listed_programs_are_chosen_by_their_group_alone() -> None:
    found = cases.choose([cases.CHANNELS_FIRST, cases.MEMORY])
    assert [case.name for case in found] == [name for names in cases.LISTED.values() for name in names]
    assert {case.split for case in found} == {"none"}
    assert not {case.name for case in cases.choose()} & {case.name for case in found}
    assert not {*sets.names(families.OF_BATCHES)} & {case.name for case in found}


def test_a_wrong_result_is_told_and_no_contender(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = open_bench(small("add"))
    wrong: Callable[[], Any] = lambda: sum(bench.trial.inputs) * np.float32(1.001)  # noqa: E731

    def broken() -> Any:
        raise RuntimeError("first\nx.mlir:1: error: unknown op\nlast")

    ways = [Way("wrong", lambda: wrong, np.asarray), Way("broken", broken, np.asarray)]
    monkeypatch.setattr(peers, "load", lambda _: lambda _: iter(ways))
    failed: dict[str, str] = {}
    assert not list(peers.forms("torch", bench, failed))
    assert failed["torch/wrong"].startswith("torch/wrong: elements are off by up to")
    assert failed["torch/broken"] == "RuntimeError: x.mlir:1: error: unknown op"


def test_what_is_no_number_is_wrong() -> None:
    bench = open_bench(small("relu"))
    with pytest.raises(Miscompiled, match="off by up to nan"):
        bench.check(np.full(bench.shape, np.nan, np.float32), "who")
    with pytest.raises(Miscompiled, match=r"float64\(5,\); expected f32\(5,\)"):
        bench.check(np.zeros(bench.shape), "who")


def test_a_peer_that_is_missing_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingTool, match=r"pip install .*requirements\.txt"):
        peers.load("iree")
    with pytest.raises(UnknownName):
        peers.load("eerie")


def test_a_peer_without_a_form_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "load", lambda _: lambda _: iter(()))
    failed: dict[str, str] = {}
    assert not list(peers.forms("jax", open_bench(small("add")), failed))
    assert failed == {"jax": "not written for it"}


def test_every_case_is_held_out_but_networks_which_no_set_has() -> None:
    found = cases.every()
    assert {case.split for case in found if case.group != cases.NETWORK} == {"test"}
    assert [case.name for case in found if case.split == "none"] == list(cases.NETWORKS)
    assert len({case.name for case in found}) == len(found)
    assert {case.group for case in found} == set(cases.GROUPS)
    assert set(cases.ALWAYS) <= {case.name for case in found}


def test_every_family_with_held_out_programs_is_in_one_group() -> None:
    published = [family for family in families.FAMILIES if family != families.OF_BATCHES]
    known = [family for family in published if any(map(sets.is_held_out, sets.names(family)))]
    assert sorted(COMPARED) == sorted(known)


def test_matmuls_are_of_512_at_most_but_for_one() -> None:
    found = cases.held_out("matmul")
    assert max(int(n) for name in found for n in name.partition(":")[2].split("x")) == cases.LARGEST
    assert [case.name for case in cases.choose([cases.LARGE_MATMUL])] == [cases.LARGE]


def test_cases_are_chosen_by_pattern_and_by_name() -> None:
    assert {case.op for case in cases.choose(["pool", "rows"], "max*")} == {
        *("maxpool", "maxpool-3x3", "maxpool-nchw", "max-rows")
    }
    assert cases.choose(only="add:4x4") == [Case("add:4x4", "elementwise")]
    with pytest.raises(InputError, match=r"--only nothing: expected .*softmax"):
        cases.choose(only="nothing")
    with pytest.raises(InputError, match="no group has subtract"):
        cases.choose(only="subtract:4x4")
    with pytest.raises(UnknownName):
        cases.choose(["ops"])


def test_schedules_by_hand_are_legal() -> None:
    known = traces.by_hand()
    for name in traces.BY_HAND:
        program = MlirSource().load(name).program
        found = known.find(program)
        assert found
        assert len(traces.scheduled(program, found.trace).trace) == len(found.trace)


def test_the_trace_of_the_least_cost_counts_by_digest_or_name(tmp_path: Path) -> None:
    program = open_bench(small("add")).program
    rows = [
        {"program": "other", "digest": program.digest, "trace": ["a"], "cost": 2.0},
        {"program": "renamed", "digest": program.digest, "trace": ["b"], "cost": 1.0},
        {"program": program.name, "trace": ["c"], "cost": 0.5},
        {"program": "other", "digest": program.digest, "trace": ["d"], "cost": 3.0},
    ]
    path = tmp_path / "found.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert traces.read_traces(path).find(program) == traces.Found(("b",), "found.jsonl")
    path.write_text(json.dumps(rows[2]))
    assert traces.read_traces(path).find(program) == traces.Found(("c",), "found.jsonl")
    assert traces.read_traces(path).find(open_bench(small("relu")).program) is None


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with pytest.raises(InputError, match=r"no such file; burnish optimize --result"):
        traces.read_traces(path)
    path.write_text('{"program": "x", "trace": []}\n{"program": "x"}\n')
    with pytest.raises(InputError, match=r"rows\.jsonl:2: not a result"):
        traces.read_traces(path)
    with pytest.raises(InputError, match=r"not rows of this benchmark"):
        Row.read(path)


def test_an_entry_that_cannot_be_applied_is_named() -> None:
    program = open_bench(small("matmul")).program
    with pytest.raises(InputError, match=r"entry 1 of the trace, 'matmul#1: tile\(0, 4\)'"):
        traces.scheduled(program, ["matmul#1: tile(0, 1)", "matmul#1: tile(0, 4)"])


def test_what_is_slow_is_in_the_first_rounds_only() -> None:
    samples = take_turns({"slow": lambda: 2 * SLOW_SECONDS, "quick": lambda: SLOW_SECONDS / 2}, FEW + 2)
    assert [len(found) for found in samples.values()] == [FEW, FEW + 2]
    assert [len(found) for found in take_turns({"one": lambda: 1.0}, 2).values()] == [2]


def test_the_best_form_of_a_peer_counts_by_its_median() -> None:
    found = row(burnish=[2.0, 2.0, 9.0], torch_one=[1.0, 8.0, 8.0], torch_two=[5.0, 6.0, 7.0])
    assert (found.seconds("torch"), found.form("torch"), found.ratio(OURS, "torch")) == (6, "two", 3)
    assert math.isinf(found.seconds("iree"))
    assert found.form("iree") == ""


def test_floors_are_means_or_the_least_of_their_groups() -> None:
    rows = [
        row(burnish=[1.0], called=[2.0], torch_a=[2.0]),
        row("pool", burnish=[1.0], called=[2.0], torch_a=[8.0]),
        row("pool", burnish=[1.0], called=[2.0]),  # torch has no form
        row("network", burnish=[1.0], called=[2.0], torch_a=[0.5]),
    ]
    floor = Floor("", SINGLE, OURS, ("torch",), 1.1, 1.0)
    assert floor.value(rows) == pytest.approx(4)
    assert floor.value(rows, {OURS: CALLED}) == pytest.approx(2)
    assert replace(floor, least=True).value(rows) == 2
    assert math.isnan(floor.value(rows[3:]))
    assert (floor.floor(64), floor.floor(32)) == (1.1, 1.0)
    assert {group for floor in FLOORS for group in floor.groups} <= {*cases.GROUPS, *cases.LISTED}
    assert math.isnan(mean_ratio(rows[2:3], "torch"))


def test_a_network_is_measured_with_the_weights_that_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    from burnish.tasks.mlir_schedules.api.from_torch import networks

    tiny = {"resnet18": lambda: networks.resnet18(side=32, width=4, classes=5)}
    monkeypatch.setattr(networks, "NETWORKS", tiny)
    bench = open_bench(Case("resnet18", cases.NETWORK))
    assert all(array.ctypes.data % 64 == 0 for array in bench.trial.arrays)
    failed: dict[str, str] = {}
    found = peers.forms("torch", bench, failed)
    assert {form.name for form in found} == {"torch/contiguous", "torch/channels_last"}
    assert not failed


MODULES = """
import torch

def perceptron():
    layers = torch.nn.Linear(8, 6), torch.nn.ReLU(), torch.nn.Linear(6, 5)
    return torch.nn.Sequential(*layers), torch.ones(3, 8)

def alone():
    return torch.nn.ReLU()
"""


def test_a_module_of_anybody_is_a_network(tmp_path: Path) -> None:
    path = tmp_path / "models.py"
    path.write_text(MODULES)
    (case,) = cases.choose(only=f"{path}:perceptron")
    assert (case.group, case.op) == (cases.NETWORK, "perceptron")
    bench = open_bench(case)
    assert [array.shape for array in bench.trial.arrays] == [(3, 8), (8, 6), (6,), (6, 5), (5,), (3, 5)]
    failed: dict[str, str] = {}
    assert [form.name for form in peers.forms("torch", bench, failed)] == ["torch/contiguous"]
    assert not failed
    with pytest.raises(InputError, match="alone comes with 0 inputs; expected a function that returns"):
        open_bench(Case(f"{path}:alone", cases.NETWORK))


def test_the_run_leaves_rows_a_table_and_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {"program": "matmul:8x8x8", "trace": ["matmul#1: tile(0, 4)", "matmul#1: vectorize"], "cost": 1}
    path = tmp_path / "found.jsonl"
    path.write_text(json.dumps(known))
    line = ["--only", "matmul:8x8x8,add:8", "--peers", "torch", "--rounds", "2", "--traces", str(path)]
    assert schedules.main([*line, "--out", str(tmp_path)]) == 0
    matmul, add = sorted(Row.read(tmp_path / "rows.jsonl"), key=lambda one: one.case, reverse=True)
    assert (matmul.trace, matmul.origin, matmul.flops) == (known["trace"], "found.jsonl", 2 * 8**3)
    assert (add.trace, add.origin) == ([], "naive")
    assert set(matmul.samples) == {NAIVE, OURS, CALLED, LINKED, "torch/new", "torch/into"}
    assert {len(samples) for samples in matmul.samples.values()} == {2}
    assert "matmul up to 512 / torch" in (tmp_path / "table.txt").read_text()
    assert (tmp_path / "ratios.svg").read_bytes()
    capsys.readouterr()
    assert schedules.main(["--show", str(tmp_path), "--peers", "torch"]) == 0
    assert "all ops" in capsys.readouterr().out


def test_the_picture_has_the_curve_of_a_training(tmp_path: Path) -> None:
    log = [{"steps": 10, "return": 0.5, "validation": 1.2}, {"steps": 20, "return": 0.7}]
    rows = [row(burnish=[1.0], naive=[9.0], torch_a=[2.0])]
    pictures.draw(rows, ["torch", "iree"], tmp_path / "all.svg", log)
    pictures.draw(rows, ["torch", "iree"], tmp_path / "none.svg")
    assert len((tmp_path / "all.svg").read_text()) > len((tmp_path / "none.svg").read_text())


def test_copies_begin_at_multiples_of_64_bytes() -> None:
    source = np.arange(7, dtype=np.float32)[1:]
    assert (placed(source) == source).all()
    assert placed(source).ctypes.data % 64 == 0
    assert isinstance(open_bench(small("add")), Bench)
