"""Message passing on graphs: GATv2 (Brody et al. 2022) and GINE (Hu et al. 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATv2Conv, GINEConv
from torch_geometric.utils import scatter, softmax

from burnish.core.errors import InputError
from burnish.core.objective import GraphArrays
from burnish.learning.networks.encoder import Encoder, to_tensors
from burnish.learning.networks.positions import sinusoidal
from burnish.llvm.representations.graph import FLOWS, KINDS, TOKENS
from burnish.llvm.representations.inst2vec import token_vectors
from burnish.policies.batches import Graphs

CLASSES = {"kind": 32, "stage": 8}
"""Columns whose numbers name classes, and the number of classes; the last one includes all larger numbers."""


@dataclass(frozen=True)
class GraphConfig:
    """The layers, their edge features, and the pooling of nodes to one vector."""

    layer: Literal["gatv2", "gine"] = "gatv2"
    width: int = 64
    layers: int = 3
    heads: int = 4  # of gatv2; they share the width
    edge_width: int = 16
    both_ways: bool = True  # add reversed edges, as separate kinds of edges
    pool: Literal["mean", "max", "attention"] = "mean"
    token_vectors: str = (
        ""  # folder of inst2vec's files: fixed vectors of instructions, instead of learned ones
    )

    def __post_init__(self) -> None:
        if self.layer not in ("gatv2", "gine"):
            raise InputError(f"layer: expected 'gatv2' or 'gine', not {self.layer!r}")
        if self.pool not in ("mean", "max", "attention"):
            raise InputError(f"pool: expected 'mean', 'max' or 'attention', not {self.pool!r}")
        if min(self.width, self.layers, self.heads) < 1 or self.edge_width < 2 or self.edge_width % 2:
            raise InputError("expected a width, layers and heads of at least 1 and an even edge_width")
        if self.layer == "gatv2" and self.width % self.heads:
            raise InputError(f"width {self.width} cannot be shared by {self.heads} heads; take a multiple")


class GraphEncoder(Encoder):
    """Embed nodes and edges, pass messages, pool.

    In graphs with tokens, a node is the sum of the embeddings of its kind and its token. With
    `token_vectors`,  tokens that have a vector get a linear function of it instead. In other graphs, a
    node is a linear function  of log(1 + its columns), plus the embeddings of the columns in CLASSES. An
    edge is the sum of the embedding  of its flow (and direction) and the sinusoidal encoding of its
    position. Layers are  x + relu(layer(norm(x), edges)). Pooled vectors get log(1 + nodes) as an
    element, which a mean lacks.
    """

    def __init__(self, config: GraphConfig, columns: Sequence[str]) -> None:
        """Make the layers for graphs whose nodes have these columns.

        Raises:
            InputError: `token_vectors` is not a folder of inst2vec's files, or the nodes have no tokens.
        """
        super().__init__()
        if config.token_vectors and "token" not in columns:
            raise InputError("token_vectors: the nodes of this graph have no tokens; expected 'programl'")
        self.config = config
        self.inputs = Graphs()
        self.columns = len(columns)
        self.width = width = config.width
        self.nodes = (
            _TokenNodes(width, columns, config.token_vectors)
            if "token" in columns
            else _CountNodes(width, columns)
        )
        self.flow = nn.Embedding(2 * len(FLOWS), config.edge_width)  # against the edge: + len(FLOWS)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(config.layers))
        self.layers = nn.ModuleList(_layer(config) for _ in range(config.layers))
        self.gate = nn.Linear(width, 1) if config.pool == "attention" else None
        self.readout = nn.Sequential(nn.Linear(width + 1, width), nn.ReLU())

    def example(self) -> list[Any]:
        """See Encoder."""
        edges = np.array([(0, 1, 0, 0), (1, 0, 0, 1)], dtype=np.int64)
        return [GraphArrays(np.zeros((size, self.columns), dtype=np.int64), edges) for size in (2, 3, 4)]

    def collate(self, observations: Sequence[Any]) -> dict[str, Tensor]:
        """Return a batch of the distinct graphs; `place` int64[B] leads from an observation to its graph.

        Many actions leave a program as it is, so the graphs of a rollout repeat.
        """
        distinct = dict[tuple[bytes, ...], Any]()
        keys = [_key(observed) for observed in observations]
        for key, observed in zip(keys, observations, strict=True):
            distinct.setdefault(key, observed)
        batch: dict[str, Tensor] = to_tensors(self.inputs.batch([*distinct.values()]), self.device)
        if len(distinct) < len(observations):
            number = {key: i for i, key in enumerate(distinct)}
            place = [number[key] for key in keys]
            batch["place"] = torch.tensor(place, device=self.device)
        return batch

    def forward(self, batch: dict[str, Tensor]) -> Tensor:
        """Return float32[B, width] for a batch that `collate` or `Graphs.batch` made."""
        links, edges = self._edges(batch)
        x: Tensor = self.nodes(batch["nodes"])
        # Add a first node that belongs to no graph, with an edge to itself, because attention's maximum over
        # no edges at all fails in ONNX files.
        x, edges = nn.functional.pad(x, (0, 0, 1, 0)), nn.functional.pad(edges, (0, 0, 1, 0))
        links = nn.functional.pad(links + 1, (1, 0))
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + torch.relu(layer(norm(x), links, edges))
        size = torch.log1p(batch["sizes"].to(x.dtype)).unsqueeze(-1)
        vectors: Tensor = self.readout(
            torch.cat([self._pooled(x[1:], batch["graph"], batch["sizes"]), size], 1)
        )
        return vectors[batch["place"]] if "place" in batch else vectors

    def _edges(self, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return links int64[2, E] and edge features float32[E, edge_width]; `both_ways` doubles E."""
        links, flow, position = batch["links"], batch["flow"], batch["position"]
        places = sinusoidal(position, self.config.edge_width)
        edges = self.flow(flow) + places
        if self.config.both_ways:
            links = torch.cat([links, links.flip(0)], dim=1)
            edges = torch.cat([edges, self.flow(flow + len(FLOWS)) + places])
        return links, edges

    def _pooled(self, x: Tensor, graph: Tensor, sizes: Tensor) -> Tensor:
        """Return pooled vectors float32[B, width] of nodes float32[N, width]; 0 for a graph without nodes."""
        graphs = sizes.shape[0]
        if self.config.pool == "max":
            largest: Tensor = scatter(x, graph, dim_size=graphs, reduce="max")
            return largest
        if self.gate is not None:
            x = x * softmax(self.gate(x), graph, num_nodes=graphs)
        total = x.new_zeros(graphs, x.shape[1]).index_add(0, graph, x)
        return total if self.gate is not None else total / sizes.clamp(min=1).unsqueeze(-1)


