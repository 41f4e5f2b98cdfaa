"""Policies as .npz files: arrays, and all other data as JSON in the entry `rest`."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError
from burnish.files import write_atomically

REST = "rest"
DAMAGE = (OSError, BadZipFile, ValueError, KeyError, TypeError, AttributeError, EOFError, InputError)
"""Exceptions from reading a file that is not a policy, or not of the expected kind."""


def write_archive(path: Path, arrays: Mapping[str, NDArray[Any]], rest: Mapping[str, Any]) -> None:
    """Write a policy's file."""
    buffer = io.BytesIO()
    text = np.frombuffer(json.dumps(rest).encode(), dtype=np.uint8)
    np.savez_compressed(buffer, allow_pickle=False, **{REST: text}, **arrays)
    write_atomically(path, buffer.getvalue())


def read_archive(path: Path, version: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read a file that `write_archive` wrote: (arrays, rest).

    Raises:
        DAMAGE: the file is not such a file, or its `format` is not `version`.
    """
    with np.load(path, allow_pickle=False) as file:
        arrays: dict[str, Any] = dict(file)
    rest: dict[str, Any] = json.loads(arrays.pop(REST).tobytes())
    if rest["format"] != version:
        raise InputError(f"format {rest['format']}; this burnish reads {version}: write the file again")
    return arrays, rest


def kind_of(path: Path) -> str:
    """Return the kind that a policy's file names; "" if it names none or is not a policy."""
    try:
        with np.load(path, allow_pickle=False) as file:
            rest = json.loads(file[REST].tobytes())
            return str(rest["kind"] if "kind" in rest else rest["card"]["kind"])
    except DAMAGE:
        return ""
