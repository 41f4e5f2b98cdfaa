"""Encoders from tables: every kind on what tasks observe, and clear words where it cannot be."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from burnish.core.errors import InputError
from burnish.envs.env import Env
from burnish.learning.agents.policy import Policy, as_mask
from burnish.learning.networks.build_encoder import build_encoder
from burnish.learning.networks.elements import Vectors
from burnish.learning.networks.graph_encoder import GraphEncoder
from burnish.learning.networks.mlp import MLP
from burnish.learning.networks.sequence import LSTM, Transformer
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.tasks.loop_nests import TASK as NESTS
from tests.core.counting_task import TASK as COUNTING
from tests.core.counting_task import counters
from tests.sources import program

PARTS: dict[str, dict[str, Any]] = {
    "programl": {"kind": "gatv2", "width": 8, "heads": 2, "layers": 1},
    "cfg": {"kind": "gine", "width": 8, "pool": "max"},
    "callgraph": {"kind": "gatv2", "width": 8, "heads": 2, "pool": "attention"},
    "autophase": {"kind": "mlp", "hidden": [16, 8]},
    "ir2vec": {"hidden": [16], "scale": "none"},
    "trace": {"kind": "transformer", "width": 8, "heads": 2},
    "tokens": {"kind": "lstm", "width": 8, "length": 64},
}


@pytest.mark.parametrize("name", PARTS)
def test_every_kind_encodes_what_an_environment_observes(name: str) -> None:
    env = Env(LLVM, program("matrix.c"), observation=name, limits=None)
    before, info = env.reset()
    after = env.step(LLVM.actions.index("clang<Oz>"))[0]
    torch.manual_seed(0)
    policy = Policy(build_encoder(PARTS[name], LLVM, name), LLVM.actions)
    log_probs, values = policy.evaluate(
        policy.collate([before, after]), as_mask([info["mask"]] * 2, torch.device("cpu"))
    )
    assert log_probs.shape == (2, len(LLVM.actions))
    assert values[0] != values[1]


def test_mixture_of_everything() -> None:
    env = Env(LLVM, program("matrix.c"), observation=list(PARTS), limits=None)
    observed, info = env.reset()
    encoder = build_encoder({"kind": "mixture", "width": 24, "parts": PARTS}, LLVM, list(PARTS))
    policy = Policy(encoder, LLVM.actions, head="factorised", critic="separate")
    assert encoder.width == 24
    assert info["mask"][policy.act([observed], [info["mask"]])]


def test_an_mlp_takes_several_arrays() -> None:
    names = ["autophase", "opcode-counts", "autophase"]
    encoder = build_encoder({}, LLVM, names)
    assert isinstance(encoder, MLP)
    observed = Env(LLVM, program("matrix.c"), observation=names, limits=None).reset()[0]
    assert encoder.collate([observed]).shape == (1, encoder.features)


def test_the_tasks_first_observation_is_the_default() -> None:
    encoder = build_encoder({"kind": "mlp"}, COUNTING)
    assert encoder(encoder.collate([Env(COUNTING, counters("a=3")).reset()[0]])).shape == (1, 256)


@pytest.mark.parametrize(("kind", "type_of"), [("lstm", LSTM), ("transformer", Transformer)])
def test_histories_know_every_action_and_what_is_none(
    kind: str, type_of: type[LSTM] | type[Transformer]
) -> None:
    encoder = build_encoder({"kind": kind}, LLVM, "trace")
    assert isinstance(encoder, type_of)
    assert encoder.embedding.num_embeddings == len(LLVM.actions) + 2  # none, and the mark that begins
    observed = Env(LLVM, program("matrix.c"), observation="trace", limits=None).reset()[0]
    assert encoder.collate([observed])["lengths"].tolist() == [0]


def test_other_tasks_have_graphs_and_sequences_too() -> None:
    for name, kind in (("order", "gine"), ("digits", "lstm")):
        encoder = build_encoder({"kind": kind}, COUNTING, name)
        env = Env(COUNTING, counters("a=3 b=64"), observation=name, limits=None)
        assert encoder(encoder.collate([env.reset()[0]])).isfinite().all()
    assert isinstance(build_encoder({"kind": "gatv2"}, COUNTING, "order"), GraphEncoder)


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_rows_of_columns_are_sequences(kind: str) -> None:
    """Of the 16 rows that a nest's loops may have, those that there are."""
    encoder = build_encoder({"kind": kind}, NESTS, "loops")
    assert isinstance(encoder, LSTM | Transformer)
    columns = NESTS.observation("loops").columns
    assert encoder.elements == Vectors(len(columns), there=0)
    nest = NESTS.source().load("matmul:8x8x8").program
    observed = Env(NESTS, nest, observation="loops", limits=None).reset()[0]
    assert encoder.collate([observed])["lengths"].tolist() == [observed[:, 0].sum()]
    assert encoder(encoder.collate([observed])).shape == (1, 64)
    for other in ("5_prev_actions_tensor", "flops", "stride_tensor"):
        with pytest.raises(InputError, match=f"{kind} takes"):
            build_encoder({"kind": kind}, NESTS, other)


@pytest.mark.parametrize(
    ("config", "observation", "message"),
    [
        ({"kind": "gat"}, "programl", "no kind of network named 'gat'; did you mean 'gatv2'"),
        (
            {"kind": "gatv2", "head": 2},
            "programl",
            "no key of GraphConfig named 'head'; did you mean 'heads'",
        ),
        ({"kind": "gatv2", "layer": "gine"}, "programl", "no key of GraphConfig named 'layer'"),
        ({"kind": "gatv2", "width": "x"}, "programl", "network: .*'width': 'x'"),
        ({"kind": "gatv2"}, "autophase", "gatv2 takes graphs; 'autophase' is of kind 'array'"),
        ({"kind": "mlp"}, "programl", "mlp takes arrays; 'programl' is of kind 'graph'"),
        (
            {"kind": "lstm"},
            "autophase",
            "lstm takes sequences of numbers, matrices of columns, and 'trace'; 'autophase'",
        ),
        ({"kind": "mlp", "hidden": []}, "autophase", "hidden: expected the widths"),
        ({"kind": "mixture"}, "autophase", r"a mixture takes a list of observations; write \['autophase'\]"),
        ({"kind": "gine"}, ["programl", "cfg"], "gine takes one observation, not 2"),
        ({}, ["programl", "autophase"], "mlp takes arrays; 'programl'"),
        (
            {"kind": "mixture", "parts": {}},
            ["ir2vec"],
            r"no part encodes 'ir2vec'; add a table \[network.parts.ir2vec\]",
        ),
        (
            {"kind": "mixture", "parts": {"cfx": {}}},
            ["cfg"],
            "no observed part named 'cfx'; did you mean 'cfg'",
        ),
        ({"kind": "mixture", "part": {}}, ["cfg"], "no key of a mixture named 'part'"),
        ({}, "autophas", "no observation named 'autophas'; did you mean 'autophase'"),
    ],
)
def test_wrong_tables(config: dict[str, Any], observation: str | list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_encoder(config, LLVM, observation)
