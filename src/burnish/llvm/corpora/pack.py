"""Packs: one file for each package of a corpus, with a row for each source file, and the bitcode.

    {"format": ..., "package": ..., "recipe": ..., "rows_bytes": n, "content_bytes": m}    one line of JSON
    n bytes: the rows, JSON lines, compressed by zstd
    m bytes: the modules, each in a separate zstd frame; a row has the offset of its frame

A pack is written under a temporary name and renamed, so a reader sees a complete file or none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import zstandard

from burnish import _native
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.files import write_atomically

FORMAT = "burnish corpus 1"
SUFFIX = ".pack"
LEVEL = 17  # of zstd; 19 takes twice as long and makes files only 2 % smaller

Status = Literal["compiled", "failed", "skipped", "repeated"]
"""repeated: compiled, but left out because another split has the same program."""


@dataclass(frozen=True, slots=True)
class PackRow:
    """One source file of a package, and its program."""

    package: str
    path: str  # relative to the package, with '/'
    split: str
    language: str  # of the source: "c", "c++" or "llvm"
    status: Status
    reason: str = ""  # for the status, unless it is "compiled"
    digest: str = ""  # of the program
    structure: str = ""  # structural hash, equal for programs that differ in names only
    instructions: int = 0  # of the module before any pass
    bitcode_bytes: int = 0
    offset: int = 0  # of the frame, from `Pack.content_at`
    stored_bytes: int = 0  # of the frame
    options: tuple[str, ...] = ()  # clang's -cc1 options of a module from a build

    @property
    def name(self) -> str:
        """Return the program's name: package/path."""
        return f"{self.package}/{self.path}"

    @property
    def is_program(self) -> bool:
        """Return whether the program can be opened: compiled, with code, and not in another split."""
        return self.status == "compiled" and self.instructions > 0


@dataclass(frozen=True)
class Pack:
    """The rows of one package, without the content."""

    path: Path
    package: str
    recipe: str  # digest of what it was built from; if it differs, the pack has to be built again
    rows: tuple[PackRow, ...]
    content_at: int  # offset of the first frame in the file


def packed(row: PackRow, bitcode: bytes) -> tuple[PackRow, bytes]:
    """Return a row, completed by the digests and sizes of its bitcode, and the bitcode's frame."""
    try:
        module = _native.Module(bitcode, row.name)
    except _native.InputError as error:
        raise InputError(str(error)) from None
    row = replace(
        row,
        digest=Program(row.name, "llvm", bitcode).digest,
        structure=f"{module.structural_hash():016x}",
        instructions=module.instruction_count(),
        bitcode_bytes=len(bitcode),
    )
    return row, zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compress(bitcode)


def write_pack(path: Path, package: str, recipe: str, items: Iterable[tuple[PackRow, bytes]]) -> None:
    """Write rows and their frames, ordered by path; programs with the same digest are stored once."""
    rows: list[PackRow] = []
    frames: list[bytes] = []
    placed: dict[str, tuple[int, int]] = {}  # digest -> offset and size
    end = 0
    for row, frame in sorted(items, key=lambda item: item[0].path):
        if not frame:
            rows.append(row)
            continue
        if row.digest not in placed:
            placed[row.digest] = end, len(frame)
            frames.append(frame)
            end += len(frame)
        offset, size = placed[row.digest]
        rows.append(replace(row, offset=offset, stored_bytes=size))
    default = {field.name: field.default for field in fields(PackRow)}
    shorter = ({k: v for k, v in asdict(row).items() if v != default[k]} for row in rows)
    table = zstandard.compress("".join(f"{json.dumps(row)}\n" for row in shorter).encode(), LEVEL)
    head: dict[str, str | int] = {"format": FORMAT, "package": package, "recipe": recipe}
    head |= {"rows_bytes": len(table), "content_bytes": end}
    write_atomically(path, b"".join([json.dumps(head).encode(), b"\n", table, *frames]))


def read_pack(path: Path) -> Pack:
    """Read a pack's rows.

    Raises:
        InputError: the file is missing, damaged, or not a pack.
    """
    try:
        with path.open("rb") as file:
            line = file.readline(1 << 16)
            head = json.loads(line)
            if head["format"] != FORMAT:
                raise _broken(path, f"its format is {head['format']!r}, expected {FORMAT!r}")
            table = file.read(head["rows_bytes"])
            content_at = file.tell()
        size, expected = path.stat().st_size, content_at + head["content_bytes"]
        if len(table) != head["rows_bytes"] or size != expected:
            raise _broken(path, f"it has {size} bytes, expected {expected}")
        rows = tuple(_row(json.loads(line)) for line in zstandard.decompress(table).splitlines())
    except OSError as error:
        raise InputError(f"{path}: cannot read the pack: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, zstandard.ZstdError) as error:
        raise _broken(path, f"its header cannot be read ({error})") from None
    return Pack(path, head["package"], head["recipe"], rows, content_at)


def _row(table: dict[str, Any]) -> PackRow:
    return PackRow(**{**table, "options": tuple(table.get("options", ()))})


def _read_frame(path: Path, content_at: int, row: PackRow) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(content_at + row.offset)
            frame = file.read(row.stored_bytes)
    except OSError as error:
        raise InputError(
            f"{path}: the pack of {row.name} cannot be read: {error.strerror}; build the corpus again"
        ) from None
    if len(frame) != row.stored_bytes:
        raise _changed(path, content_at, row, f"it ends before {row.name}")
    return frame


def read_program(path: Path, content_at: int, row: PackRow) -> Program:
    """Return the program of a row.

    Raises:
        InputError: the pack is missing, damaged, or was rebuilt since it was opened.
    """
    frame = _read_frame(path, content_at, row)
    try:
        program = Program(row.name, "llvm", zstandard.decompress(frame))
    except zstandard.ZstdError as error:
        raise _changed(path, content_at, row, f"{row.name} is damaged ({error})") from None
    if program.digest != row.digest:  # a rebuilt pack may have another frame at the same offset
        raise _changed(path, content_at, row, f"{row.name} is damaged (it contains another program)")
    return program


def items_of(pack: Pack) -> Iterator[tuple[PackRow, bytes]]:
    """Yield the rows of a pack with their frames."""
    for row in pack.rows:
        yield row, _read_frame(pack.path, pack.content_at, row) if row.stored_bytes else b""


def _changed(path: Path, content_at: int, row: PackRow, what: str) -> InputError:
    """Return the error for a row with wrong content: its pack was rebuilt, or is damaged."""
    pack = read_pack(path)
    places = {(other.path, other.digest, other.offset, other.stored_bytes) for other in pack.rows}
    place = (row.path, row.digest, row.offset, row.stored_bytes)
    if pack.content_at != content_at or place not in places:
        return InputError(f"{path}: the pack was rebuilt since it was opened; open the corpus again")
    return _broken(path, what)


def _broken(path: Path, what: str) -> InputError:
    return InputError(f"{path}: not a complete pack of burnish corpus: {what}; remove it and build again")
