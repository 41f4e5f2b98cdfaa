"""Where nests come from: each text stands for the nests that it says, and says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.errors import InputError, ProgramError, UnknownName
from burnish.core.registry import load_task, task_for
from burnish.tasks.loop_nests import TASK, families
from burnish.tasks.loop_nests.families import FAMILIES
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.programs import NestSource, from_toml
from tests.tasks.loop_nests.nests import small

SOURCE = NestSource()
PRODUCT = "f32 m=4 n=5 k=6\nc[m,n] += a[m,k] * b[k,n]\n"
TOML = """
dtype = "f32"
statements = ["c[m, n] += a[m, k] * b[k, n]"]
[extents]
m = 4
n = 5
k = 6
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/one.nest").write_text(f"# a product\n{PRODUCT}")
    (tmp_path / "two.toml").write_text(TOML)
    (tmp_path / "other.txt").write_text("nothing")
    return tmp_path


def test_a_nest_is_the_same_in_every_form(folder: Path) -> None:
    names = ["a/one.nest", "two.toml", "matmul:4x5x6", PRODUCT, PRODUCT.strip().replace("\n", "; ")]
    assert all(map(SOURCE.takes, names))
    programs = [SOURCE.load(name).program for name in names]
    assert len({program.digest for program in programs}) == 1
    assert [program.name for program in programs[:3]] == names[:3]
    assert programs[3].name == programs[4].name == f"nest-{programs[0].digest[:8]}"


def test_folder_stands_for_its_files(folder: Path) -> None:
    assert SOURCE.expand(".") == ["a/one.nest", "two.toml"]
    assert [program.name for program in SOURCE.open(".")] == ["a/one.nest", "two.toml"]


def test_files_are_seen_from_another_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert SOURCE.load("a/one.nest", directory=folder).program.content.decode() == str(parse(PRODUCT))


def test_sets_are_split_by_shape() -> None:
    train, test, every = (SOURCE.expand(f"matmul:{split}") for split in ("train", "test", "all"))
    assert sorted(train + test) == sorted(every)
    assert len(every) == 13**3
    assert 0.05 * len(every) < len(test) < 0.15 * len(every)
    assert SOURCE.expand("matmul:test@f64") == [f"{name}@f64" for name in test]
    everything = SOURCE.expand("nests:test")
    assert {name.partition(":")[0] for name in everything} <= {*FAMILIES}
    assert [name for name in everything if name.startswith("matmul:")] == test


def test_sets_are_read_one_by_one() -> None:
    programs = SOURCE.open("nests:all")
    assert len(programs) == sum(len(family.shapes) for family in FAMILIES.values())
    assert programs[-1].name.startswith("softmax:")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_nests(family: str) -> None:
    first = next(families.names(family))
    nest = families.find(first)
    assert nest.dtype == "f32" and families.find(first, "f64").dtype == "f64"
    assert parse(str(nest)) == nest
    assert small(family).flops > 0


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("matmul:4x5", "matmul:4x5: expected mxnxk, one number for each"),
        ("matmul:tset", "matmul:tset: expected matmul:mxnxk"),
        ("matmul:4x5x0", "k is 0"),
        ("matmul:4x5x6@f16", "dtype 'f16'; expected f32 or f64"),
        ("nests:4x5", "expected nests:train, nests:test, nests:all"),
        ("missing.nest", "missing.nest: No such file"),
        ("other.txt", "expected a file (.nest .toml)"),
        ("f32 i=3; o[i] = a[j]", "line 2: j is on the right only"),
    ],
)
def test_what_cannot_be_used_is_said(folder: Path, text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        SOURCE.load(text)
    assert what in str(caught.value)


def test_there_is_no_compiler_to_take_arguments() -> None:
    with pytest.raises(InputError, match="-O2"):
        SOURCE.load("matmul:4x5x6", ["-O2"])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("=", "x.toml: "),
        ("extent = 3", "no key named 'extent'; did you mean 'extents'"),
        ("[extents]\ni = 3", "expected statements"),
        ("statements = 'o[i] = 1'\n[extents]\ni = 3", "expected statements"),
        ("statements = ['o[i] = 1']", "expected extents"),
        ("statements = ['o[i] = 1']\n[extents]\ni = true", "expected extents"),
        ("statements = ['o[i] = 1']\n[extents]\ni = 1.5", "expected extents"),
        ("dtype = 'f8'\nstatements = ['o[i] = 1']\n[extents]\ni = 3", "dtype 'f8'; expected f32 or f64"),
        ("dtype = []\nstatements = ['o[i] = 1']\n[extents]\ni = 3", "dtype []; expected f32 or f64"),
        ("statements = ['o[i] = 1', 'p[i] = q[j]']\n[extents]\ni = 3", "statement 2: j is on the right only"),
    ],
)
def test_errors_of_toml(text: str, what: str) -> None:
    with pytest.raises(ProgramError) as caught:
        from_toml(text, "x.toml")
    assert what in str(caught.value)


def test_outputs_are_named_after_programs() -> None:
    assert SOURCE.file("matmul:4x5x6") is None and SOURCE.file(PRODUCT) is None
    assert SOURCE.file("a.nest") == Path("a.nest").absolute()
    assert (SOURCE.stem("matmul:4x5x6"), SOURCE.stem(PRODUCT)) == (
        "matmul:4x5x6",
        SOURCE.load(PRODUCT).program.name,
    )
    assert (SOURCE.project("matmul:4x5x6"), SOURCE.project("/x/a.nest")) == ("matmul", "x")


@pytest.mark.parametrize("text", ["hot.c", "kernels:fft", "random:7", "corpus:train", "a.bc", "."])
def test_what_llvm_takes_stays_its_own(text: str) -> None:
    assert task_for([text]).name == "llvm_passes"


@pytest.mark.parametrize("text", ["matmul:4x5x6", "nests:test", "x.nest", "x.toml", PRODUCT])
def test_nests_find_their_task(text: str) -> None:
    assert task_for([text]) is TASK is load_task("loop_nests")


def test_unknown_families_are_nobodys() -> None:
    with pytest.raises(InputError, match="no task takes this"):
        task_for(["matmull:4x5x6"])
    with pytest.raises(UnknownName, match="did you mean 'matmul'"):
        families.find("matmull:4x5x6")
