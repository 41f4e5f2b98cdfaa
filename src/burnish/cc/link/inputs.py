"""Inputs of a link command that have units, objects and archives, and the units that the linker takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from burnish import _native
from burnish.cc.link.link_job import LinkJob
from burnish.cc.link.units import SECTION, Embedded, ProgramUnit, decode_units, read_unit
from burnish.cc.requests import KeptReference

BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
ARCHIVES = (b"!<arch>\n", b"!<thin>\n")


@dataclass(frozen=True)
class Part:
    """An object by itself, or a member of an archive."""

    file: Path  # that has the object: the archive, unless it is thin
    start: int  # in that file
    content: bytes
    found: Embedded | None

    def included(self) -> bytes:
        """Return the object with its unit marked so that a linker copies it to its output."""
        content = bytearray(self.content)
        if self.found:
            content[self.found.flags_at + 3] &= 0x7F  # SHF_EXCLUDE is bit 31
        return bytes(content)


@dataclass(frozen=True)
class LinkedFile:
    """One input of a link command with the object of at least one unit."""

    index: int  # the position of its word in the command
    path: Path
    is_archive: bool
    parts: tuple[Part, ...]

    def included(self) -> bytes:
        """Return the file with its units marked: see Part."""
        contents = [part.included() for part in self.parts]
        return _native.archive_of(contents) if self.is_archive else contents[0]


@dataclass
class _Search:
    """A linker's search for -lNAME, with the state at that word (ld(1), -l, -L and -Bstatic)."""

    folders: list[str]
    static: bool = False
    stack: list[bool] = field(default_factory=list)

    def note(self, word: str) -> None:
        if word in ("-Bstatic", "-dn", "-non_shared", "-static"):
            self.static = True
        elif word in ("-Bdynamic", "-dy", "-call_shared"):
            self.static = False
        elif word == "--push-state":
            self.stack.append(self.static)
        elif word == "--pop-state" and self.stack:
            self.static = self.stack.pop()

    def find(self, name: str) -> Path | None:
        """Return the library that is found first if it is static; else None."""
        wanted = [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]
        for folder in self.folders:
            for file in wanted[1:] if self.static else wanted:
                path = Path(folder, file)
                if path.is_file():
                    return None if file.endswith(".so") else path
        return None


def linked_files(command: Sequence[str]) -> list[LinkedFile]:
    """Return the inputs that have units, in order.

    Raises:
        KeptReference: an input is for link-time optimization, or cannot be read.
    """
    found = []
    for index, path in input_paths(command):
        try:
            content = path.read_bytes()
            if SECTION.encode() in content or content.startswith((*BITCODE, *ARCHIVES)):
                file = LinkedFile(index, path, content.startswith(ARCHIVES), tuple(_parts(path, content)))
                if any(part.found for part in file.parts):
                    found.append(file)
        except (OSError, ValueError) as error:
            raise KeptReference(f"{path}: {error}") from None
    return found


def input_paths(command: Sequence[str]) -> Iterator[tuple[int, Path]]:
    """Yield the files that a link command names, with the positions of their words."""
    folders = [word[2:] for word in command if word.startswith("-L") and len(word) > 2]
    folders += [new for old, new in pairwise(command) if old in ("-L", "--library-path")]
    folders += [word.partition("=")[2] for word in command if word.startswith("--library-path=")]
    search = _Search(folders)
    for index, word in enumerate(command[1:], 1):
        search.note(word)
        if word.startswith(("-l", "--library=")) and len(word) > 2:
            path = search.find(word.partition("=")[2] if word.startswith("--library=") else word[2:])
            if path:
                yield index, path
        elif not word.startswith("-") and command[index - 1] != "-o" and Path(word).is_file():
            yield index, Path(word)


def objects_in(path: Path, content: bytes) -> Iterator[tuple[Path, int, bytes]]:
    """Yield the object in a file, or an archive's members: the file, the place in it, and the content.

    A thin archive has the paths of its members, from its own folder.

    Raises:
        OSError: a member of a thin archive cannot be read.
    """
    if not content.startswith(ARCHIVES):
        yield path, 0, content
        return
    for _, start, member in _native.archive_members(content):
        yield path, start, member
    for name in _native.thin_archive_paths(content):
        yield path.parent / name, 0, (path.parent / name).read_bytes()


def _parts(path: Path, content: bytes) -> Iterator[Part]:
    for file, start, member in objects_in(path, content):
        if member.startswith(BITCODE):
            raise KeptReference(f"{path} is for clang's own link-time optimization")
        yield Part(file, start, member, read_unit(member))


def taken_units(
    job: LinkJob, files: Sequence[LinkedFile], folder: Path, deadline_seconds: float
) -> list[ProgramUnit]:
    """Return the units of the objects and archive members that a link takes, in the linker's order.

    The linker copies the sections of the units to its output, which shows both.

    Raises:
        KeptReference: the command does not link a second time, or its output does not show the units.
    """
    output = folder / "probe"
    inputs = {}
    for file in files:
        copy = folder / f"probed-{file.index}" / file.path.name
        copy.parent.mkdir()
        copy.write_bytes(file.included())
        inputs[file.index] = (copy,)
    job.changed(inputs, output).run(deadline_seconds)
    try:
        found = [one for one in _native.elf_sections(output.read_bytes()) if one.name == SECTION]
        return [unit for section in found for unit in decode_units(section.content)]
    except (OSError, ValueError) as error:
        raise KeptReference(f"the linker does not report its inputs: {error}") from None
    finally:
        output.unlink(missing_ok=True)
        for (copy,) in inputs.values():
            copy.unlink()
