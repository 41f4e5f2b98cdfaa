"""Real packages from the index: slow, and they need a network."""

from pathlib import Path

import pytest

from burnish.llvm.corpora import Unit, demo_units, fetch, find_package, translation_units

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "name", ["lz4", "zstandard", "zopfli", "brotli", "cmarkgfm", "pycryptodome", "pynacl", "jq", "hiredis"]
)
def test_as_many_files_compile_as_the_manifest_says(name: str, tmp_path: Path) -> None:
    package = find_package(name)
    root = fetch(package, tmp_path)
    units = [unit for unit in translation_units(root, package) if isinstance(unit, Unit)]
    assert len(units) >= 0.92 * package.units


def test_the_demo_is_twelve_plain_c_files(tmp_path: Path) -> None:
    units = demo_units(tmp_path)
    assert len(units) == 12
    assert {unit.language for unit in units} == {"c"}
    assert not any(flag.startswith("-idirafter") for unit in units for flag in unit.options)
