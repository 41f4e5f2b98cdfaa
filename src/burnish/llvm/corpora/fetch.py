"""Fetching of pinned packages: download, compare the digest, unpack; each step only once."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import lzma
import os
import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from burnish.core.errors import InputError, MissingTool
from burnish.llvm.corpora.manifest import Package
from burnish.llvm.toolchain import C_SUFFIXES, CXX_SUFFIXES

MARK = ".sha256"  # file in an unpacked folder: the digest of its archive

Progress = Callable[[int, int], None]  # bytes so far, total bytes
Download = Callable[[Package, Path, Progress | None], None]  # writes the package's sdist to a path


def download_sdist(package: Package, destination: Path, progress: Progress | None = None) -> None:
    """Download a package's sdist to `destination`; pip's configuration decides the package index."""
    if importlib.util.find_spec("pip") is None:
        raise MissingTool(
            f"fetching {package} needs pip in {sys.prefix}; install it with: {sys.executable} -m ensurepip"
        )
    script = Path(__file__).with_name("pip_download.py")
    command = [sys.executable, "-P", str(script), package.name, package.sdist, str(destination)]
    problem = ""
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True
        ) as child,
    ):
        assert child.stdout is not None
        try:
            for line in child.stdout:
                if not line.startswith("{"):  # a message to users, from pip or a plug-in of pip
                    continue
                report = json.loads(line)
                problem = report.get("error", problem)
                if progress and "done" in report:
                    progress(report["done"], package.size_bytes)
        except BaseException:  # also Ctrl-C: the download must not continue without this process
            child.kill()
            raise
        if child.wait():
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines()
            last = "".join(f"  pip: {line}\n" for line in said[-1:])
            raise InputError(
                f"cannot fetch {package.sdist}: {problem or 'pip ended without a message'}\n{last}"
                f"is the package index reachable? try: python -m pip index versions {package.name}\n"
                f"without a network, put {package.sdist} into the folder that packages are fetched to"
            )


def fetch(
    package: Package,
    directory: Path,
    progress: Progress | None = None,
    *,
    download: Download = download_sdist,
) -> Path:
    """Return the folder of a package's unpacked sdist, `directory/NAME-VERSION`, fetching it if missing.

    The archive stays beside the folder. An archive or folder with the right digest is used without
    network access. The digest is checked before unpacking, and no code of the package is run.
    An interruption at any point leaves no half-written file under a final name. `progress` is called with
    the bytes downloaded so far and the total bytes.

    Raises:
        InputError: the download failed or has another digest, or the folder has other content.
        MissingTool: this Python has no pip.
    """
    root = directory / f"{package.name}-{package.version}"
    if _is_unpacked(package, root):
        return root
    directory.mkdir(parents=True, exist_ok=True)
    archive = directory / package.sdist
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=directory) as scratch:
        if not (archive.is_file() and _sha256(archive) == package.sha256):
            arriving = Path(scratch) / package.sdist
            download(package, arriving, progress)
            if (digest := _sha256(arriving)) != package.sha256:
                raise InputError(
                    f"{package.sdist}: the downloaded file does not have the pinned digest; "
                    "nothing was unpacked\n"
                    f"  downloaded sha256 {digest} ({arriving.stat().st_size} bytes)\n"
                    f"  expected   sha256 {package.sha256} ({package.size_bytes} bytes)\n"
                    "check what the package index serves, and whether a proxy changes it, before trying again"
                )
            arriving.replace(archive)
        unpacked = Path(scratch) / "unpacked"
        unpack(archive, unpacked)
        _install(package, unpacked, root)
    return root


def _install(package: Package, unpacked: Path, root: Path) -> None:
    """Move the unpacked sdist to its final name, in one step."""
    entries = list(unpacked.iterdir())
    # an sdist contains one folder NAME-VERSION (the spelling varies); take the content of that folder
    top = entries[0] if len(entries) == 1 and entries[0].is_dir() else unpacked
    (top / MARK).write_text(package.sha256 + "\n", encoding="ascii")
    try:
        top.rename(root)
    except OSError:  # another process was faster
        if not _is_unpacked(package, root):
            raise


def _is_unpacked(package: Package, root: Path) -> bool:
    """Return whether `root` is the unpacked package."""
    if not root.exists():
        return False
    with contextlib.suppress(OSError):
        if (root / MARK).read_text(encoding="ascii").strip() == package.sha256:
            return True
    raise InputError(
        f"{root} exists, but differs from {package.sdist} as burnish unpacks it; move it away, or "
        "fetch to another folder"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
        suffix = next((suffix for suffix in ARCHIVE_SUFFIXES if path.name.endswith(suffix)), "")
        if suffix and path.is_file() and _holds_sources(path):
            unpack(path, path.with_name(path.name.removesuffix(suffix)))


def _extract(tar: tarfile.TarFile, archive: Path, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    members = {os.path.normpath(member.name): member for member in tar.getmembers()}
    for member in members.values():
        path = PurePosixPath(member.name)
        if path.is_absolute() or ".." in path.parts or "\0" in member.name:
            raise InputError(
                f"{archive}: member {member.name!r} would be written outside the folder; "
                "expected relative names without '..'; do not trust this archive"
            )
        target = directory / path
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
            continue
        source = _follow(member, members)
        content = tar.extractfile(source) if source and source.isreg() else None
        if content is None:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.read())


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
