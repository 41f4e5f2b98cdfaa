"""What the native core counts, against a module that was counted by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from burnish import _native
from burnish.core.program import Program
from burnish.tasks.llvm_passes import TASK
from tests.sources import DATA, FILES, program

EXPECTED: dict[str, Any] = json.loads((DATA / "features.json").read_text())
CASE_VALUES = {"const32Bit", "numConstZeroes", "numConstOnes"}  # where those of the `switch` count, too


@pytest.fixture
def module() -> _native.Module:
    return _native.Module((DATA / "features.ll").read_bytes())


def named(columns: object, values: object) -> dict[str, int]:
    return dict(zip(columns, map(int, values), strict=True))  # type: ignore[call-overload]


def test_opcodes_are_as_counted_by_hand(module: _native.Module) -> None:
    counts = named(_native.opcode_count_names(), module.opcode_counts())
    assert {name: count for name, count in counts.items() if count} == EXPECTED["opcode-counts"]


def test_autophase_is_as_counted_by_hand(module: _native.Module) -> None:
    features = named(TASK.observations["autophase"].columns, module.autophase())
    assert list(features) == list(EXPECTED["autophase"])
    assert len(features) == 56
    for name in features.keys() - CASE_VALUES:
        assert (name, features[name]) == (name, EXPECTED["autophase"][name])


def test_case_values_are_constants_as_in_autophase(module: _native.Module) -> None:
    features = named(TASK.observations["autophase"].columns, module.autophase())
    for name in CASE_VALUES:
        assert (name, features[name]) == (name, EXPECTED["autophase"][name])


def test_function_properties_are_as_counted_by_hand(module: _native.Module) -> None:
    rows = [named(_native.function_property_names(), row) for row in module.function_properties()]
    assert dict(zip(module.functions, rows, strict=True)) == EXPECTED["function-properties"]


def test_observed_properties_are_sums_and_the_deepest_loop() -> None:
    session = TASK.open(Program("features.ll", "llvm", (DATA / "features.ll").read_bytes()))
    total = named(TASK.observations["function-properties"].columns, session.observe("function-properties"))
    walk, merge = EXPECTED["function-properties"]["walk"], EXPECTED["function-properties"]["merge"]
    deepest = {"MaxLoopDepth": 1}
    assert total == {name: walk[name] + merge[name] for name in walk} | deepest


@pytest.mark.parametrize("name", FILES)
def test_functions_add_up_to_the_module(name: str) -> None:
    module = _native.Module(program(name).content)
    by_function = sum(module.opcode_counts(function) for function in module.functions)
    np.testing.assert_array_equal(by_function, module.opcode_counts())
    counts = dict(module.instruction_count_by_function())
    assert list(counts) == module.functions
    assert sum(counts.values()) == module.instruction_count() == module.opcode_counts()[0]


def test_normalized_observations_are_divided_by_the_instructions() -> None:
    session = TASK.open(program("matrix.c"))
    instructions = session.measure("ir-instructions")
    for name in ("opcode-counts", "autophase"):
        expected = np.asarray(session.observe(name), dtype=np.float64) / instructions
        shares = np.asarray(session.observe(f"{name}-normalized"), dtype=np.float64)
        assert np.allclose(shares, expected, rtol=1e-6)


def test_module_without_code_has_features() -> None:
    session = TASK.open(Program("data", "llvm", b"@x = global i32 1\n"))
    for observation in TASK.observations:
        session.observe(observation)
    assert [session.measure(name) for name in ("ir-instructions", "text-bytes")] == [1, 1]
    assert session.sites() == ()


def test_trace_is_observed_oldest_first() -> None:
    session = TASK.open(program("matrix.c"))
    applied = [session.index(action) for action in ("simplifycfg", "gvn", "simplifycfg")]
    for action in applied:
        session.apply(action)
    row = session.observe("trace")
    assert isinstance(row, np.ndarray)
    assert list(row[:4]) == [action + 1 for action in applied] + [0]


def test_unknown_function_is_named(module: _native.Module) -> None:
    for call in (module.opcode_counts, module.extract):
        for name in ("missing", "note"):  # `note` has no body
            with pytest.raises(_native.PipelineError, match=name):
                call(name)


def test_structural_hash_ignores_names() -> None:
    text = (DATA / "features.ll").read_text()
    one, other = (_native.Module(t.encode()) for t in (text, text.replace("%sum", "%total")))
    assert one.structural_hash() == other.structural_hash()
    changed = _native.Module(text.replace("mul i64 %x, 5", "mul i64 %x, 6").encode())
    assert one.structural_hash() != changed.structural_hash()
