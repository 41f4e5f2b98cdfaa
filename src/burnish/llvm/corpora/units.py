"""Translation units: every C and C++ file of a package, with the options that compile it."""

from __future__ import annotations

import itertools
import re
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from burnish.core.errors import CompileError, InputError
from burnish.llvm.corpora.config_headers import generate_header
from burnish.llvm.corpora.manifest import Package
from burnish.llvm.corpora.tree import FOREIGN, SourceTree, folder_of, index_tree
from burnish.llvm.toolchain import C_SUFFIXES, compile_to_bitcode, first_error

MOST_REPAIRS = 20  # attempts to compile one file
SMALLEST_BYTES = 100  # a smaller file has no code

HEADERS = (
    "STDINT INTTYPES STDLIB STRING STRINGS UNISTD STDBOOL STDDEF LIMITS FCNTL ERRNO SYS_TYPES SYS_STAT "
    "SYS_TIME TIME ASSERT CPUID X86INTRIN PTHREAD"
)
# Errors of current clang about old C; they become warnings, which -w hides.
LENIENT = (
    "implicit-function-declaration implicit-int int-conversion incompatible-pointer-types "
    "incompatible-function-pointer-types return-mismatch c++11-narrowing register dynamic-exception-spec"
)
# Fixed values of __DATE__ and the like (the day of the first C standard), so that bitcode is reproducible.
TIMELESS = ('-D__DATE__="Dec 14 1989"', '-D__TIME__="00:00:00"', '-D__TIMESTAMP__="Thu Dec 14 00:00:00 1989"')
FLAGS = (
    *("-w", "-g0", "-fPIC", "-fno-ident", "-fno-stack-protector", "-ferror-limit=1", *TIMELESS),
    *("-D_GNU_SOURCE", "-DNDEBUG", "-DSTDC_HEADERS=1"),
    *(f"-DHAVE_{name}_H=1" for name in HEADERS.split()),
    *(f"-Wno-error={name}" for name in LENIENT.split()),
)

MISSING_FILE = re.compile(r"'([^']+)' file not found")
MISSING_FEATURES = re.compile(r"target features? '([^']+)'|needs target features? ([\w.,|() -]+)")
PYTHON_HEADERS = ("Python.h", "pyconfig.h")
# Errors about features that C++17 removed from the language and its library.
REMOVED_IN_CXX17 = re.compile(
    r"C\+\+17|'register'|\b(auto_ptr|random_shuffle|unary_function|binary_function|bind1st|bind2nd)\b"
)

Language = Literal["c", "c++"]


@dataclass(frozen=True)
class Unit:
    """One file of a package, and the options with which clang compiles it."""

    package: str
    path: str  # relative to root, with '/'
    language: Language
    options: tuple[str, ...] = field(repr=False)  # relative to root, so the same wherever the sdist is
    root: Path

    @property
    def name(self) -> str:
        """Return the unit's name: package/path."""
        return f"{self.package}/{self.path}"

    @property
    def source(self) -> Path:
        """Return the file."""
        return self.root / self.path

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return clang's arguments that compile `source` from any working directory."""
        # assertions contain __FILE__, and a program must not depend on the location of its sdist
        return f"-working-directory={self.root}", f"-fmacro-prefix-map={self.root}/=", *self.options

    def compile(self, level: str = "Oz") -> bytes:
        """Return the bitcode before any pass, from clang's front end; the same wherever the package is.

        Raises:
            CompileError: clang rejects the file.
        """
        return compile_to_bitcode(Path(self.path), self.arguments[1:], level=level, directory=self.root)


@dataclass(frozen=True)
class NotCompiled:
    """A file that was skipped on purpose, or that clang rejects even after repairs of its options."""

    package: str
    path: str
    status: Literal["skipped", "failed"]
    reason: str  # for a failed file the error that remains


@dataclass(frozen=True)
class Repairs:
    """Options that repairs have found so far for one file."""

    roots: tuple[str, ...] = ()  # include roots, relative to the sdist
    flags: tuple[str, ...] = ()
    generated: tuple[str, ...] = ()  # includes whose headers were generated


