"""The small values: programs, traces, results, names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.errors import BurnishError, InputError, UnknownName
from burnish.core.objective import Observation
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.trace import entry, join_trace, split_entry
from burnish.envs.env_spaces import Content, space_of

RESULT = Result(
    task="counting-v3",
    program="p",
    digest="0" * 32,
    objective="total",
    method="greedy",
    seed=0,
    trace=("halve", "a: halve"),
    cost=3.0,
    baselines={"halved": 6.0},
    evaluations=4,
    seconds=0.5,
    toolchain={"llvm": "23"},
    timing={"ratio": 1.5, "repeats": 15, "verdict": "faster"},
    source=("p.c", "-I."),
    valid=True,
)


def test_program_is_its_language_and_content() -> None:
    one = Program("a", "llvm", b"x")
    assert one.digest == Program("b", "llvm", b"x").digest
    assert len({one.digest, Program("a", "mlir", b"x").digest, Program("a", "llvm", b"y").digest}) == 3
    assert len(one.digest) == 32


@given(st.text(), st.sampled_from(["gvn", "tile(i, 32)", "simplifycfg<a;b=1>"]))
def test_entry_is_read_as_it_was_written(site: str, action: str) -> None:
    assert split_entry(entry(action, site)) == (site, action)


def test_trace_is_one_line_for_people() -> None:
    assert join_trace(["gvn", "main: dce"]) == "gvn → main: dce"


def test_result_is_one_line_and_back() -> None:
    line = RESULT.to_json()
    assert "\n" not in line
    assert Result.from_json(line) == RESULT
    assert Result.from_json(line).to_json() == line
    assert RESULT.ratio("halved") == 2.0


@pytest.mark.parametrize(
    "line",
    ["", "3", "[]", "{}", "null", '{"trace": []}', '{"trace": 3}', '{"trace": [], "colour": "red"}'],
)
def test_what_is_no_result_is_an_input_error(line: str) -> None:
    with pytest.raises(InputError, match="not a result"):
        Result.from_json(line)


def test_older_result_without_new_fields_is_read() -> None:
    row = json.loads(RESULT.to_json())
    for name in ("options", "beside", "fallback", "state", "valid", "verified", "source"):
        del row[name]
    assert Result.from_json(json.dumps(row)).valid is None


def test_unknown_name_suggests_or_lists() -> None:
    assert "did you mean 'greedy'?" in str(UnknownName.among("search", "gredy", ["greedy", "beam"]))
    assert "known: greedy, beam" in str(UnknownName.among("search", "xyz", ["greedy", "beam"]))
    assert "... (40 in all)" in str(UnknownName.among("n", "?", [f"name{i}" for i in range(40)]))
    assert issubclass(UnknownName, BurnishError)


def test_spaces_contain_what_they_sample() -> None:
    for kind in (str, bytes):
        space = Content(kind, seed=0)
        assert all(space.sample() in space for _ in range(5))
        assert 3 not in space
        assert space == Content(kind) and space != Content(bytes if kind is str else str)
    array = space_of(Observation("o", "", shape=(3,), high=5))
    assert array.sample() in array
    assert space_of(Observation("o", "", kind="text")) == Content(str)
