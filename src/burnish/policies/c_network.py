"""A perceptron as C: its weights, and a function with the native core's outputs. Needs math.h (-lm)."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.policies.arrays import ArraysPolicy, Linear
from burnish.policies.choose import Floats
from burnish.policies.layers import layers_of
from burnish.policies.native import native_network

NUMBERS_IN_A_LINE = 6

TEXT = """\
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

{arrays}

static inline void {name}_layer(const float *weight, const float *bias, size_t inputs, size_t outputs,
                                const float *x, float *y) {{
  for (size_t j = 0; j < outputs; ++j)
    y[j] = 0;
  for (size_t i = 0; i < inputs; ++i)
    for (size_t j = 0; j < outputs; ++j)
      y[j] += x[i] * weight[i * outputs + j];
  for (size_t j = 0; j < outputs; ++j)
    y[j] += bias[j];
}}
{norm}
/* Compute the network's outputs. */
static inline void {name}_evaluate(const float features[{count}], float outputs[{outputs}]) {{
  float x[{widest}], y[{widest}];
  for (size_t i = 0; i < {count}; ++i) {{
    float value = features[i];
{scaled}
  }}
{layers}
  for (size_t j = 0; j < {outputs}; ++j)
    outputs[j] = x[j];
}}
"""
NORM = """
static inline void {name}_normalize(const float *weight, const float *shift, size_t outputs, float *y) {{
  float mean = 0, square = 0;
  for (size_t j = 0; j < outputs; ++j)
    mean += y[j];
  for (size_t j = 0; j < outputs; ++j) {{
    y[j] -= mean / (float)outputs;
    square += y[j] * y[j];
  }}
  square = sqrtf(square / (float)outputs + 1e-5f);
  for (size_t j = 0; j < outputs; ++j)
    y[j] = y[j] / square * weight[j] + shift[j];
}}
"""
STANDARDIZED = "(value - {name}_mean[i]) / {name}_deviation[i]"
QUANTILES = """\
    size_t below = 0;
    while (below < {steps} && {name}_boundaries[i][below] <= value)
      ++below;
    float share = (float)below / {steps}.0f;
    x[i] = share;
    x[{count} + i] = share * share;
    x[{twice} + i] = sqrtf(share);
    x[{thrice} + i] = {standardized};"""
ACTIVATIONS = {"relu": "y[j] > 0 || isnan(y[j]) ? y[j] : 0", "tanh": "tanhf(y[j])"}


def c_name(name: str) -> str:
    """Return a name if it is valid in C, or raise InputError."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise InputError(f"{name!r} is not a name in C; expected letters, digits and _, such as my_policy")
    return name


def c_network(policy: ArraysPolicy, name: str) -> str:
    """Return C with a function `{name}_evaluate(features, outputs)`.

    Raises:
        InputError: the shapes of the policy's arrays do not match, or a weight is not finite.
    """
    native_network(policy)  # checks shapes and numbers
    network, layers, count = policy.encoder, layers_of(policy), len(policy.encoder.mean)
    standardized = STANDARDIZED.format(name=name)
    if network.boundaries is not None:
        scaled = QUANTILES.format(
            name=name,
            count=count,
            twice=2 * count,
            thrice=3 * count,
            steps=network.boundaries.shape[1],
            standardized=standardized,
        )
    else:
        logs = "    value = copysignf(log1pf(fabsf(value)), value);\n" if network.log1p else ""
        scaled = f"{logs}    x[i] = {standardized};"
    widths = [len(layers[0].weight), *(len(layer.bias) for layer in layers)]
    return TEXT.format(
        name=name,
        count=count,
        outputs=widths[-1],
        widest=max(widths),
        arrays="\n\n".join(_arrays(policy, name, layers)),
        norm=NORM.format(name=name) if any(layer.norm_weight is not None for layer in layers) else "",
        scaled=scaled,
        layers="\n".join(_steps(name, layers, network.activation)),
    )


def _arrays(policy: ArraysPolicy, name: str, layers: tuple[Linear, ...]) -> Iterator[str]:
    network = policy.encoder
    yield _array(f"{name}_mean", network.mean)
    yield _array(f"{name}_deviation", network.deviation)
    if network.boundaries is not None:
        yield _array(f"{name}_boundaries", network.boundaries)
    for number, layer in enumerate(layers):
        for part, array in vars(layer).items():
            if array is not None:
                yield _array(f"{name}_{part}{number}", array.ravel() if part == "weight" else array)


def _array(name: str, array: Floats) -> str:
    """Return an array of one or two axes as C; hexadecimal numbers keep its exact values."""
    if array.ndim == 1:
        return f"static const float {name}[{len(array)}] = {{\n{_numbers(array)}\n}};"
    rows = ",\n".join(f"{{\n{_numbers(row)}\n}}" for row in array)
    return f"static const float {name}[{len(array)}][{array.shape[1]}] = {{\n{rows}\n}};"


def _numbers(array: NDArray[np.float32]) -> str:
    texts = [f"{float(value).hex()}f" for value in array]
    lines = [texts[i : i + NUMBERS_IN_A_LINE] for i in range(0, len(texts), NUMBERS_IN_A_LINE)]
    return ",\n".join("    " + ", ".join(line) for line in lines)


def _steps(name: str, layers: tuple[Linear, ...], activation: str) -> Iterator[str]:
    for number, layer in enumerate(layers):
        inputs, outputs = layer.weight.shape
        arrays = f"{name}_weight{number}, {name}_bias{number}"
        yield f"  {name}_layer({arrays}, {inputs}, {outputs}, x, y);"
        if layer.norm_weight is not None:
            yield f"  {name}_normalize({name}_norm_weight{number}, {name}_norm_bias{number}, {outputs}, y);"
        value = "y[j]" if layer is layers[-1] else ACTIVATIONS[activation]
        yield f"  for (size_t j = 0; j < {outputs}; ++j)\n    x[j] = {value};"
