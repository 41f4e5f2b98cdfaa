"""The peers: what a user of torch, its compiler, IREE or JAX would take in place of a schedule."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from burnish.core.errors import BurnishError, Miscompiled, MissingTool, UnknownName
from mlir_schedules.benches import Bench

PEERS: Mapping[str, str] = {  # and the package that says which version it is
    "torch": "torch",
    "compile": "torch",
    "iree": "iree-base-compiler",
    "jax": "jax",
}
TITLES = {"torch": "torch", "compile": "torch.compile", "iree": "IREE", "jax": "JAX"}
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
LONGEST = 200  # of a message
FAILURES = (BurnishError, RuntimeError, ValueError, TypeError, OSError)  # what compilers raise

Call = Callable[[], Any]


@dataclass(frozen=True)
class Way:
    """One way in which a peer computes a program; to make it is free: compilation, layouts of weights."""

    name: str
    make: Callable[[], Call]  # returns what computes once, and returns the output when it is there
    result: Callable[[Any], NDArray[Any]]  # the output as the program has it


@dataclass(frozen=True)
class Form:
    """A way that is ready and right."""

    name: str
    call: Call


def load(peer: str) -> Callable[[Bench], Iterator[Way]]:
    """Return a peer's ways of a program.

    Raises:
        UnknownName: there is no such peer.
        MissingTool: it is not installed.
    """
    if peer not in PEERS:
        raise UnknownName.among("peer", peer, PEERS)
    try:
        found: Callable[[Bench], Iterator[Way]] = importlib.import_module(f"mlir_schedules.{peer}_forms").ways
    except ModuleNotFoundError as error:
        raise MissingTool(
            f"{error}; install it: python -m pip install -c constraints.txt -r {REQUIREMENTS}, "
            f"or leave {peer} out of --peers"
        ) from None
    return found


def forms(peer: str, bench: Bench, failed: dict[str, str]) -> Iterator[Form]:
    """Yield each form of a peer, called once and compared; note why others are none.

    Raises:
        MissingTool: the peer is not installed.
    """
    any_way = False
    for way in load(peer)(bench):
        any_way, name = True, f"{peer}/{way.name}"
        try:
            call = way.make()
            bench.check(way.result(call()), name)
        except FAILURES as error:
            failed[name] = _line(error)
        else:
            yield Form(name, call)
    if not any_way:
        failed[peer] = "not written for it"


def versions(peers: list[str]) -> dict[str, str]:
    """Return which versions of the peers are installed."""
    return {peer: version(PEERS[peer]) for peer in peers}


def _line(error: Exception) -> str:
    """Return what an error says, in a line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if "error:" in line] or lines or [""]
    name = "" if isinstance(error, Miscompiled) else f"{type(error).__name__}: "
    return f"{name}{said[0]}"[:LONGEST]
