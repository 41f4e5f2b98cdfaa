"""Small made-up source distributions, and what is hard to unpack."""

import hashlib
import io
import tarfile
from collections.abc import Mapping

from burnish.llvm.corpora import Package


def tar_bytes(files: Mapping[str, bytes | str | tarfile.TarInfo]) -> bytes:
    """Pack files, or members as they are given, into a .tar.gz."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in files.items():
            if isinstance(content, tarfile.TarInfo):
                tar.addfile(content)
                continue
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """Return a link as a member of an archive."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def make_package(sdist: bytes, **changes: object) -> Package:
    """Return a package whose digest is that of `sdist`."""
    fields = {
        "name": "tiny",
        "version": "1.0",
        "sdist": "tiny-1.0.tar.gz",
        "sha256": hashlib.sha256(sdist).hexdigest(),
        "size_bytes": len(sdist),
        "licence": "MIT",
        "split": "train",
        "files": 1,
        "units": 1,
    }
    return Package(**fields | changes)  # type: ignore[arg-type]
