"""Fetch a pinned package: download, compare the digest, unpack; each step only once."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from burnish.core.errors import InputError, MissingTool
from burnish.llvm.corpora.archive import unpack
from burnish.llvm.corpora.manifest import Package

MARK = ".sha256"  # in an unpacked folder: the digest of the archive that it came from

Progress = Callable[[int, int], None]  # bytes so far, bytes in all
Download = Callable[[Package, Path, Progress | None], None]  # write the package's sdist to a path


def download_sdist(package: Package, destination: Path, progress: Progress | None = None) -> None:
    """Write a package's sdist to `destination`, from wherever pip is configured to find packages.

    Raises:
        MissingTool: this Python has no pip.
        InputError: the index cannot be reached, or does not have the file.
    """
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
                if not line.startswith("{"):  # pip, or one of its plug-ins, talking to people
                    continue
                report = json.loads(line)
                problem = report.get("error", problem)
                if progress and "done" in report:
                    progress(report["done"], package.size_bytes)
        except BaseException:  # Ctrl-C too: the download must not go on alone
            child.kill()
            raise
        if child.wait():
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines()
            raise InputError(_not_fetched(package, problem or "pip ended without a word", said))


def fetch(
    package: Package,
    directory: Path,
    progress: Progress | None = None,
    *,
    download: Download = download_sdist,
) -> Path:
    """Return the folder of a package's unpacked sdist, `directory/NAME-VERSION`, fetching what is missing.

    The archive stays beside it. What is there already, with the right digest, is used without
    touching the network. Nothing is unpacked before its digest is checked, and nothing of the
    package is run. Interrupted at any point, it leaves no half-written file under a final name.

    Args:
        package: An entry of the manifest.
        directory: Where packages live; made if it is not there.
        progress: Told the bytes downloaded so far and in all.
        download: How the archive is obtained.

    Raises:
        InputError: the download failed or has another digest, or the folder is something else.
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
            _check_digest(package, arriving)
            arriving.replace(archive)
        unpacked = Path(scratch) / "unpacked"
        unpack(archive, unpacked)
        _install(package, unpacked, root)
    return root


def _install(package: Package, unpacked: Path, root: Path) -> None:
    """Move what was unpacked to its final name, in one step."""
    entries = list(unpacked.iterdir())
    # an sdist is one folder NAME-VERSION, in whatever spelling: its content is what we want
    top = entries[0] if len(entries) == 1 and entries[0].is_dir() else unpacked
    (top / MARK).write_text(package.sha256 + "\n", encoding="ascii")
    try:
        top.rename(root)
    except OSError:  # somebody else was faster
        if not _is_unpacked(package, root):
            raise


def _is_unpacked(package: Package, root: Path) -> bool:
    """Say whether `root` is the package.

    Raises:
        InputError: it is something else.
    """
    if not root.exists():
        return False
    with contextlib.suppress(OSError):
        if (root / MARK).read_text(encoding="ascii").strip() == package.sha256:
            return True
    raise InputError(
        f"{root} exists, and is not {package.sdist} as burnish unpacks it; move it away, or fetch elsewhere"
    )


def _check_digest(package: Package, archive: Path) -> None:
    digest = _sha256(archive)
    if digest != package.sha256:
        raise InputError(
            f"{package.sdist}: what was downloaded has not the pinned digest; nothing was unpacked\n"
            f"  downloaded sha256 {digest} ({archive.stat().st_size} bytes)\n"
            f"  expected   sha256 {package.sha256} ({package.size_bytes} bytes)\n"
            "look at what the package index serves, or whether a proxy changes it, before trying again"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _not_fetched(package: Package, problem: str, said: list[str]) -> str:
    last = [f"  pip: {line}" for line in said[-1:]]
    return "\n".join(
        [
            f"cannot fetch {package.sdist}: {problem}",
            *last,
            f"is the package index reachable? try: python -m pip index versions {package.name}",
            f"without a network, put {package.sdist} into the folder that packages are fetched to",
        ]
    )
