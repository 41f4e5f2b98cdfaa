"""Csmith and llvm-stress: programs by seed, where the generators are installed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from burnish.core.errors import InputError, MissingTool
from burnish.llvm.corpora.generators import csmith_program, stress_program
from burnish.llvm.corpora.references import ModuleSource, resolve, resolve_one

SOURCE = ModuleSource("Oz")
FAKE_STRESS = """#!/bin/sh
echo 'define i32 @f(i32* %p) {
  %v = load i32, i32* %p
  ret i32 %v
}'
"""


def script(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.write_text(text)
    path.chmod(0o755)


@pytest.mark.skipif(not shutil.which("csmith"), reason="Csmith is not installed")
def test_csmith_s_programs_depend_on_the_seed_only() -> None:
    first, again, other = resolve_one("csmith:7"), csmith_program(7), csmith_program(8)
    assert first == again and first.digest != other.digest
    assert resolve_one("generator://csmith-v0/7") == first
    assert first.workload and SOURCE.variants("csmith:7").keys() == {"O0"}


@pytest.mark.skipif(not shutil.which("llvm-stress"), reason="llvm-stress is not installed")
def test_modules_of_llvm_stress_depend_on_the_seed_and_the_size() -> None:
    first = resolve_one("llvm-stress:7")
    assert first == stress_program(7) == resolve_one("generator://llvm-stress-v0/7")
    assert len({first.digest, stress_program(8).digest, stress_program(7, 300).digest}) == 3
    assert first.workload is None


def test_ranges_of_seeds_are_opened_one_by_one() -> None:
    """No generator runs for a name, so a million seeds cost nothing."""
    assert SOURCE.expand("csmith:3..5") == ["csmith:3", "csmith:4", "csmith:5"]
    assert SOURCE.expand("llvm-stress:3..4:200") == ["llvm-stress:3:200", "llvm-stress:4:200"]
    assert len(resolve("llvm-stress:0..99999")) == 100_000


def test_a_missing_generator_names_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="apt-get install csmith"):
        csmith_program(1)
    with pytest.raises(MissingTool, match="apt-get install llvm"):
        stress_program(1)
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    script(tmp_path / "bin", "csmith", "#!/bin/sh\n")
    with pytest.raises(MissingTool, match=r"csmith.h is not in .*apt-get install libcsmith-dev"):
        csmith_program(1)


def test_modules_of_another_version_are_read_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    script(tmp_path, "llvm-stress", FAKE_STRESS)
    assert stress_program(1).digest == stress_program(2).digest  # typed pointers are upgraded
    script(tmp_path, "llvm-stress", FAKE_STRESS.replace("ret i32", "retired i32"))
    with pytest.raises(InputError, match=r"cannot read the module .* an llvm-stress of a nearer version"):
        stress_program(1)
    script(tmp_path, "llvm-stress", "#!/bin/sh\necho no memory >&2\nexit 3\n")
    with pytest.raises(InputError, match="llvm-stress failed: no memory"):
        stress_program(1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("csmith:x", "expected a seed, such as csmith:7"),
        ("csmith:5..3", "from the smaller to the larger"),
        ("csmith:7:100", "Csmith takes no size; expected csmith:7"),
        ("generator://csmith-v0", "expected a seed too"),
    ],
)
def test_wrong_seeds(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        resolve(name)


def test_seeds_have_an_end() -> None:
    with pytest.raises((InputError, MissingTool), match=r"expected a seed from 0 to 4294967295|not on PATH"):
        resolve_one("llvm-stress:4294967296")
