"""The peers: NumPy, torch, Numba and JAX, as a user would use them in place of a nest, by family."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from burnish.core.errors import Miscompiled, MissingTool, UnknownName
from burnish.tasks.loop_nests.kernel import TOLERANCES, Bench
from burnish.tasks.loop_nests.nest import DTYPES, Nest
from burnish.tasks.tensors.arrays import Array, aligned

PEERS = ("numpy", "torch", "numba", "jax")
REQUIREMENTS = Path(__file__).with_name("requirements.txt")

Tensors = SimpleNamespace
"""A peer's tensors by name: the nest's inputs and written arrays."""
Call = Callable[[], Any]
"""A function that computes the nest once and returns its finished output."""
Maker = Callable[[Tensors], Call]
"""A function that prepares a call; its work, such as another layout of weights, is not timed."""


@dataclass(frozen=True)
class Form:
    """One way in which a peer computes a nest."""

    peer: str
    name: str
    call: Call


def load(peer: str) -> tuple[Callable[[Array], Any], Mapping[str, Sequence[Maker]]]:
    """Return a peer's conversion of arrays to its tensors, and its forms of each family.

    Raises:
        UnknownName: there is no such peer.
        MissingTool: the peer is not installed.
    """
    if peer not in PEERS:
        raise UnknownName.among("peer", peer, PEERS)
    try:
        module = importlib.import_module(f"loop_nests.{peer}_forms")
    except ModuleNotFoundError as error:
        raise MissingTool(
            f"{error}; install it: python -m pip install -c constraints.txt -r {REQUIREMENTS}, "
            f"or leave {peer} out of --peers"
        ) from None
    return module.tensor, module.FORMS


def forms(peer: str, family: str, bench: Bench) -> Iterator[Form]:
    """Yield each form of a peer, called once and compared with burnish's reference.

    Raises:
        MissingTool: the peer is not installed.
        Miscompiled: its output differs.
    """
    tensor, makers = load(peer)
    for maker in makers[family]:
        nest, arrays = bench.nest, dict(bench.arrays)
        for name in nest.written:  # each form has its own outputs, so that none can return another's result
            arrays[name] = aligned(nest.shapes[name], DTYPES[nest.dtype], len(arrays) + 1)
            arrays[name].fill(np.nan)
        call = maker(Tensors(**{name: tensor(array) for name, array in arrays.items()}))
        check(nest, np.asarray(call()), bench, f"{peer}: {maker.__name__}")
        yield Form(peer, maker.__name__, call)


def check(nest: Nest, found: Array, bench: Bench, who: str) -> None:
    """Compare an output with burnish's reference in double precision.

    Raises:
        Miscompiled: the output differs.
    """
    (output,) = nest.outputs
    expected = bench.expected[output]
    if found.shape != expected.shape or found.dtype != DTYPES[nest.dtype]:
        raise Miscompiled(f"{who}: {found.dtype}{found.shape}; expected {nest.dtype}{expected.shape}")
    wrong = np.abs(found - expected) > TOLERANCES[nest.dtype] * (1 + np.abs(expected).max())
    if wrong.any() or np.isnan(found).any():
        raise Miscompiled(f"{who}: {wrong.sum()} of {wrong.size} elements of {output} differ")


def versions(peers: Sequence[str]) -> dict[str, str]:
    """Return the installed versions of the peers."""
    return {peer: version(peer) for peer in peers}
