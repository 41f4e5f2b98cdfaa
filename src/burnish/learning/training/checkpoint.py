"""Checkpoint of a training run: one file, which is always complete."""

from __future__ import annotations

import fcntl
import os
import pickle
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import GraphInstance

from burnish.core.errors import InputError

FORMAT = 1
FILE = "checkpoint.pt"
LOOK_SECONDS = 0.2  # between two looks at a lock


@dataclass(frozen=True)
class Best:
    """The best policy so far."""

    iteration: int
    metrics: dict[str, float]  # of its validation
    policy: dict[str, Any]  # its state_dict


@dataclass(frozen=True)
class Checkpoint:
    """The complete state of a run: from it, training continues with the same curve."""

    config: dict[str, Any]  # Config.to_dict()
    iteration: int
    steps: int
    seconds: float  # of work so far, without interruptions
    log_bytes: int  # length of the log then: later lines are of iterations that will be repeated
    stale: int  # validations since the best one
    state: dict[str, Any]  # the training's
    best: Best | None = None
    finished: str = ""  # the reason why the run is over; "" if it is not


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of a run's `locked` folder; a kill leaves either the old or the new checkpoint.

    Raises:
        InputError: the file cannot be written.
    """
    content = {name: getattr(checkpoint, name) for name in _names(Checkpoint)}
    best = checkpoint.best
    content["best"] = best and {name: getattr(best, name) for name in _names(Best)}
    path, partial = folder / FILE, folder / f".{FILE}.partial"
    try:
        with partial.open("wb") as file:  # not via bytes in memory, because a replay buffer is large
            torch.save({"format": FORMAT, **content}, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except (OSError, RuntimeError) as error:  # torch raises RuntimeError if the disk is full
        partial.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot write there: {error}") from None


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Read the checkpoint of a run's folder; None if the folder has no checkpoint.

    No code in the file is executed, because the file may come from an untrusted source.

    Raises:
        InputError: the file is damaged, or another version of burnish wrote it.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        with torch.serialization.safe_globals(_plain()):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path}: not a checkpoint: {first}; remove it to start again") from None
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise InputError(f"{path}: not a checkpoint of this version of burnish; remove it to start again")
    best = content.pop("best")
    return Checkpoint(**content, best=best and Best(**best))


def diverged(what: str) -> InputError:
    """Return the error for a diverged training, which can continue only from its checkpoint."""
    return InputError(
        f"training diverged: {what}; the last checkpoint is kept; a smaller algorithm.learning_rate may help"
    )


@contextmanager
def locked(folder: Path, wait_seconds: float = 0.0) -> Iterator[None]:
    """Lock a folder so that no other process trains there; the lock ends with the process.

    Args:
        folder: The run's folder.
        wait_seconds: The longest wait for a process that is about to end.

    Raises:
        InputError: another process already trains there.
    """
    with (folder / ".lock").open("w") as file:
        end = time.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= end:
                    raise InputError(
                        f"{folder}: another process is training there; take another --out"
                    ) from None
                time.sleep(LOOK_SECONDS)
        yield


def _plain() -> list[Any]:
    """Return the types that a replay buffer adds to tensors, numbers and lists: arrays and graphs."""
    array = np.zeros(1)
    dtypes = {
        type(np.dtype(name)) for name in ("bool", "int64", "int32", "uint8", "float16", "float32", "float64")
    }
    makers = [array.__reduce__()[0], array[0].__reduce__()[0]]
    return [np.ndarray, np.dtype, *dtypes, *makers, bytes, GraphInstance]  # bytes: for empty arrays


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind)]
