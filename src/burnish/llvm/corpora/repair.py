"""Repairs of clang's options in response to clang's errors."""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, replace

from burnish.llvm.corpora.config_headers import generate_header
from burnish.llvm.corpora.tree import FOREIGN, SourceTree

ERROR = re.compile(r"error: (.*)")
MISSING_FILE = re.compile(r"'([^']+)' file not found")
MISSING_FEATURES = re.compile(r"target features? '([^']+)'|needs target features? ([\w.,|() -]+)")
PYTHON_HEADERS = ("Python.h", "pyconfig.h")
# Errors about features that C++17 removed from the language and its library.
REMOVED_IN_CXX17 = re.compile(
    r"C\+\+17|'register'|\b(auto_ptr|random_shuffle|unary_function|binary_function|bind1st|bind2nd)\b"
)


@dataclass(frozen=True)
class Repairs:
    """Options that repairs have found so far for one file."""

    roots: tuple[str, ...] = ()  # include roots, relative to the sdist
    flags: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()  # includes whose headers were generated


def first_error(report: str) -> str:
    """Return the text of the first error in clang's output; without an error, the last line."""
    if found := ERROR.search(report):
        return found[1]
    return report.strip().rpartition("\n")[2]


def repair(
    options: Repairs, error: str, tree: SourceTree, near: str, defines: Sequence[str]
) -> Repairs | None:
    """Return options that may repair an error in a file of the folder `near`; None if no repair applies."""
    better = options
    if missing := MISSING_FILE.search(error):
        better = _add_root(options, missing[1], tree, near, defines)
    elif features := MISSING_FEATURES.search(error):
        names = re.findall(r"[\w.-]+", features[1] or features[2])
        better = _add_flags(options, *(f"-m{name}" for name in names))
    elif REMOVED_IN_CXX17.search(error):
        better = _add_flags(options, "-std=gnu++14")
    return better if better != options else None


def _add_root(options: Repairs, include: str, tree: SourceTree, near: str, defines: Sequence[str]) -> Repairs:
    root = tree.include_root(include, near)
    made = None
    if root is None or FOREIGN.search(f"{root}/{include}"):  # prefer a generated config.h to a foreign one
        made = generate_header(tree, include, near, defines)
    if made is not None:
        # record each header: the root alone may be known already, because of another header
        generated = tuple(dict.fromkeys([*options.generated, include]))
        return replace(options, roots=_with(options.roots, made), generated=generated)
    if root is not None:
        return replace(options, roots=_with(options.roots, root))
    if include in PYTHON_HEADERS:  # last, so that it does not hide a header of the sdist
        return _add_flags(options, "-idirafter", sysconfig.get_path("include"))
    return options


def _with(roots: tuple[str, ...], root: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*roots, root or "."]))


def _add_flags(options: Repairs, *flags: str) -> Repairs:
    new = [flag for flag in flags if flag not in options.flags]
    return replace(options, flags=(*options.flags, *new))