def translation_units(
    root: Path, package: Package, limit: int | None = None, *, within: str = ""
) -> Iterator[Unit | NotCompiled]:
    """Find the options of every C and C++ file in a package by compiling it; yield each file's result.

    Each file is one unit. No part of the package's build is run. Include roots are the folders of the sdist
    that contain a missing include. Config headers are generated from their templates (below
    `root`/.generated). Target features that an error names are switched on. Include roots that helped one
    file are tried first on the next file of its folder. The order is by path and always the same.
    `limit` stops after a number of units. With `within`, only the files below this folder are tried.

    Raises:
        InputError: the folder `within` does not exist.
    """
    if not (root / within).is_dir():
        raise InputError(
            f"{root / within}: no such folder; expected {package} as unpacked by burnish.llvm.corpora.fetch"
        )
    tree = index_tree(root.resolve())
    found = 0
    wanted = (path for path in tree.sources() if not within or path.startswith(f"{within}/"))
    for _, paths in itertools.groupby(wanted, folder_of):
        for unit, _ in compile_folder(tree, package, paths):
            yield unit
            found += isinstance(unit, Unit)
            if found == limit:
                return


def compile_folder(
    tree: SourceTree, package: Package, paths: Iterable[str], flags: tuple[str, ...] = ()
) -> Iterator[tuple[Unit | NotCompiled, bytes]]:
    """Compile files of one folder; yield each with its bitcode at -Oz, which is empty if it is not a unit.

    Include roots found for one file are reused only in its folder, so folders can be compiled in any order.
    `flags` are clang's options for every file, beside those that burnish finds.
    """
    roots: tuple[str, ...] | None = None
    for path in paths:
        if reason := _reason_to_skip(tree.root / path, path, package.tables):
            yield NotCompiled(package.name, path, "skipped", reason), b""
            continue
        if roots is None:
            # shadowed includes: clang finds the machine's own, so no error would reveal their roots
            shadowed = [tree.include_root(include, folder_of(path)) for include in tree.shadowed]
            roots = tuple(dict.fromkeys(root or "." for root in shadowed if root is not None))
        unit, bitcode, roots = _compile_with_repairs(tree, package, path, Repairs(roots, flags))
        yield unit, bitcode


def _compile_with_repairs(
    tree: SourceTree, package: Package, path: str, options: Repairs
) -> tuple[Unit | NotCompiled, bytes, tuple[str, ...]]:
    """Return the unit or the failure, the bitcode, and the include roots found by the repairs."""
    language: Language = "c" if PurePosixPath(path).suffix in C_SUFFIXES else "c++"
    standard = "-std=gnu17" if language == "c" else "-std=gnu++17"
    fixed = (*FLAGS, standard, *(f"-D{define}" for define in package.defines))
    error = ""
    for _ in range(MOST_REPAIRS):
        includes = tuple(f"-I{folder}" for folder in options.roots)
        unit = Unit(package.name, path, language, (*fixed, *options.flags, *includes), tree.root)
        try:
            return unit, unit.compile(), options.roots
        except CompileError as rejection:
            error = first_error(str(rejection))
        better = _repaired(options, error, tree, folder_of(path), package.defines)
        if better is None:
            break
        options = better
    return NotCompiled(package.name, path, "failed", error), b"", options.roots


def _repaired(
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


def _reason_to_skip(source: Path, path: str, tables: tuple[str, ...]) -> str | None:
    if path.startswith(tables):
        return "a table: data without code"
    if foreign := FOREIGN.search(folder_of(path)):
        return f"{foreign[2]}: for another system or machine"
    with source.open("rb") as file:
        head = file.read(400)
    if len(head) < SMALLEST_BYTES:
        return f"fewer than {SMALLEST_BYTES} bytes"
    if b"Generated by Cython" in head:
        return "generated by Cython: mostly calls of Python's C API"
    return None
