"""Translation units of `make demo`: the zopfli compression library."""

from __future__ import annotations

from pathlib import Path

from burnish.llvm.corpora.fetch import Progress, fetch
from burnish.llvm.corpora.manifest import find_package
from burnish.llvm.corpora.units import Unit, translation_units

PACKAGE = "zopfli"
# Plain C that needs only the C library's headers; excludes the Python bindings and the C++ tool beside it.
FOLDER = "zopfli/src/zopfli"


def demo_units(directory: Path, progress: Progress | None = None) -> list[Unit]:
    """Fetch zopfli into `directory` and return the 12 C files of its library (20 to 4,000 instructions each).

    Raises:
        InputError: the download failed; the message suggests a remedy.
        MissingTool: this Python has no pip.
    """
    package = find_package(PACKAGE)
    root = fetch(package, directory, progress)
    return [unit for unit in translation_units(root, package, within=FOLDER) if isinstance(unit, Unit)]
