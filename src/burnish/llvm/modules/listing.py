"""A module's IR and assembly as people read them: a section for each function, with demangled names."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache

from burnish.core.listing import Listing, Section

REST = "globals and declarations"
DATA = "data"

_DEFINED = re.compile(r'@(?:"((?:[^"\\]|\\.)*)"|([\w.$-]+))\(')
_ESCAPED = re.compile(r"\\([0-9A-Fa-f]{2})")
_MANGLED = re.compile(r"(?<=@)_(?:Z|_Z|___Z)\w+")
_LEFT_OUT = ("; Function Attrs", "; ModuleID", "source_filename", "attributes #", "!", "    #dbg_")
_NOISE = re.compile(
    r",? ![a-zA-Z_][\w.]* !\d+"  # metadata: !tbaa !5
    r"| #\d+(?=$| \{| \[|,| !)"  # groups of attributes
    r"|\s+; preds = .*"
)
_NOISY = re.compile(r"[!#;]")
_LIBRARY = re.compile(r"_{1,2}Z+N?[VKR]*(?:S[tabsiod]|9__gnu_cxx|10__cxxabiv1)")  # std, and its abbreviations

# of assembly, by LLVM's comments, which every target writes with its own sign
_BEGIN = re.compile(r"-- Begin function (.+)")
_END = "-- End function"
_COMMENT = re.compile(r"(?:^|\s+)(?:#|##|//|@|;)(?: .*|$)")
_SYMBOL = re.compile(r"(?<!\w)_{1,2}Z\w+")
_DIRECTIVE = re.compile(r"\s*\.[a-z]")
_CONTENT = re.compile(r"\s*\.(?:ascii|asciz|string|byte|[248]byte|short|value|int|long|quad|zero|l?comm)\b")
_MARKER = re.compile(r"\.?L(?:func_(?:begin|end)|tmp|cfi)\d+:")  # labels to which only directives refer
_LOCAL = re.compile(r"(?<![\w.])(?:\.L[A-Za-z_]*|L(?:BB|JTI|CPI|func_end|tmp))\d+(?:_\d+)?\b")


def sections(text: str, details: bool) -> list[Section]:
    """Split a module's text into its functions; the rest comes first.

    Without `details`, metadata, debug records, attributes and empty lines are left out, and names demangled.
    """
    rest: list[str] = []
    found: list[Section] = []
    body: list[str] | None = None
    name = ""
    for line in text.splitlines():
        if body is None and line.startswith("define "):
            body, name = [], _name(line)
        lines = rest if body is None else body
        if details:
            lines.append(line)
        elif line and not line.startswith(_LEFT_OUT):
            plain = _NOISE.sub("", line) if _NOISY.search(line) else line
            lines.append(_MANGLED.sub(_demangled, plain) if "@_" in plain else plain)
        if body is not None and line == "}":
            found.append(_function(name, body))
            body = None
    return [Section("", REST, tuple(rest)), *found]


def assembly_sections(text: str, details: bool) -> list[Section]:
    """Split assembly into its functions; the data comes first.

    Without `details`, directives that lay out no data, comments and debug labels are left out, and names
    demangled.
    """
    rest: list[str] = []
    found: list[Section] = []
    lines, name = rest, ""
    for line in text.splitlines():
        if begin := _BEGIN.search(line):
            lines, name = [], begin[1].strip()
        if details:
            lines.append(line)
        elif plain := plain_assembly(line):
            lines.append(plain)
        if _END in line and lines is not rest:
            found.append(_function(name, lines))
            lines = rest
    return [Section("", DATA, tuple(rest)), *found]


def plain_assembly(line: str) -> str:
    """Return a line of assembly as people read it; "" for a directive that lays out no data."""
    plain = line if '"' in line else _COMMENT.sub("", line)  # a string may have a comment's sign
    if _MARKER.match(plain) or (
        _DIRECTIVE.match(plain) and not plain.endswith(":") and not _CONTENT.match(plain)
    ):
        return ""
    return _SYMBOL.sub(_demangled, plain).expandtabs(8)


def _function(name: str, lines: list[str]) -> Section:
    return Section(name, demangle(name), tuple(lines), library=bool(_LIBRARY.match(name)))


@cache
def demangle(name: str) -> str:
    """Return a C++ symbol's name as in the source; other names, and all without libstdc++, are unchanged."""
    demangler = _demangler() if name.startswith(("_Z", "__Z", "____Z")) else None
    return demangler(name) if demangler else name


def demangled_site(site: str) -> str:
    """Return a site with demangled names: a function, or a call such as `_Z3foov > _Z3barv #1`."""
    return " ".join(map(demangle, site.split(" ")))


def _demangled(found: re.Match[str]) -> str:
    return demangle(found[0])


def _name(line: str) -> str:
    found = _DEFINED.search(line)
    if not found:
        return line
    return found[2] or _ESCAPED.sub(lambda code: chr(int(code[1], 16)), found[1])


@cache
def _demangler() -> Callable[[str], str] | None:
    """Return libstdc++'s demangler, which every C++ program on Linux can load; None without it."""
    try:
        libraries = ctypes.CDLL("libstdc++.so.6"), ctypes.CDLL(None)
    except OSError:
        return None
    function, free = libraries[0].__cxa_demangle, libraries[1].free
    function.restype, free.argtypes, free.restype = ctypes.c_void_p, [ctypes.c_void_p], None

    def demangler(name: str) -> str:
        found = function(name.encode(), None, None, None)
        if not found:
            return name
        try:
            return ctypes.string_at(found).decode(errors="replace")
        finally:
            free(found)

    return demangler


LISTING = Listing("ir", sections, re.compile(r"(?<=%)\d+\b|^\d+(?=:)", re.MULTILINE), demangled_site, "IR")
ASSEMBLY = Listing("assembly", assembly_sections, _LOCAL, demangled_site)
