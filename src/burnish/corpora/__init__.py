"""Programs: real C and C++ from pinned packages, one's own files, random ones; on disk, and by name."""

from burnish.corpora.demo import demo_units
from burnish.corpora.fetch import fetch
from burnish.corpora.manifest import Package, find_package, load_manifest
from burnish.corpora.random_modules import random_module
from burnish.corpora.references import resolve
from burnish.corpora.store import Corpus, open_corpus
from burnish.corpora.units import Failed, Skipped, Unit, translation_units

__all__ = [
    "Corpus",
    "Failed",
    "Package",
    "Skipped",
    "Unit",
    "demo_units",
    "fetch",
    "find_package",
    "load_manifest",
    "open_corpus",
    "random_module",
    "resolve",
    "translation_units",
]
