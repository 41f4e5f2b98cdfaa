import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.llvm.corpora.fetch import unpack
from tests.llvm.corpora.sdists import link, tar_bytes


def unpacked(tmp_path: Path, files: Mapping[str, bytes | str | tarfile.TarInfo]) -> Path:
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(tar_bytes(files))
    unpack(archive, tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize("name", ["/evil.c", "../evil.c", "p/../../evil.c", "p/.."])
def test_a_member_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="outside the folder"):
        unpacked(tmp_path, {"p/a.c": "int a;", name: "int evil;"})
    assert not (tmp_path / "evil.c").exists()


def test_writing_through_a_link_stays_inside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    out = unpacked(tmp_path, {"p/door": link("p/door", str(outside)), "p/door/evil.c": "int evil;"})
    assert list(outside.iterdir()) == []
    assert (out / "p/door/evil.c").is_file()


def test_no_link_is_ever_made(tmp_path: Path) -> None:
    members: dict[str, bytes | str | tarfile.TarInfo] = {
        "p/a.h": "int a;",
        "p/sub/same.h": link("p/sub/same.h", "../a.h"),
        "p/twice.h": link("p/twice.h", "sub/same.h"),
        "p/hard.h": link("p/hard.h", "p/a.h", tarfile.LNKTYPE),
        "p/secret": link("p/secret", "/etc/passwd"),
        "p/up": link("p/up", "../../../../etc/passwd"),
        "p/loop": link("p/loop", "loop"),
    }
    out = unpacked(tmp_path, members)
    assert not any(path.is_symlink() for path in out.rglob("*"))
    for copy in ("p/sub/same.h", "p/twice.h", "p/hard.h"):
        assert (out / copy).read_text() == "int a;"
    assert not any((out / name).exists() for name in ("p/secret", "p/up", "p/loop"))


def test_a_device_is_left_out(tmp_path: Path) -> None:
    pipe = tarfile.TarInfo("p/pipe")
    pipe.type = tarfile.FIFOTYPE
    assert not (unpacked(tmp_path, {"p/a.c": "int a;", "p/pipe": pipe}) / "p/pipe").exists()


def test_an_archive_of_sources_inside_is_unpacked_beside_itself(tmp_path: Path) -> None:
    inner = tar_bytes({"onig-6/regex.c": "int r;"})
    data = tar_bytes({"fixture.bin": b"\0"})
    out = unpacked(tmp_path, {"p/onig-6.tar.gz": inner, "p/data.tgz": data, "p/broken.tar.xz": b"not a tar"})
    assert (out / "p/onig-6/onig-6/regex.c").is_file()
    assert not (out / "p/data").exists()
    assert not (out / "p/broken").exists()


@pytest.mark.parametrize(
    "content",
    [b"", b"no archive", tar_bytes({"p/a.c": "int a;" * 1000})[:60]],
    ids=["empty", "text", "cut"],  # the cut archive's bytes hold the time, and a test's name must not
)
def test_a_damaged_archive_is_named(tmp_path: Path, content: bytes) -> None:
    archive = tmp_path / "a.tar.gz"
    archive.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.tar\.gz: cannot be unpacked"):
        unpack(archive, tmp_path / "out")
