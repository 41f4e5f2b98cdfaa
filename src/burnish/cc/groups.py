"""Local functions that only inline functions use, moved to their COMDAT groups: linkers drop both at once."""

from __future__ import annotations

from burnish import _native


def in_groups(bitcode: bytes) -> bytes:
    """Return an optimized module with its local functions in groups (native/groups.h)."""
    module = _native.Module(bitcode, "optimized")
    return module.bitcode() if module.join_groups() else bitcode
