import re
from collections.abc import Sequence

import pytest

from burnish.core.errors import UnknownName
from burnish.llvm.corpora import find_package, load_manifest
from burnish.llvm.corpora.manifest import split_version

SHARED_SOURCES = [
    {"igraph", "ecos", "scs", "jq", "pocketsphinx", "webrtcvad"},
    {"argon2-cffi-bindings", "pynacl"},
    {"pybullet", "pylibjpeg-openjpeg"},
]


def test_every_package_is_pinned_by_a_digest() -> None:
    packages = load_manifest()
    assert len(packages) == 51
    assert len({package.name for package in packages}) == 51
    for package in packages:
        assert re.fullmatch("[0-9a-f]{64}", package.sha256)
        assert package.sdist.endswith(".tar.gz")
        assert package.version in package.sdist
        assert package.size_bytes > 0
        assert package.licence
        assert 0 <= package.units <= package.files


@pytest.mark.parametrize("names", SHARED_SOURCES, ids=lambda names: "+".join(sorted(names)))
def test_packages_that_share_sources_are_in_one_split(names: Sequence[str]) -> None:
    assert len({find_package(name).split for name in names}) == 1


def test_an_evaluation_program_is_not_trained_on() -> None:
    assert find_package("lupa").split == "no"


def test_defines_are_kept() -> None:
    assert "HAVE_TI_MODE=1" in find_package("pynacl").defines
    assert find_package("lz4").defines == ()


def test_an_unknown_package_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"no package named 'zstandart'.*'zstandard'"):
        find_package("zstandart")


def test_a_repeat_is_of_a_package_in_a_split_that_keeps_it() -> None:
    keeps = ("train", "val", "test")
    found = [(package, other) for package in load_manifest() for other in package.repeats.values()]
    assert found
    for package, other in found:
        program, _, split = other.rpartition(" in ")
        assert find_package(program.partition("/")[0]).split == split
        assert keeps.index(split) < keeps.index(package.split)


def test_a_version_of_a_split_is_never_another_one() -> None:
    found = {(package.split, package.since): set[str]() for package in load_manifest()}
    for package in load_manifest():
        found[package.split, package.since].add(package.name)
    versions = {
        ("train", 1),
        ("train", 2),
        ("val", 1),
        ("val", 2),
        ("test", 1),
        ("test", 2),
        ("test", 3),
        ("no", 1),
    }
    assert set(found) == versions
    first = {"lz4", "pillow", "pycosat", "quickjs", "regex", "soxr", "zopfli", "zstandard"}
    assert found["test", 1] == first
    assert found["test", 2] == {"fasttext", "marisa-trie", "pyworld", "ujson"}
    assert [split_version(split) for split in ("train", "val", "test")] == [2, 2, 3]


def test_code_for_microcontrollers_is_in_each_split() -> None:
    latest = {"train": 2, "val": 2, "test": 3}
    found = {split: set[str]() for split in latest}
    for package in load_manifest():
        if package.since == latest.get(package.split):
            found[package.split].add(package.name)
    expected = {
        "train": {"cmsisdsp", "heatshrink2"},
        "val": {"pymonocypher"},
        "test": {"littlefs-python", "tamp"},
    }
    assert found == expected


def test_cpp_is_tested_on_projects_of_its_own() -> None:
    cpp = [package for package in load_manifest() if (package.split, package.since) == ("test", 2)]
    assert sum(package.units for package in cpp) >= 40
