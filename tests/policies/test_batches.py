"""How observations are batched is a value that JSON can hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from burnish.core.errors import InputError
from burnish.policies.batches import (
    Features,
    Graphs,
    Inputs,
    Parts,
    Rows,
    Sequences,
    inputs_from_table,
    inputs_to_table,
)


@pytest.mark.parametrize(
    "inputs",
    [
        Features(),
        Features(("autophase", "opcode-counts")),
        Graphs(),
        Sequences(256),
        Sequences(16, padding=0),
        Rows(5, 16, there=0),
        Parts({"programl": Graphs(), "both": Parts({"trace": Sequences(9, 0), "autophase": Features()})}),
    ],
)
def test_inputs_survive_json(inputs: Inputs) -> None:
    assert inputs_from_table(json.loads(json.dumps(inputs_to_table(inputs)))) == inputs


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "graph"}, "no kind of inputs named 'graph'; did you mean 'graphs'"),
        ({}, "no kind of inputs named 'None'"),
        ({"kind": "graphs", "length": 3}, "not a description of a network's inputs"),
        ({"kind": "sequences"}, "not a description of a network's inputs"),
        ({"kind": "parts"}, "not a description of a network's inputs"),
    ],
)
def test_other_tables_are_rejected(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        inputs_from_table(table)
