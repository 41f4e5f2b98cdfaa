"""Modules in a build's objects, with the options that compiled them, as LLVM's mlgo-utils extract them.

    .llvmbc and .llvmcmd    clang -Xclang -fembed-bitcode=all: the module before any pass; its -cc1 options
    .llvm.lto               -ffat-lto-objects: the module for the link
    the whole file          -flto; and NAME.3.import.bc, which lld writes with --save-temps=import

The objects are those of a folder, an archive, a link's parameter file, a compilation database, or the links
of `bazel aquery --output=jsonproto`. Names are relative to a base folder; an archive's member is
ARCHIVE/MEMBER.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish import _native
from burnish.core.errors import InputError
from burnish.files import read_text
from burnish.llvm.corpora.flags import without_build
from burnish.llvm.corpora.mlgo import INDEX, MlgoModule

ARCHIVES, OBJECTS = (".a",), (".o", ".obj")
IMPORTED = ".3.import.bc"
MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")  # of bitcode; the second one is Darwin's
EMBEDDED, COMMAND, FAT = ".llvmbc", ".llvmcmd", ".llvm.lto"  # sections
# The driver's -fembed-bitcode runs the passes in one process, and embeds in a second one, with few options.
DISABLED, OF_ALL = "-disable-llvm-passes", "-main-file-name"
INDEX_OPTION = "-fthinlto-index="
BAZEL_LINK = "CppLink"  # mnemonic of an action
HOW = "compile it with -Xclang -fembed-bitcode=all, -flto or -ffat-lto-objects"


@dataclass(frozen=True)
class ObjectFile:
    """An object of a build, which may be an archive's member."""

    name: str  # relative to the base folder, with '/'
    path: Path
    place: tuple[int, int] | None = None  # of a member: its offset in the archive, and its bytes


def base_of(source: Path, base: Path | None = None) -> Path:
    """Return the folder that objects' names are relative to: `base`, or the source's own folder."""
    return (base or (source if source.is_dir() else source.parent)).resolve()


def find_objects(source: Path, base: Path | None = None) -> list[ObjectFile]:
    """List the objects that a source names, each once; nothing but archives' tables is read.

    Args:
        source: A folder, an object, an archive, a link's parameter file, a compilation database or an aquery.
        base: The folder in which a link ran; by default the source's own.

    Raises:
        InputError: the source cannot be read, or names no object.
    """
    root = base_of(source, base)
    found: dict[str, ObjectFile] = {}
    for path in dict.fromkeys(os.path.normpath(root / name) for name in _names(source, root)):
        for one in _objects_at(Path(path), root):
            name, number = one.name, 1
            if found.get(name) == one:  # named twice: by itself, and by a thin archive
                continue
            while name in found:  # archives may have several members of one name
                number += 1
                name = f"{one.name}@{number}"
            found[name] = ObjectFile(name, one.path, one.place)
    if not found:
        raise InputError(
            f"{source}: no object there; expected a folder with {', '.join((*OBJECTS, *ARCHIVES))}, a link's "
            "parameter file, a compile_commands.json, or JSON of bazel aquery"
        )
    return list(found.values())


def read_object(one: ObjectFile, root: Path, command: str = "") -> MlgoModule | str:
    """Return the module in an object without its build's own options, or the reason for leaving it out.

    Args:
        one: The object.
        root: The folder in which the object was compiled, if its ThinLTO index has a relative path.
        command: A regular expression; an option has to match from its beginning.

    Raises:
        InputError: a file cannot be read, is damaged, or has the modules of several objects.
    """
    try:
        start, size = one.place or (0, -1)
        with one.path.open("rb") as file:
            file.seek(start)
            content = file.read(size)
        bitcode, options = _module_of(content)
        if not bitcode:
            return f"no bitcode in it; {HOW}"
        if DISABLED in options and OF_ALL not in options:
            return "it was optimized before it was embedded; compile with -Xclang before -fembed-bitcode=all"
        if command and not any(re.match(command, word) for word in options):
            return f"no option of its command matches {command}"
        index = _index_of(one, root, options)
        name, summary = one.name.removesuffix(IMPORTED), index.read_bytes() if index else None
        return MlgoModule(name, bitcode, tuple(without_build(options)), summary)
    except OSError as error:
        raise InputError(f"{error.filename}: {error.strerror}") from None
    except (InputError, _native.InputError, ValueError) as error:
        raise InputError(f"{one.name}: {error}") from None


