"""Export of array policies as ONNX files with inputs `features` and `mask` and output `log_probs`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import MissingTool, install
from burnish.files import write_atomically
from burnish.policies.arrays import EPSILON, ArraysPolicy, Linear
from burnish.policies.batches import inputs_to_table
from burnish.policies.choose import ILLEGAL, Floats
from burnish.policies.layers import layers_of
from burnish.policies.onnx import FORMAT, METADATA

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

OPSET = 17  # the first with LayerNormalization
IR_VERSION = 8  # of the same age as OPSET, so that older runtimes read the file


def write_onnx(policy: ArraysPolicy, path: Path) -> None:
    """Write a policy's actor as an ONNX file, for burnish.policies.onnx and other ONNX runtimes.

    Raises:
        MissingTool: onnx is not installed.
        InputError: the policy's network is not one stack of layers.
    """
    try:
        import onnx
        from onnx import helper
    except ImportError:
        raise MissingTool(f"onnx is not installed; pip install onnx, or {install('train')}") from None
    graph = _Graph()
    logits = _network(graph, policy)
    legal = graph.node("Where", "mask", logits, graph.constant(np.float32(ILLEGAL)))
    graph.node("LogSoftmax", legal, output="log_probs", axis=-1)
    number, boolean = onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL
    count, features = len(policy.actions), len(policy.encoder.mean)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "policy",
            [
                helper.make_tensor_value_info("features", number, ["batch", features]),
                helper.make_tensor_value_info("mask", boolean, ["batch", count]),
            ],
            [helper.make_tensor_value_info("log_probs", number, ["batch", count])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="burnish",
    )
    inputs = inputs_to_table(policy.inputs)
    rest = {"format": FORMAT, "actions": policy.actions, "inputs": inputs, "card": dict(policy.card)}
    helper.set_model_props(model, {METADATA: json.dumps(rest)})
    onnx.checker.check_model(model)
    write_atomically(path, model.SerializeToString())


class _Graph:
    """A graph under construction: nodes and constants, named by their number."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def node(self, kind: str, *inputs: str, output: str = "", **attributes: Any) -> str:
        """Add a node and return its output's name."""
        from onnx import helper

        output = output or f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def whole_numbers(self, *values: int) -> str:
        """Add an int64 array and return its name."""
        return self._constant(np.array(values, dtype=np.int64))

    def constant(self, value: Floats | np.float32) -> str:
        """Add an array and return its name."""
        return self._constant(value)

    def _constant(self, value: NDArray[Any] | np.float32) -> str:
        from onnx import numpy_helper

        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name


def _network(graph: _Graph, policy: ArraysPolicy) -> str:
    encoder, x = policy.encoder, "features"
    if encoder.log1p:
        size = graph.node("Log", graph.node("Add", graph.node("Abs", x), graph.constant(np.float32(1))))
        x = graph.node("Mul", graph.node("Sign", x), size)
    x = graph.node("Sub", x, graph.constant(encoder.mean))
    x = graph.node("Div", x, graph.constant(encoder.deviation))
    if encoder.boundaries is not None:
        x = graph.node("Concat", *_shares(graph, encoder.boundaries), x, axis=1)
    *hidden, last = layers_of(policy)
    for layer in hidden:
        x = graph.node({"relu": "Relu", "tanh": "Tanh"}[encoder.activation], _linear(graph, layer, x))
    return _linear(graph, last, x)


def _shares(graph: _Graph, boundaries: Floats) -> tuple[str, str, str]:
    """Return the share of a feature's boundaries that are not above it, with its square and its root."""
    last = graph.whole_numbers(-1)
    reached = graph.node(
        "GreaterOrEqual", graph.node("Unsqueeze", "features", last), graph.constant(boundaries)
    )
    ones = graph.node("Where", reached, graph.constant(np.float32(1)), graph.constant(np.float32(0)))
    below = graph.node("ReduceSum", ones, last, keepdims=0)  # exact: there are few ones
    share = graph.node("Div", below, graph.constant(np.float32(boundaries.shape[1])))
    return share, graph.node("Mul", share, share), graph.node("Sqrt", share)


def _linear(graph: _Graph, layer: Linear, x: str) -> str:
    y = graph.node("Gemm", x, graph.constant(layer.weight), graph.constant(layer.bias))
    if layer.norm_weight is None or layer.norm_bias is None:
        return y
    weight, bias = graph.constant(layer.norm_weight), graph.constant(layer.norm_bias)
    return graph.node("LayerNormalization", y, weight, bias, axis=-1, epsilon=float(EPSILON))
