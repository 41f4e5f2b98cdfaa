"""What inline functions alone use, in their COMDAT groups: a linker drops it with their copies."""

from __future__ import annotations

from burnish import _native


def in_groups(bitcode: bytes) -> bytes:
    """Return a module after its last pass with its local functions in groups (native/groups.h)."""
    module = _native.Module(bitcode, "optimized")
    return module.bitcode() if module.join_groups() else bitcode