def _key(observed: Any) -> tuple[bytes, ...]:
    """Return the bytes of a graph's arrays, which are equal for equal graphs."""
    parts = (observed.edges,) if isinstance(observed, GraphArrays) else (observed.edge_links, observed.edges)
    return tuple(np.ascontiguousarray(part).tobytes() for part in (observed.nodes, *parts))


class _TokenNodes(nn.Module):
    vectors: Tensor  # float32[TOKENS, D]; 0 for a token without a vector
    known: Tensor  # bool[TOKENS, 1]: whether a token has a vector

    def __init__(self, width: int, columns: Sequence[str], folder: str) -> None:
        super().__init__()
        self.columns = [list(columns).index(name) for name in ("kind", "token")]
        self.kind = nn.Embedding(len(KINDS), width)
        self.token = nn.Embedding(TOKENS, width)
        self.linear: nn.Linear | None = None
        if folder:
            vectors = torch.from_numpy(token_vectors(Path(folder)))
            self.register_buffer("vectors", nn.functional.pad(vectors, (0, 0, 0, TOKENS - len(vectors))))
            self.register_buffer("known", self.vectors.any(dim=1, keepdim=True))
            self.linear = nn.Linear(vectors.shape[1], width, bias=False)

    def forward(self, nodes: Tensor) -> Tensor:
        kind, token = (nodes[:, column] for column in self.columns)
        learned: Tensor = self.token(token)
        if self.linear is not None:
            learned = torch.where(self.known[token], self.linear(self.vectors[token]), learned)
        embedded: Tensor = self.kind(kind) + learned
        return embedded


class _CountNodes(nn.Module):
    def __init__(self, width: int, columns: Sequence[str]) -> None:
        super().__init__()
        self.linear = nn.Linear(len(columns), width)
        self.columns = [number for number, name in enumerate(columns) if name in CLASSES]
        self.classes = nn.ModuleList(nn.Embedding(CLASSES[columns[number]], width) for number in self.columns)

    def forward(self, nodes: Tensor) -> Tensor:
        embedded: Tensor = self.linear(torch.log1p(nodes.clamp(min=0).to(self.linear.weight.dtype)))
        for column, embedding in zip(self.columns, self.classes, strict=True):
            assert isinstance(embedding, nn.Embedding)
            embedded = embedded + embedding(nodes[:, column].clamp(0, embedding.num_embeddings - 1))
        return embedded


def _layer(config: GraphConfig) -> nn.Module:
    """Return a layer without self-loops, because its result is added to the node's own vector."""
    width = config.width
    if config.layer == "gine":
        update = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        gine: nn.Module = GINEConv(update, train_eps=True, edge_dim=config.edge_width)
        return gine
    gatv2: nn.Module = GATv2Conv(
        width, width // config.heads, config.heads, edge_dim=config.edge_width, add_self_loops=False
    )
    return gatv2
