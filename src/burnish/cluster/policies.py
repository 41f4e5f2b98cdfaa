"""Policies that are files travel with the work: each node writes them to a folder of its own, by digest."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from burnish.core.task import Task
from burnish.files import write_atomically
from burnish.policies import find

Contents = dict[str, bytes]
"""The bytes of policies, by the names that the user gave."""


def contents_of(names: Iterable[str], task: Task) -> Contents:
    """Return the contents of those policies that are files of the user's, not shipped ones."""
    shipped = {find.DEFAULT, find.NONE, "", *find.shipped(task)}
    return {name: Path(name).read_bytes() for name in names if name not in shipped}


def path_here(name: str, content: bytes) -> str:
    """Return the path of a policy's file on this machine, which is written unless it is there.

    The file has its own name, which is the policy's name in results.
    """
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    path = Path(tempfile.gettempdir()) / f"burnish-policies-{os.getuid()}" / digest / Path(name).name
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomically(path, content)
    return str(path)
