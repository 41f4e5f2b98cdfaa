from collections.abc import Callable
from pathlib import Path

import pytest

from burnish.core.errors import InputError, MissingTool
from burnish.llvm.corpora import Package, fetch, find_package
from burnish.llvm.corpora.fetch import download_sdist
from tests.llvm.corpora.sdists import make_package, tar_bytes

SDIST = tar_bytes({"tiny-1.0/a.c": "int a;"})


class Index:
    """Stands for the package index: counts how often it is asked."""

    def __init__(self, content: bytes = SDIST) -> None:
        self.content, self.asked = content, 0

    def __call__(
        self, package: Package, destination: Path, progress: Callable[[int, int], None] | None = None
    ) -> None:
        self.asked += 1
        destination.write_bytes(self.content)
        if progress:
            progress(len(self.content), package.size_bytes)


def test_an_sdist_is_unpacked_under_its_name(tmp_path: Path) -> None:
    root = fetch(make_package(SDIST), tmp_path / "new", download=Index())
    assert root == tmp_path / "new/tiny-1.0"
    assert (root / "a.c").read_text() == "int a;"


def test_the_second_fetch_asks_nobody(tmp_path: Path) -> None:
    index = Index()
    first, second = (fetch(make_package(SDIST), tmp_path, download=index) for _ in range(2))
    assert first == second
    assert index.asked == 1


@pytest.mark.parametrize(("there", "asked"), [(SDIST, 0), (SDIST[:-3], 1)], ids=["whole", "damaged"])
def test_an_archive_is_downloaded_again_only_if_it_is_damaged(
    tmp_path: Path, there: bytes, asked: int
) -> None:
    (tmp_path / "tiny-1.0.tar.gz").write_bytes(there)
    index = Index()
    assert (fetch(make_package(SDIST), tmp_path, download=index) / "a.c").is_file()
    assert index.asked == asked
    assert (tmp_path / "tiny-1.0.tar.gz").read_bytes() == SDIST


def test_another_digest_names_both_and_unpacks_nothing(tmp_path: Path) -> None:
    other = tar_bytes({"tiny-1.0/a.c": "int evil;"})
    package = make_package(SDIST)
    with pytest.raises(InputError) as raised:
        fetch(package, tmp_path, download=Index(other))
    assert package.sha256 in str(raised.value)
    assert make_package(other).sha256 in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_fetch_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken(
        package: Package, destination: Path, progress: Callable[[int, int], None] | None = None
    ) -> None:
        destination.write_bytes(SDIST[:10])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(make_package(SDIST), tmp_path, download=broken)
    assert list(tmp_path.iterdir()) == []


def test_an_escaping_member_leaves_no_package(tmp_path: Path) -> None:
    sdist = tar_bytes({"tiny-1.0/a.c": "int a;", "../evil.c": "int evil;"})
    with pytest.raises(InputError, match="outside the folder"):
        fetch(make_package(sdist), tmp_path, download=Index(sdist))
    assert [path.name for path in tmp_path.iterdir()] == ["tiny-1.0.tar.gz"]


def test_a_folder_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "tiny-1.0").mkdir()
    (tmp_path / "tiny-1.0/mine.txt").write_text("mine")
    with pytest.raises(InputError, match="differs from tiny-1"):
        fetch(make_package(SDIST), tmp_path, download=Index())
    assert (tmp_path / "tiny-1.0/mine.txt").read_text() == "mine"


def test_progress_is_told_the_bytes(tmp_path: Path) -> None:
    seen = []
    fetch(make_package(SDIST), tmp_path, lambda done, total: seen.append((done, total)), download=Index())
    assert seen == [(len(SDIST), len(SDIST))]


def test_several_top_folders_are_kept(tmp_path: Path) -> None:
    sdist = tar_bytes({"one/a.c": "int a;", "two/b.c": "int b;"})
    root = fetch(make_package(sdist), tmp_path, download=Index(sdist))
    assert [(root / name).read_text() for name in ("one/a.c", "two/b.c")] == ["int a;", "int b;"]


def test_pip_reads_an_index_and_reports_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_from_folder(monkeypatch, tmp_path / "index", {"tiny-1.0.tar.gz": SDIST})
    seen = []
    package = make_package(SDIST)
    download_sdist(package, tmp_path / "got.tar.gz", lambda done, total: seen.append((done, total)))
    assert (tmp_path / "got.tar.gz").read_bytes() == SDIST
    assert seen[-1] == (len(SDIST), len(SDIST))


def test_a_file_that_no_index_has_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve_from_folder(monkeypatch, tmp_path / "index", {})
    with pytest.raises(
        InputError, match=r"cannot fetch tiny-1\.0\.tar\.gz: .*pip finds no(.|\n)*without a network"
    ):
        download_sdist(make_package(SDIST), tmp_path / "got.tar.gz")


def test_a_python_without_pip_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingTool, match="-m ensurepip"):
        download_sdist(make_package(SDIST), tmp_path / "got.tar.gz")


@pytest.mark.slow
def test_a_real_package_is_fetched_once(tmp_path: Path) -> None:
    seen = []
    package = find_package("pycosat")
    root = fetch(package, tmp_path, lambda done, total: seen.append((done, total)))
    assert (root / "picosat.c").is_file()
    assert seen[-1] == (package.size_bytes, package.size_bytes)
    assert fetch(package, tmp_path, download=Index()) == root


def serve_from_folder(monkeypatch: pytest.MonkeyPatch, folder: Path, files: dict[str, bytes]) -> None:
    """Let pip see this folder and no index, whatever it is configured with."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
