"""The C and C++ files of public packages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from burnish import Program
from burnish.llvm.corpora import Unit, fetch, find_package, translation_units
from burnish.llvm.corpora.manifest import Package
from burnish.tasks.llvm_passes import LANGUAGE


def units_of(packages: Iterable[str | Package], sources: Path) -> Iterator[Unit]:
    """Yield the files of some packages that compile; fetch the packages into `sources` first."""
    for one in packages:
        package = find_package(one) if isinstance(one, str) else one
        for unit in translation_units(fetch(package, sources), package):
            if isinstance(unit, Unit):
                yield unit


def module_of(unit: Unit, level: str = "Oz") -> Program:
    """Return a file as the front end of a level leaves it."""
    return Program(unit.name, LANGUAGE, unit.compile(level))


def modules_of(packages: Iterable[str], sources: Path) -> list[Program]:
    """Return the modules of all files of some packages."""
    return [module_of(unit) for unit in units_of(packages, sources)]
