"""Lines of JSON become dataclasses, or errors that name the field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

import pytest

from burnish.core.decoding import decode
from burnish.core.errors import InputError


@dataclass(frozen=True)
class Point:
    name: str
    cost: float | None
    trace: tuple[str, ...] = ()
    curve: tuple[tuple[float, int], ...] = ()
    more: Mapping[str, float | str] = field(default_factory=dict)
    action: Literal["kept", "optimized"] = "kept"


FULL = Point("é \u2028 \udc80", math.inf, ("gvn", "f: dce"), ((0.1, 1), (1e-7, 2)), {"low": 1.5, "of": "x"})


def line_of(**changes: object) -> str:
    return json.dumps({"name": "p", "cost": 1.5} | changes)


@pytest.mark.parametrize("point", [FULL, Point("p", None)])
def test_what_json_wrote_is_read_again(point: Point) -> None:
    assert decode(Point, json.dumps(asdict(point)), "a point") == point


def test_missing_fields_have_their_defaults_and_whole_numbers_are_floats() -> None:
    found = decode(Point, line_of(cost=3, more={"low": 2}), "a point")
    assert found == Point("p", 3.0, more={"low": 2.0})
    assert type(found.cost) is float


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "Expecting value at column 1"),
        ("[]", "expected an object in braces"),
        ('{"name": "p"}', "the field 'cost' is missing"),
        (line_of(colour="red"), "this version of burnish has no field 'colour'"),
        (line_of(name=3), "the field 'name' is 3; expected a text"),
        (line_of(cost="3"), "the field 'cost' is '3'; expected float | None"),
        (line_of(trace="gvn"), "the field 'trace' is 'gvn'; expected a list of texts"),
        (line_of(trace=["gvn", 3]), "the field 'trace[1]': expected `str`, not `int`"),
        (line_of(curve=[[0.1]]), "the field 'curve[0]': expected `array` of length 2, not 1"),
        (line_of(more={"low": []}), "the field 'more[...]': expected `float | str`, not `array`"),
        (line_of(action="b"), "Invalid enum value 'b' - at `$.action`"),
    ],
)
def test_what_is_wrong_is_named(line: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        decode(Point, line, "a point")
    assert str(error.value) == f"not a point: {reason}"
