"""The checkpoint of a training run: one file that is there whole or not at all."""

from __future__ import annotations

import fcntl
import os
import pickle
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


@dataclass(frozen=True)
class Best:
    """The best policy so far."""

    iteration: int
    metrics: dict[str, float]  # of its validation
    policy: dict[str, Any]  # its state


@dataclass(frozen=True)
class Checkpoint:
    """All that is needed to go on to the same curve."""

    config: dict[str, Any]  # Config.to_dict()
    iteration: int
    steps: int
    seconds: float  # of work so far, whatever it was interrupted by
    log_bytes: int  # how long the log was: lines behind it are of iterations that will be done again
    stale: int  # validations since the best one
    state: dict[str, Any]  # the training's
    best: Best | None = None
    finished: str = ""  # why, where the run is over


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint of a run's folder, which is `locked`; a kill leaves the old one or this one.

    Raises:
        InputError: it cannot be written.
    """
    content = {name: getattr(checkpoint, name) for name in _names(Checkpoint)}
    best = checkpoint.best
    content["best"] = best and {name: getattr(best, name) for name in _names(Best)}
    path, partial = folder / FILE, folder / f".{FILE}.partial"
    try:
        with partial.open("wb") as file:  # not by way of bytes: a replay buffer is large
            torch.save({"format": FORMAT, **content}, file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except (OSError, RuntimeError) as error:  # the latter is torch's word for a full disk
        partial.unlink(missing_ok=True)
        raise InputError(f"{path}: cannot write there: {error}") from None


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Read the checkpoint of a run's folder; None where there is none.

    Nothing in the file is run: it may come from somebody else.

    Raises:
        InputError: it is damaged, or another version of burnish wrote it.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        with torch.serialization.safe_globals(_plain()):
            content = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, pickle.UnpicklingError) as error:
        first = str(error).partition("\n")[0]
        raise InputError(f"{path}: not a checkpoint: {first}; remove it to begin anew") from None
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise InputError(f"{path}: not a checkpoint of this version of burnish; remove it to begin anew")
    best = content.pop("best")
    return Checkpoint(**content, best=best and Best(**best))


def diverged(what: str) -> InputError:
    """Say that a training cannot go on from here, but from its checkpoint."""
    return InputError(
        f"training diverged: {what}; the last checkpoint is kept; a smaller algorithm.learning_rate may help"
    )


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from training in the same folder; the lock ends with the process.

    Raises:
        InputError: another one does already.
    """
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(f"{folder}: another process is training there; take another --out") from None
        yield


def _plain() -> list[Any]:
    """Return what may be in a checkpoint beside tensors, numbers and lists: arrays and graphs of a replay."""
    array = np.zeros(1)
    dtypes = {
        type(np.dtype(name)) for name in ("bool", "int64", "int32", "uint8", "float16", "float32", "float64")
    }
    makers = [array.__reduce__()[0], array[0].__reduce__()[0]]
    return [np.ndarray, np.dtype, *dtypes, *makers, bytes, GraphInstance]  # bytes: of an empty array


def _names(kind: type[Any]) -> list[str]:
    return [field.name for field in fields(kind)]
