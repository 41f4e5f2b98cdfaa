"""Upstream's sources from Debian's (or a derivative's) archive, fetched by the machine's own apt."""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from burnish.core.errors import InputError

ETC = Path("/etc/apt")


@dataclass(frozen=True)
class Archive:
    """A source archive that apt has fetched and verified."""

    path: Path
    version: str  # upstream's
    sha256: str


def fetch_archive(package: str, directory: Path) -> Archive:
    """Return upstream's archive of a source package; an archive in the folder is not fetched again.

    apt verifies the file against the signed index of Debian's archive. The machine's apt configuration is not
    changed: its list of sources is read, and a separate configuration in the folder has their source
    packages.

    Raises:
        InputError: apt has no such package, or cannot fetch it.
    """
    directory.mkdir(parents=True, exist_ok=True)
    if not (found := _archive(package, directory)):
        apt = _own_apt(directory / "apt")
        _run([*apt, "source", "--download-only", "--tar-only", package], directory)
        found = _archive(package, directory)
    if not found:
        raise InputError(f"apt-get source {package}: no {package}_*.orig.tar.* came; is it a Debian system?")
    version = found.name.removeprefix(f"{package}_").partition(".orig.tar")[0]
    return Archive(found, version, hashlib.sha256(found.read_bytes()).hexdigest())


def unpack(archive: Archive, directory: Path) -> None:
    """Unpack the only folder in an archive as a new folder."""
    unpacked = directory.with_name(f"{directory.name}.unpacking")
    with tarfile.open(archive.path) as tar:
        tar.extractall(unpacked, filter="data")
    inner = list(unpacked.iterdir())
    if len(inner) != 1 or not inner[0].is_dir():
        raise InputError(f"{archive.path}: expected one folder, found {len(inner)} entries")
    inner[0].rename(directory)
    unpacked.rmdir()


def source_lines(text: str, *, one_line: bool) -> str:
    """Return the source-package entries for a list of apt sources, in the same format.

    Args:
        text: A sources.list (an entry in each line) or a .sources file (deb822: stanzas of fields).
        one_line: Whether the text is a sources.list.
    """
    if one_line:
        lines = [line.split() for line in text.splitlines()]
        entries = {
            " ".join(["deb-src", *words[1:]]) for words in lines if words[:1] in (["deb"], ["deb-src"])
        }
        return "".join(f"{line}\n" for line in sorted(entries) if "main" in line.split())
    stanzas = []
    for stanza in text.split("\n\n"):
        fields = [line for line in stanza.splitlines() if line and not line.startswith("#")]
        given = {name.lower(): value.split() for name, _, value in (line.partition(":") for line in fields)}
        if "main" not in given.get("components", []) or given.get("enabled") == ["no"]:
            continue  # third-party archives have no `main` component, and often no sources
        kept = [line for line in fields if not line.lower().startswith("types:")]
        stanzas.append("\n".join(["Types: deb-src", *kept]) + "\n")
    return "\n".join(stanzas)


def _own_apt(folder: Path) -> list[str]:
    """Return the apt-get command with a configuration in a folder; fetch its package lists once."""
    for name in ("parts", "lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path in [ETC / "sources.list", *sorted((ETC / "sources.list.d").glob("*"))]:
        if path.suffix in (".list", ".sources") and path.is_file():
            lines = source_lines(path.read_text(), one_line=path.suffix == ".list")
            (folder / "parts" / path.name).write_text(lines)
    options = {
        "Dir::Etc::sourcelist": "/dev/null",
        "Dir::Etc::sourceparts": folder / "parts",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",  # because other users may not be able to read the folder
    }
    apt = ["apt-get", "-q", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]
    if not list((folder / "lists").glob("*Sources*")):
        _run([*apt, "update"], folder)
    return apt


def _archive(package: str, directory: Path) -> Path | None:
    found = sorted(path for path in directory.glob(f"{package}_*.orig.tar.*") if path.suffix != ".asc")
    return found[-1] if found else None


def _run(command: list[str], directory: Path) -> None:
    try:
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise InputError("no apt-get: these projects' sources are fetched on Debian or Ubuntu") from None
    if done.returncode:
        last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-4:])
        raise InputError(f"{command[0]} {' '.join(command[-2:])} fails:\n{last}")
