"""Let every Python below tools/sanitize.sh take the extension of build/sanitize for burnish._native."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

(EXTENSION,) = (Path(__file__).parents[2] / "build" / "sanitize").glob("_native.*.so")


class Finder(MetaPathFinder):
    """Finds that one module, before an editable installation does."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return where the module is, None for every other."""
        return spec_from_file_location(name, EXTENSION) if name == "burnish._native" else None


sys.meta_path.insert(0, Finder())
