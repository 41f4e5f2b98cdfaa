"""The peers: torch, torch.compile, IREE, JAX and NumPy, as a user would use them in place of a schedule."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from burnish.core.errors import BurnishError, Miscompiled, MissingTool, UnknownName
from burnish.tasks.mlir_schedules.peers.way import Call, Way
from mlir_schedules.benches import Bench

PEERS: Mapping[str, str] = {  # the package whose version is reported, by peer
    "torch": "torch",
    "compile": "torch",
    "iree": "iree-base-compiler",
    "jax": "jax",
    "numpy": "numpy",
}
TITLES = {"torch": "torch", "compile": "torch.compile", "iree": "IREE", "jax": "JAX", "numpy": "NumPy"}
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
LONGEST = 200  # characters of a message
FAILURES = (BurnishError, RuntimeError, ValueError, TypeError, OSError)  # errors that compilers raise


@dataclass(frozen=True)
class Form:
    """A way that is compiled and has passed the check."""

    name: str
    call: Call


def load(peer: str) -> Callable[[Bench], Iterator[Way]]:
    """Return the function that yields a peer's ways of a program.

    Raises:
        UnknownName: there is no such peer.
        MissingTool: the peer is not installed.
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
    """Yield each form of a peer, called once and compared; add the errors of other ways to `failed`.

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
    """Return the installed versions of the peers."""
    return {peer: version(PEERS[peer]) for peer in peers}


def _line(error: Exception) -> str:
    """Return an error's message in one line of at most LONGEST characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines if "error:" in line] or lines or [""]
    name = "" if isinstance(error, Miscompiled) else f"{type(error).__name__}: "
    return f"{name}{said[0]}"[:LONGEST]
