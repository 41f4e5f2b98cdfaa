"""Graph encoders: what each node gets comes along its own edges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium.spaces import GraphInstance
from numpy.typing import NDArray
from torch import Tensor

from burnish.core.errors import InputError
from burnish.core.objective import GraphArrays
from burnish.learning.networks.graph_encoder import GraphConfig, GraphEncoder
from burnish.learning.networks.positions import sinusoidal
from burnish.llvm.representations.graph import BLOCK_COLUMNS, FLOWS, PROGRAM_COLUMNS, program_graph
from burnish.llvm.representations.vocabulary import shipped_vocabulary
from tests.learning.networks import observed as shared
from tests.llvm.representations.test_inst2vec import write_inst2vec
from tests.sources import program

CONFIGS = {
    "gatv2": GraphConfig(),
    "gine": GraphConfig(layer="gine"),
    "gatv2-one-way": GraphConfig(both_ways=False),
    "gine-one-way": GraphConfig(layer="gine", both_ways=False),
    "gatv2-max": GraphConfig(pool="max"),
    "gine-attention": GraphConfig(layer="gine", pool="attention"),
}
each_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def made(config: GraphConfig, seed: int = 0) -> GraphEncoder:
    torch.manual_seed(seed)
    return GraphEncoder(config, PROGRAM_COLUMNS)


def permuted(graph: GraphArrays, rng: np.random.Generator) -> GraphArrays:
    """Return the same graph with its nodes in another order, and its edges in another one."""
    order = rng.permutation(len(graph.nodes))  # the new node i is the old node order[i]
    new_number = np.argsort(order)
    edges = graph.edges.copy()
    edges[:, :2] = new_number[edges[:, :2]]
    return GraphArrays(graph.nodes[order], edges[rng.permutation(len(edges))])


@each_config
def test_order_of_nodes_and_edges_does_not_matter(config: GraphConfig) -> None:
    encoder, rng = made(config), np.random.default_rng(3)
    for graph in [*shared.graphs(1), program_graph(program("matrix.c")).arrays]:
        original = shared.encoded(encoder, [graph])
        assert shared.same(shared.encoded(encoder, [permuted(graph, rng)]), original)


@each_config
def test_edges_belong_to_their_attributes(config: GraphConfig) -> None:
    """The links, and against them the attributes, in another order: a different graph."""
    encoder, rng = made(config), np.random.default_rng(3)
    for graph in [shared.graph(rng, 30, 90), program_graph(program("matrix.c")).arrays]:
        original = shared.encoded(encoder, [graph])
        edges = graph.edges.copy()
        edges[:, 2:] = rng.permutation(edges[:, 2:])
        different = shared.encoded(encoder, [GraphArrays(graph.nodes, edges)])
        assert (different - original).abs().max() > 1e-4


@each_config
def test_edges_lead_from_one_end_to_the_other(config: GraphConfig) -> None:
    encoder, graph = made(config), shared.graph(np.random.default_rng(4), 20, 60)
    turned = GraphArrays(graph.nodes, graph.edges[:, [1, 0, 2, 3]])
    different = shared.encoded(encoder, [turned]) - shared.encoded(encoder, [graph])
    assert different.abs().max() > 1e-4


@each_config
def test_batched_is_one_by_one(config: GraphConfig) -> None:
    assert shared.batched_is_one_by_one(made(config), shared.graphs(5, (7, 1, 12, 0, 5)))


@pytest.mark.parametrize(
    "of", [lambda graph: graph, lambda graph: instance(graph)], ids=["arrays", "instances"]
)
def test_repeated_graphs_are_encoded_once(of: Callable[[GraphArrays], Any]) -> None:
    first, second = shared.graphs(2, (4, 6))
    copied = GraphArrays(first.nodes.copy(), first.edges.copy())
    other = GraphArrays(first.nodes.copy(), first.edges[::-1].copy())
    some = [of(graph) for graph in (second, first, second, copied, other)]
    encoder = made(GraphConfig())
    batch = encoder.collate(some)
    assert batch["sizes"].tolist() == [6, 4, 4]
    assert batch["place"].tolist() == [0, 1, 0, 1, 2]
    one_by_one = torch.cat([shared.encoded(encoder, [graph]) for graph in some])
    assert shared.same(encoder(batch), one_by_one)
    encoder(batch)[[0, 2]].sum().backward()
    twice = gradients(encoder)
    (2 * encoder(encoder.collate(some[:1]))).sum().backward()
    assert all(map(shared.same, twice, gradients(encoder)))


def instance(graph: GraphArrays) -> GraphInstance:
    return GraphInstance(graph.nodes, graph.edges[:, 2:], graph.edges[:, :2])


def gradients(encoder: GraphEncoder) -> list[Tensor]:
    """Return the gradients of all parameters, and forget them."""
    found = [parameter.grad for parameter in encoder.parameters() if parameter.grad is not None]
    encoder.zero_grad()
    assert found
    return found


@each_config
def test_graphs_without_nodes_or_edges(config: GraphConfig) -> None:
    lonely = GraphArrays(np.zeros((3, 4), dtype=np.int64), np.zeros((0, 4), dtype=np.int64))
    empty = GraphArrays(np.zeros((0, 4), dtype=np.int64), np.zeros((0, 4), dtype=np.int64))
    shared.encoded(made(config), [lonely])
    shared.encoded(made(config), [empty])


@each_config
def test_gradients(config: GraphConfig) -> None:
    small = GraphConfig(**{**vars(config), "width": 4, "heads": 2, "edge_width": 2, "layers": 2})
    assert shared.gradients_are_right(made(small), shared.graphs(6, (5, 3)))


@each_config
def test_fits(config: GraphConfig) -> None:
    before, after = shared.loss_after_fitting(made(config), shared.graphs(7, (4, 8, 6, 5, 7, 3)))
    assert after < 1e-3 < before


def test_gatv2_layer_is_the_papers_equation() -> None:
    """Equation 7 of Brody et al. 2022, with edges as in PyTorch Geometric, node by node."""
    encoder, rng = made(GraphConfig(width=6, heads=2, edge_width=4)), np.random.default_rng(8)
    layer: Any = encoder.layers[0]
    heads, each = 2, 3
    graph = shared.graph(rng, 9, 40)
    x, e = rng.standard_normal((9, 6)), rng.standard_normal((40, 4))
    source, target = graph.edges[:, 0], graph.edges[:, 1]
    left, right, edge = ({n: p.detach().numpy() for n, p in part.named_parameters()} for part in parts(layer))
    expected = np.tile(layer.bias.detach().numpy(), (9, 1)).astype(float)
    for node in range(9):
        mine = np.flatnonzero(target == node)  # several edges between the same nodes count severally
        if not len(mine):
            continue
        values = x[source[mine]] @ left["weight"].T + left["bias"]
        hidden = values + (x[node] @ right["weight"].T + right["bias"]) + e[mine] @ edge["weight"].T
        hidden = np.where(hidden > 0, hidden, 0.2 * hidden).reshape(-1, heads, each)
        scores = (hidden * layer.att.detach().numpy()).sum(axis=2)
        weights = np.exp(scores) / np.exp(scores).sum(axis=0)
        messages = weights[:, :, None] * values.reshape(-1, heads, each)
        expected[node] += messages.sum(axis=0).ravel()
    found = layer.double()(torch.from_numpy(x), torch.from_numpy(graph.edges[:, :2].T), torch.from_numpy(e))
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=1e-6)


def parts(layer: Any) -> list[torch.nn.Module]:
    return [layer.lin_l, layer.lin_r, layer.lin_edge]


def test_gine_layer_is_the_papers_equation() -> None:
    """h((1 + eps) x_i + sum of relu(x_j + e_ji)), Hu et al. 2020."""
    encoder, rng = made(GraphConfig(layer="gine", width=6, edge_width=4)), np.random.default_rng(9)
    layer: Any = encoder.layers[0].double()
    layer.eps.data.fill_(0.25)
    graph = shared.graph(rng, 9, 40)
    x, e = torch.from_numpy(rng.standard_normal((9, 6))), torch.from_numpy(rng.standard_normal((40, 4)))
    summed = 1.25 * x
    for (source, target), edge in zip(graph.edges[:, :2].tolist(), layer.lin(e), strict=True):
        summed[target] = summed[target] + torch.relu(x[source] + edge)
    found = layer(x, torch.from_numpy(graph.edges[:, :2].T), e)
    assert torch.allclose(found, layer.nn(summed), atol=1e-9)


def test_both_ways_is_each_edge_and_its_reverse() -> None:
    """The second half has other flows: those of the first, plus their number."""
    encoder = made(GraphConfig())
    batch = encoder.collate(shared.graphs(10))
    links, edges = encoder._edges(batch)
    count = batch["links"].shape[1]
    assert links[:, :count].equal(batch["links"])
    assert links[:, count:].equal(batch["links"].flip(0))
    places = sinusoidal(batch["position"], 16)
    assert torch.equal(edges[:count], encoder.flow.weight[batch["flow"]] + places)
    assert torch.equal(edges[count:], encoder.flow.weight[batch["flow"] + len(FLOWS)] + places)


def test_sines_of_positions() -> None:
    found = sinusoidal(torch.tensor([0, 3]), 4)
    expected = [[0, 0, 1, 1], [np.sin(3), np.sin(0.03), np.cos(3), np.cos(0.03)]]
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("pool", ["mean", "max", "attention"])
def test_pools(pool: str) -> None:
    encoder = made(GraphConfig(width=2, heads=1, pool=pool))  # type: ignore[arg-type]
    x = torch.tensor([[1.0, -4.0], [3.0, -2.0], [5.0, -5.0]])
    found = encoder._pooled(x, torch.tensor([0, 0, 2]), torch.tensor([2, 0, 1]))
    if pool == "attention":
        assert encoder.gate
        weights = torch.softmax(encoder.gate(x[:2]), dim=0)
        first = (x[:2] * weights).sum(dim=0).tolist()
    else:
        first = {"mean": [2.0, -3.0], "max": [3.0, -2.0]}[pool]
    assert torch.allclose(found, torch.tensor([first, [0.0, 0.0], [5.0, -5.0]]))


def test_batch_of_graphs_by_hand() -> None:
    """Two graphs, one of them as an environment gives it."""
    first = GraphArrays(np.array([[0, 5], [1, 6]]), np.array([[0, 1, 2, 3]]))
    second = GraphInstance(
        np.array([[2, 7], [2, 8], [2, 9]]), np.array([[1, 0], [0, 4]]), np.array([[2, 0], [1, 1]])
    )
    encoder = made(GraphConfig())
    batch = {name: tensor.tolist() for name, tensor in encoder.collate([first, second]).items()}
    assert batch == {
        "nodes": [[0, 5], [1, 6], [2, 7], [2, 8], [2, 9]],
        "links": [[0, 4, 3], [1, 2, 3]],
        "flow": [2, 1, 0],
        "position": [3, 0, 4],
        "graph": [0, 0, 1, 1, 1],
        "sizes": [2, 3],
    }


def test_graphs_of_counts_need_no_tokens() -> None:
    encoder = GraphEncoder(GraphConfig(), BLOCK_COLUMNS)
    nodes: NDArray[np.int64] = np.array([[1, 10, 0, 2, 3, 1, 0], [1, 4000, 1, 0, 0, 0, 2]])
    graph = GraphArrays(nodes, np.array([[0, 1, 0, 0]]))
    larger = GraphArrays(nodes * 2, graph.edges)
    assert not shared.same(shared.encoded(encoder, [graph]), shared.encoded(encoder, [larger]))


def test_tokens_with_vectors_are_fixed_and_the_others_are_learned(tmp_path: Path) -> None:
    texts = shipped_vocabulary().texts
    add, variable = texts.index("add i32"), texts.index("i32")
    write_inst2vec(tmp_path, {"<%ID> = add nsw i32 <%ID>, <INT>": [1.0, 0, 2]})
    torch.manual_seed(0)
    encoder = GraphEncoder(GraphConfig(token_vectors=str(tmp_path)), PROGRAM_COLUMNS)
    before = encoder.nodes(torch.tensor([[0, add, 0, 0], [0, variable, 0, 0]]))
    linear, token = (encoder.nodes.get_submodule(name) for name in ("linear", "token"))
    assert isinstance(linear, torch.nn.Linear)
    assert isinstance(token, torch.nn.Embedding)
    kind = encoder.nodes.get_submodule("kind")(torch.tensor(0))
    assert shared.same(before[0], kind + linear.weight[:, 0] + 2 * linear.weight[:, 2])
    assert shared.same(before[1], kind + token.weight[variable])
    before.sum().backward()
    assert token.weight.grad is not None
    assert not token.weight.grad[add].any()
    assert token.weight.grad[variable].any()
    assert shared.gradients_are_right(encoder, shared.graphs(6))


def test_graphs_without_tokens_have_no_vectors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no tokens; expected 'programl'"):
        GraphEncoder(GraphConfig(token_vectors=str(tmp_path)), BLOCK_COLUMNS)


def test_classes_of_nodes_are_embedded() -> None:
    """No line through the numbers of kinds is needed: whichever has the same embedding is the same."""
    encoder = GraphEncoder(GraphConfig(), ("kind", "points"))
    embedding = encoder.nodes.get_submodule("classes.0")
    assert isinstance(embedding, torch.nn.Embedding)
    with torch.no_grad():
        linear = encoder.nodes.get_submodule("linear")
        assert isinstance(linear, torch.nn.Linear)
        linear.weight[:, 0] = 0
        embedding.weight[7] = embedding.weight[3]

    def of_kind(kind: int) -> Tensor:
        lonely = np.zeros((0, 4), dtype=np.int64)
        return shared.encoded(encoder, [GraphArrays(np.array([[kind, 100]]), lonely)])

    assert shared.same(of_kind(3), of_kind(7))
    assert not shared.same(of_kind(3), of_kind(5))
    assert shared.same(of_kind(31), of_kind(1000))  # the last class has all others


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layer": "gcn"}, "'gatv2' or 'gine', not 'gcn'"),
        ({"pool": "sum"}, "'mean', 'max' or 'attention', not 'sum'"),
        ({"width": 10}, "10 cannot be shared by 4 heads"),
        ({"edge_width": 3}, "even edge_width"),
        ({"layers": 0}, "at least 1"),
    ],
)
def test_wrong_configurations(values: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        GraphConfig(**values)  # type: ignore[arg-type]


@each_config
def test_encoder_is_its_parts(config: GraphConfig) -> None:
    """Embeddings, layers with a ReLU after each and around it the nodes' own vectors, pool, size, readout."""
    encoder = made(config)
    (graph,) = shared.graphs(11, (9,))
    batch = encoder.collate([graph])
    links, edges = encoder._edges(batch)
    kind, token = torch.from_numpy(graph.nodes[:, :2]).T
    nodes: Any = encoder.nodes
    x = nodes.kind.weight[kind] + nodes.token.weight[token]
    for norm, layer in zip(encoder.norms, encoder.layers, strict=True):
        x = x + torch.relu(layer(norm(x), links, edges))
    pooled = encoder._pooled(x, torch.zeros(9, dtype=torch.int64), torch.tensor([9]))
    joined = torch.cat([pooled, torch.tensor([[np.log(10)]], dtype=torch.float32)], dim=1)
    assert shared.same(shared.encoded(encoder, [graph]), encoder.readout(joined))


@each_config
def test_positions_belong_to_their_edges(config: GraphConfig) -> None:
    encoder, graph = made(config), shared.graph(np.random.default_rng(3), 30, 90)
    edges = graph.edges.copy()
    edges[:, 3] = np.roll(edges[:, 3], 1)
    different = shared.encoded(encoder, [GraphArrays(graph.nodes, edges)]) - shared.encoded(encoder, [graph])
    assert different.abs().max() > 1e-4
