"""Corpora of programs, on disk and by name: pinned C and C++ packages, a user's files, random programs.

datasets/: datasets of the literature; generators: Csmith and llvm-stress.
"""

from burnish.llvm.corpora.fetch import fetch
from burnish.llvm.corpora.manifest import SPLITS, Package, find_package, load_manifest
from burnish.llvm.corpora.public import demo_units
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.corpora.references import resolve
from burnish.llvm.corpora.store import Corpus, open_corpus
from burnish.llvm.corpora.units import NotCompiled, Unit, translation_units

__all__ = [
    "SPLITS",
    "Corpus",
    "NotCompiled",
    "Package",
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
