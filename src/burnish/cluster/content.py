"""Large bytes, such as programs, travel by digest: once to a folder that nodes share, or once to a node."""

from __future__ import annotations

import hashlib
import io
import pickle
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

LARGE = 4096  # bytes; smaller ones travel with their shard
KEPT = 64  # contents that a process keeps in memory

Put = Callable[[str, bytes], None]
Get = Callable[[str], bytes]


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, put: Put) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._put = put

    def persistent_id(self, item: Any) -> str | None:
        if type(item) is not bytes or len(item) < LARGE:
            return None
        digest = hashlib.blake2b(item, digest_size=16).hexdigest()
        self._put(digest, item)
        return digest


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, get: Get) -> None:
        super().__init__(file)
        self._get = get

    def persistent_load(self, digest: Any) -> bytes:
        return self._get(digest)


def pack(item: Any, put: Put) -> bytes:
    """Return an object's pickle, in which digests stand for large bytes; `put` gets each of these."""
    file = io.BytesIO()
    _Packer(file, put).dump(item)
    return file.getvalue()


def unpack(packed: bytes, get: Get) -> Any:
    """Return the object of a pickle by `pack`; `get` returns the bytes of a digest."""
    return _Unpacker(io.BytesIO(packed), get).load()


@lru_cache(maxsize=KEPT)
def read_content(folder: Path, digest: str) -> bytes:
    """Return the bytes of a digest from a folder; a process reads them once."""
    return (folder / digest).read_bytes()
