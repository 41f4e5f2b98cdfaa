"""Real C and C++ from pinned packages: manifest, fetch by digest, translation units."""

from burnish.corpora.build import Failed, Skipped, Unit, translation_units
from burnish.corpora.demo import demo_units
from burnish.corpora.fetch import fetch
from burnish.corpora.manifest import Package, find_package, load_manifest

__all__ = [
    "Failed",
    "Package",
    "Skipped",
    "Unit",
    "demo_units",
    "fetch",
    "find_package",
    "load_manifest",
    "translation_units",
]
