"""Generation of the headers that a package's own configure step would write."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Mapping, Sequence

from burnish.files import write_atomically
from burnish.llvm.corpora.tree import HEADER_SUFFIXES, SourceTree, folder_of, libc_headers, without_dots

TEMPLATE_SUFFIXES = (".in", ".cmake.in", ".cmake", ".in.cmake", ".meson.in")
SETTING = re.compile(r"\s*#\s*(undef|cmakedefine01|cmakedefine|mesondefine)\s+(\w+)")
PLACEHOLDER = re.compile(r"@(\w+)@")
TYPE = re.compile(r"(?:^|_)(U?INT(?:8|16|32|64)|SSIZE)_T$")  # as in TIFF_INT16_T
EXPORT_MACRO = re.compile(
    rb"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:EXPORT|NO_EXPORT|DEPRECATED|DEPRECATED_EXPORT|PRIVATE_EXPORT|PUBLIC|DLL)\b"
)
SIZES = {  # bytes on x86-64 Linux
    **dict.fromkeys(["CHAR", "INT8_T"], 1),
    **dict.fromkeys(["SHORT", "INT16_T"], 2),
    **dict.fromkeys(["INT", "UNSIGNED_INT", "FLOAT", "WCHAR_T", "INT32_T"], 4),
    **dict.fromkeys(["LONG", "UNSIGNED_LONG", "LONG_LONG", "SIZE_T", "SSIZE_T", "OFF_T", "TIME_T"], 8),
    **dict.fromkeys(["VOID_P", "VOIDP", "DOUBLE", "INT64_T"], 8),
    "LONG_DOUBLE": 16,
}
# Functions of newer C libraries than libc_headers(); treated as absent, so that all machines agree.
NEW_FUNCTIONS = frozenset({"strlcpy", "strlcat", "wcslcpy", "wcslcat"})
SURE_FEATURES = frozenset({"LONG_LONG", "LONG_DOUBLE", "INLINE", "C99"})


def generate_header(tree: SourceTree, include: str, near: str, defines: Sequence[str]) -> str | None:
    """Write the header that an `#include` names, from its template in the sdist.

    Return its include root, relative to the tree's root; None if there is no template. `near` is the folder
    of the file that includes it; `defines` are the package's own NAME=value, for the template's @NAME@.
    """
    wanted = without_dots(include)
    name = wanted.rpartition("/")[2]
    templates = [path for suffix in TEMPLATE_SUFFIXES for path in tree.named(name + suffix, near)]
    if name == "config.h":  # also PROJECT-config.h.in
        others = sorted(other for other in tree.by_name if other.endswith("-config.h.in"))
        templates += [path for other in others for path in tree.named(other, near)]
    if templates:
        template = templates[0]
        values = dict(text.split("=", 1) for text in defines if "=" in text)
        content = fill_template((tree.root / template).read_text(errors="replace"), values)
        return _write(tree, folder_of(template), wanted, content)
    if re.search(r"export\w*\.h$", name, re.IGNORECASE):  # CMake's GenerateExportHeader has no template
        return _write(tree, "export", wanted, _export_header(tree))
    return None


def fill_template(text: str, values: Mapping[str, str]) -> str:
    """Return a config header for x86-64 Linux, from an autoconf, CMake or Meson template.

    `values` are known values of @NAME@ and of settings; other placeholders become a type, a size or 0.
    """
    return "".join(_fill_line(line, values) for line in text.splitlines(keepends=True))


def _fill_line(line: str, values: Mapping[str, str]) -> str:
    if setting := SETTING.match(line):
        kind, name = setting.groups()
        value = values.get(name, _setting(name))
        if kind == "cmakedefine01":
            return f"#define {name} {int(value is not None)}\n"
        return "" if value is None else f"#ifndef {name}\n#define {name} {value}\n#endif\n"
    if PLACEHOLDER.fullmatch(line.strip()):  # stands for whole lines: insert none
        return ""
    return PLACEHOLDER.sub(lambda found: values.get(found[1]) or _placeholder(found[1]), line)


def _placeholder(name: str) -> str:
    """Return configure's replacement for @NAME@: the size of a type, a type, or 0."""
    if size := _size_of(name):
        return str(size)
    if found := TYPE.search(name):
        return "long" if found[1] == "SSIZE" else f"{found[1].lower()}_t"
    return "0"


def _setting(name: str) -> str | None:
    """Return configure's definition of a macro on Linux; None for undefined."""
    if size := _size_of(name):
        return str(size)
    if re.search(r"(^|_)(PACKAGE|VERSION|PACKAGE_NAME|PACKAGE_VERSION|PACKAGE_STRING)$", name):
        return '"x"'
    _, have, feature = name.rpartition("HAVE_")
    known = bool(have) and _is_available(feature)
    return "1" if known or name.endswith("STDC_HEADERS") else None


def _is_available(feature: str) -> bool:
    """Return whether the FEATURE of HAVE_FEATURE exists: a header, a type or a function."""
    low = feature.lower()
    if low.endswith("_h"):
        stem = low[:-2]
        return not libc_headers().isdisjoint(
            {f"{stem}.h", f"{stem.replace('_', '/', 1)}.h", f"{stem.replace('_', '-')}.h"}
        )
    if feature in SURE_FEATURES or low.endswith("_t") or "STRUCT" in feature:
        return True
    return low not in NEW_FUNCTIONS and any(hasattr(library, low) for library in _c_libraries())


def _size_of(name: str) -> int | None:
    found = re.search(r"SIZE_?OF_(\w+)$", name)
    return SIZES.get(found[1]) if found else None


@functools.cache
def _c_libraries() -> tuple[ctypes.CDLL, ...]:
    return ctypes.CDLL("libc.so.6"), ctypes.CDLL("libm.so.6")


def _export_header(tree: SourceTree) -> str:
    """Return a header that defines every export macro of the sdist's headers as empty."""
    headers = [
        path for paths in tree.by_name.values() for path in paths if path.endswith(tuple(HEADER_SUFFIXES))
    ]
    names = {
        name.decode() for path in headers for name in EXPORT_MACRO.findall((tree.root / path).read_bytes())
    }
    return "#pragma once\n" + "".join(f"#ifndef {name}\n#define {name}\n#endif\n" for name in sorted(names))


def _write(tree: SourceTree, folder: str, wanted: str, content: str) -> str:
    include_root = f"{tree.generated}/{folder}" if folder else tree.generated
    target = tree.root / include_root / wanted
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, content.encode())  # another process may be compiling the same package
    return include_root
