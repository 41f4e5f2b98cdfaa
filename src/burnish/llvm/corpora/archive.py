"""Safe unpacking of source archives: no file is written outside the given folder."""

from __future__ import annotations

import lzma
import os
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from burnish.core.errors import InputError
from burnish.llvm.toolchain import C_SUFFIXES, CXX_SUFFIXES

ARCHIVE_SUFFIXES = (".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
MOST_LINK_HOPS = 8
DAMAGE = (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, OSError)  # errors of reading an archive


def unpack(archive: Path, directory: Path) -> None:
    """Unpack an archive into a new folder, and each source archive inside it into a folder beside it.

    Only regular files and folders are made, with the user's default permissions. A link becomes a copy of
    the file that it names; links to folders and to files outside the archive are left out.
    These rules are stricter than tarfile's data filter, which Python 3.11.2 does not have.

    Raises:
        InputError: the file is not a tar archive or is damaged, or a member would leave `directory`.
    """
    try:
        with tarfile.open(archive) as tar:
            _extract(tar, archive, directory)
    except DAMAGE as error:
        raise InputError(f"{archive}: cannot be unpacked as a tar archive: {error}") from error
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name.endswith(ARCHIVE_SUFFIXES) and _holds_sources(path):
            unpack(path, path.with_name(_stem(path.name)))


def _extract(tar: tarfile.TarFile, archive: Path, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    members = {os.path.normpath(member.name): member for member in tar.getmembers()}
    for member in members.values():
        target = directory / _inside(member.name, archive)
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        source = _follow(member, members)
        content = tar.extractfile(source) if source and source.isreg() else None
        if content is None:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.read())


def _inside(name: str, archive: Path) -> str:
    """Return a member's name if it stays inside the folder.

    Raises:
        InputError: the name is absolute, has a '..' or a zero byte.
    """
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise InputError(
            f"{archive}: member {name!r} would be written outside the folder; "
            "expected relative names without '..'; do not trust this archive"
        )
    return name


def _follow(member: tarfile.TarInfo, members: dict[str, tarfile.TarInfo]) -> tarfile.TarInfo | None:
    """Return the member that a link leads to, through other links; None if it leads out of the archive."""
    found: tarfile.TarInfo | None = member
    for _ in range(MOST_LINK_HOPS):
        if found is None or not (found.issym() or found.islnk()):
            return found
        # a symbolic link is relative to its folder, a hard link to the archive
        base = PurePosixPath(found.name).parent if found.issym() else PurePosixPath()
        found = members.get(os.path.normpath(str(base / found.linkname)))
    return None


def _holds_sources(path: Path) -> bool:
    """Return whether a file is a readable archive with C or C++ files; other archives are test data."""
    try:
        with tarfile.open(path) as tar:
            return any(PurePosixPath(name).suffix in C_SUFFIXES | CXX_SUFFIXES for name in tar.getnames())
    except DAMAGE:
        return False


def _stem(name: str) -> str:
    return next(name.removesuffix(suffix) for suffix in ARCHIVE_SUFFIXES if name.endswith(suffix))
