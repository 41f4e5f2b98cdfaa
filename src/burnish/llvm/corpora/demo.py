"""The units of `make demo`: the library of zopfli, which everybody's PNG files have met."""

from __future__ import annotations

from pathlib import Path

from burnish.llvm.corpora.fetch import Progress, fetch
from burnish.llvm.corpora.manifest import find_package
from burnish.llvm.corpora.units import Unit, translation_units

PACKAGE = "zopfli"
# Plain C that needs the C library's headers only: not the Python bindings, nor the C++ tool beside it.
FOLDER = "zopfli/src/zopfli"


def demo_units(directory: Path, progress: Progress | None = None) -> list[Unit]:
    """Return the 12 C files of zopfli's library (20 to 4,000 instructions each), fetched into `directory`.

    Raises:
        InputError: the download failed; the message says what to do.
        MissingTool: this Python has no pip.
    """
    package = find_package(PACKAGE)
    root = fetch(package, directory, progress)
    return [unit for unit in translation_units(root, package, within=FOLDER) if isinstance(unit, Unit)]