def _module_of(content: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return the bitcode in an object, b"" without bitcode, and the options of its command."""
    if content.startswith(MAGIC):
        return content, ()
    sections = {section.name: section for section in _native.elf_sections(content)}
    texts = {name: sections[name].content for name in (EMBEDDED, COMMAND, FAT) if name in sections}
    words = texts.get(COMMAND, b"").decode().removesuffix("\0").split("\0")
    if words.count("-cc1") > 1:
        raise InputError(
            f"it was linked from {words.count('-cc1')} objects (ld -r), whose modules cannot be told apart; "
            "name those objects"
        )
    bitcode = texts.get(EMBEDDED, b"").strip(b"\0") and texts[EMBEDDED]  # -fembed-bitcode=marker
    return bitcode or texts.get(FAT, b""), tuple(filter(None, words))


def _index_of(one: ObjectFile, root: Path, options: Sequence[str]) -> Path | None:
    """Return the path of an object's ThinLTO index, from lld or from its command; None if it has none."""
    if one.name.endswith(IMPORTED):
        return one.path.with_name(one.path.name.removesuffix(IMPORTED) + INDEX)
    named = [word.removeprefix(INDEX_OPTION) for word in options if word.startswith(INDEX_OPTION)]
    return root / named[-1] if named and named[-1] not in ("", os.devnull) else None


def _objects_at(path: Path, root: Path) -> Iterator[ObjectFile]:
    """Yield an object, or the members of an archive."""
    name = path.relative_to(root) if path.is_relative_to(root) else path.relative_to(path.anchor)
    if path.suffix not in ARCHIVES or not path.is_file():
        yield ObjectFile(name.as_posix(), path)
        return
    try:
        content = path.read_bytes()
        members = _native.archive_members(content)
        outside = _native.thin_archive_paths(content)
    except (OSError, _native.InputError) as error:
        raise InputError(f"{path}: cannot read the archive: {error}") from None
    for member, start, text in members:
        yield ObjectFile(f"{name.as_posix()}/{member}", path, (start, len(text)))
    for member in outside:
        yield from _objects_at(Path(os.path.normpath(path.parent / member)), root)


def _names(source: Path, root: Path) -> list[str]:
    """Return the paths of objects and archives that a source names, absolute or relative to `root`."""
    if source.is_dir():
        files = sorted(path for path in source.resolve().rglob("*") if path.is_file())
        imported = [str(path) for path in files if path.name.endswith(IMPORTED)]
        return imported or [str(path) for path in files if path.suffix in (*OBJECTS, *ARCHIVES)]
    if source.suffix in (*OBJECTS, *ARCHIVES) or source.name.endswith(IMPORTED):
        return [str(source.resolve())]
    text = read_text(source, "a link's parameter file, or JSON")
    if source.suffix != ".json":
        return list(_inputs(shlex.split(text), root, {}))
    try:
        table = json.loads(text)
        if isinstance(table, list):
            return [path for entry in table if (path := _output(entry, source.parent.resolve()))]
        links = [action for action in table["actions"] if action["mnemonic"] == BAZEL_LINK]
        return [path for action in links for path in _inputs_of_action(action, root)]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{source}: neither a compilation database nor of bazel aquery --output=jsonproto "
            f"({type(error).__name__}: {error})"
        ) from None


def _output(entry: dict[str, Any], base: Path) -> str:
    """Return the object of a compilation database's entry; "" if its command names no object."""
    words = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
    named = [words[at + 1] for at, word in enumerate(words[:-1]) if word == "-o"]
    name = entry.get("output") or (named or [""])[-1]
    return str(base / entry.get("directory", ".") / name) if name else ""


def _inputs_of_action(action: dict[str, Any], root: Path) -> list[str]:
    files = {one["execPath"]: one["arguments"] for one in action.get("paramFiles", ())}
    return list(_inputs(action["arguments"], root, files))


def _inputs(words: Sequence[str], root: Path, files: dict[str, list[str]]) -> Iterator[str]:
    """Yield the objects and archives among a link's words; @NAME is one of `files`, or a file."""
    rest = iter(words)
    for word in rest:
        if word == "-o":
            next(rest, None)
        elif word.startswith("@"):
            more = files.get(word[1:]) or shlex.split(read_text(root / word[1:], "a link's parameter file"))
            yield from _inputs(more, root, files)
        elif not word.startswith("-") and word.endswith((*OBJECTS, *ARCHIVES)):
            yield word
