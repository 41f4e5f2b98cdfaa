"""Cards of trained policies: a JSON file beside each policy that describes it."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import burnish
from burnish.files import write_atomically
from burnish.learning.training.checkpoint import Best, Checkpoint
from burnish.learning.training.config import Config

CARD_VERSION = 1
PACKAGES = ("torch", "numpy", "gymnasium")


def card_path(policy: Path) -> Path:
    """Return the path of the card of a policy's file."""
    return policy.with_suffix(".card.json")


def write_card(
    policy: Path,
    config: Config,
    best: Best,
    last: Checkpoint,
    more: Mapping[str, Any],
    command: str,
) -> Path:
    """Write the card of a policy's file; `more` has the training's entries: task, actions, programs, ..."""
    card = {
        "card": CARD_VERSION,
        "file": policy.name,
        **more,
        "results": {"iteration": best.iteration, **best.metrics},
        "training": {
            "command": command,
            "iterations": last.iteration,
            "steps": last.steps,
            "seconds": round(last.seconds, 1),
            "ended": last.finished or "interrupted",
            "config": config.to_dict(),
        },
        "toolchain": versions(more.get("toolchain", {})),
    }
    path = card_path(policy)
    write_atomically(path, json.dumps(card, indent=2).encode() + b"\n")
    return path


def versions(own: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of burnish, Python, PACKAGES and the task's own tools."""
    found = {"burnish": burnish.__version__, **own, "python": platform.python_version()}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found
