"""Import hook of tools/sanitize.sh: every Python process loads burnish._native from build/sanitize."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

(EXTENSION,) = (Path(__file__).parents[2] / "build" / "sanitize").glob("_native.*.so")


class Finder(MetaPathFinder):
    """A finder of burnish._native alone, placed before that of an editable installation."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of burnish._native, None for every other module."""
        return spec_from_file_location(name, EXTENSION) if name == "burnish._native" else None


sys.meta_path.insert(0, Finder())
