import re

import pytest

from burnish.core.errors import UnknownName
from burnish.corpora import find_package, load_manifest

SHARED_SOURCES = [
    {"igraph", "ecos", "scs", "jq", "pocketsphinx", "webrtcvad"},
    {"argon2-cffi-bindings", "pynacl"},
    {"pybullet", "pylibjpeg-openjpeg"},
]


def test_every_package_is_pinned_by_a_digest():
    packages = load_manifest()
    assert len(packages) == 42
    assert len({package.name for package in packages}) == 42
    for package in packages:
        assert re.fullmatch("[0-9a-f]{64}", package.sha256)
        assert package.sdist.endswith(".tar.gz")
        assert package.version in package.sdist
        assert package.size_bytes > 0
        assert package.licence
        assert 0 <= package.units <= package.files


def test_every_split_has_packages():
    assert {package.split for package in load_manifest()} == {"train", "val", "test", "no"}


@pytest.mark.parametrize("names", SHARED_SOURCES, ids=lambda names: "+".join(sorted(names)))
def test_packages_that_share_sources_are_in_one_split(names):
    assert len({find_package(name).split for name in names}) == 1


def test_an_evaluation_program_is_not_trained_on():
    assert find_package("lupa").split == "no"


def test_defines_are_kept():
    assert "HAVE_TI_MODE=1" in find_package("pynacl").defines
    assert find_package("lz4").defines == ()


def test_an_unknown_package_suggests_the_nearest():
    with pytest.raises(UnknownName, match=r"no package named 'zstandart'.*'zstandard'"):
        find_package("zstandart")


def test_a_repeat_is_of_a_package_in_a_split_that_keeps_it():
    keeps = ("train", "val", "test")
    found = [(package, other) for package in load_manifest() for other in package.repeats.values()]
    assert found
    for package, other in found:
        program, _, split = other.rpartition(" in ")
        assert find_package(program.partition("/")[0]).split == split
        assert keeps.index(split) < keeps.index(package.split)
