"""The files of an unpacked source distribution, and the search for the folder of an include."""

from __future__ import annotations

import functools
import itertools
import os
import platform
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path, PurePosixPath

from burnish.llvm.toolchain import C_SUFFIXES, CXX_SUFFIXES

GENERATED = ".generated"  # default folder of the headers that burnish writes; not a part of the sdist

# Folders for systems and machines other than x86-64 Linux.
FOREIGN = re.compile(
    r"(^|/)(windows?|win|win32|win64|wince|msvc\w*|vc\d*|macos\w*|darwin|android|amiga|dos|os400|vms|arm\w*|aarch64|neon"
    r"|ppc\w*|powerpc|mips|riscv\w*|sparc\w*|s390x?|loongarch\w*|wasm|emscripten|cuda|opencl|CMakeFiles)(/|$)",
    re.IGNORECASE,
)
# Folders beside the main project; between headers of the same name, one outside these folders is preferred.
AUXILIARY = re.compile(
    r"(^|/)(tests?|testing|testsuite|examples?|demos?|bench\w*|fuzz\w*|contrib|samples?|tools?|utils?|docs?|apps?"
    r"|programs?|third_?party|3rdparty|vendor|extern\w*)(/|$)",
    re.IGNORECASE,
)
HEADER_SUFFIXES = frozenset({".h", ".hh", ".hpp", ".hxx"})
INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([\w./+-]+)[>"]', re.MULTILINE)
SYSTEM_FOLDERS = tuple(
    Path(folder)
    for folder in ("/usr/local/include", "/usr/include", f"/usr/include/{platform.machine()}-linux-gnu")
)


@dataclass(frozen=True)
class SourceTree:
    """The files of one unpacked sdist. All paths are relative to the root, with '/'."""

    root: Path
    by_name: Mapping[str, tuple[str, ...]]  # a file's last name -> every path that ends in it
    shadowed: tuple[str, ...]  # includes found in the sdist and also among this machine's own headers
    generated: str = GENERATED  # folder of generated headers: relative to the root, or absolute

    def sources(self) -> Iterator[str]:
        """Yield the C and C++ files, folder by folder."""
        paths = (path for paths in self.by_name.values() for path in paths)
        wanted = (path for path in paths if PurePosixPath(path).suffix in C_SUFFIXES | CXX_SUFFIXES)
        yield from sorted(wanted, key=lambda path: (folder_of(path), path))

    def named(self, name: str, near: str) -> list[str]:
        """Return the files with a last name, the best ones for a file in the folder `near` first."""
        return sorted(self.by_name.get(name, ()), key=lambda path: _distance(folder_of(path), near))

    def include_root(self, include: str, near: str) -> str | None:
        """Return the include root that contains an include, nearest to `near`; None if no folder does."""
        wanted = without_dots(include)
        paths = self.by_name.get(PurePosixPath(wanted).name, ())
        roots = [path[: -len(wanted)].rstrip("/") for path in paths if f"/{path}".endswith(f"/{wanted}")]
        best = min(roots, key=lambda root: _distance(root, near), default=None)
        up = os.path.normpath(include).split("/").count("..")
        return best if best is None or not up else self._below(best, up)

    def _below(self, folder: str, levels: int) -> str | None:
        """Return a folder `levels` levels deeper, from which that many '../' lead to `folder`, or None."""
        start = len(folder.split("/")) if folder else 0
        below = {
            "/".join(parts[: start + levels])
            for paths in self.by_name.values()
            for path in paths
            if (parts := path.split("/")) and len(parts) > start + levels
            if not folder or path.startswith(f"{folder}/")
        }
        return min(below, default=None)


def index_tree(root: Path) -> SourceTree:
    """Return the files below a folder; hidden files and folders are left out."""
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    includes: set[str] = set()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(folder, name)
            by_name[name].append(path.relative_to(root).as_posix())
            if path.suffix in HEADER_SUFFIXES | C_SUFFIXES | CXX_SUFFIXES:
                includes.update(found.decode() for found in INCLUDE.findall(path.read_bytes()))
    files = {name: tuple(paths) for name, paths in by_name.items()}
    tree = SourceTree(root, files, ())
    return SourceTree(root, files, tuple(name for name in sorted(includes) if _is_shadowed(tree, name)))


@functools.cache
def libc_headers() -> frozenset[str]:
    """Return the headers that exist on every system with a C library and a compiler."""
    text = (resources.files("burnish.llvm.corpora") / "data/libc_headers.txt").read_text(encoding="ascii")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def folder_of(path: str) -> str:
    """Return the folder of a relative path; "" for the root."""
    return path.rpartition("/")[0]


def without_dots(include: str) -> str:
    """Return an include's path without leading './' and '../'."""
    return "/".join(part for part in os.path.normpath(include).split("/") if part not in ("", ".", ".."))


def _is_shadowed(tree: SourceTree, include: str) -> bool:
    """Return whether this machine has its own file for an include that others take from the sdist."""
    if include in libc_headers() or not any((folder / include).exists() for folder in SYSTEM_FOLDERS):
        return False
    return tree.include_root(include, "") is not None


def _distance(folder: str, near: str) -> tuple[int, bool, bool, int, str]:
    """Return a sort key: longest common path first, then not foreign, not auxiliary, shortest path."""
    pairs = zip(folder.split("/"), near.split("/"), strict=False)
    shared = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
    return -shared, bool(FOREIGN.search(folder)), bool(AUXILIARY.search(folder)), len(folder), folder
