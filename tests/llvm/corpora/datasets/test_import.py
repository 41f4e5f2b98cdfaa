"""Imports of datasets: which files become programs, in which split, and what is said about the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish import _native
from burnish.core.errors import InputError, MissingTool, UnknownName
from burnish.llvm.corpora.datasets.import_files import check_split, dataset_folder, read_manifest
from burnish.llvm.corpora.datasets.programs import find_programs
from burnish.llvm.corpora.datasets.table import datasets, find_dataset
from burnish.llvm.corpora.store import Corpus, open_corpus
from tests.llvm.corpora.conftest import PADDING
from tests.llvm.corpora.datasets.conftest import POLYBENCH, Import, write

ADD = "define i32 @add(i32 %x, i32 %y) {\n  %s = add i32 %x, %y\n  ret i32 %s\n}\n"
FUNCTION = "int {}(int x) {{ return x * {}; }}\n"


def corpus(name: str) -> Corpus:
    return open_corpus(dataset_folder(find_dataset(name)))


def test_the_table_has_one_entry_for_each_dataset() -> None:
    asked = "cbench chstone mibench npb blas opencv tensorflow linux poj104 github anghabench polybench"
    assert {*asked.split(), "llvm-test-suite", "compile"} <= datasets().keys()
    for dataset in datasets().values():
        assert find_dataset(dataset.id) is find_dataset(dataset.name) is dataset
    with pytest.raises(UnknownName, match="did you mean 'cbench-v1'"):
        find_dataset("cbench-v0")


def test_modules_of_compilergym_keep_their_names(bring: Import) -> None:
    files = {"cBench-v1/qsort.bc": _native.Module(ADD.encode(), "").bitcode(), "cBench-v1/sha.ll": ADD + "; "}
    files["cBench-v1/crc32.ll"] = ADD.replace("add i32", "xor i32")
    manifest = bring("cbench", files)
    assert [row.name for row in corpus("cbench").programs] == ["cbench-v1/crc32", "cbench-v1/qsort"]
    assert manifest.statuses == {"compiled": 2, "repeated": 1}
    (repeated,) = (row for row in corpus("cbench").rows if row.status == "repeated")
    assert repeated.reason == "the same program as cbench-v1/qsort"


def test_broken_modules_are_left_out_with_the_reason(bring: Import) -> None:
    loop = "define i32 @f(i32 %x) {\n  %a = add i32 %b, %x\n  %b = add i32 %a, 1\n  ret i32 %a\n}\n"
    bring("linux", {"good.ll": ADD, "invalid.ll": loop, "cut.bc": b"BC\xc0\xde0000", "text.ll": "nonsense"})
    reasons = {row.path: row.reason for row in corpus("linux").rows if row.status == "failed"}
    assert reasons.keys() == {"invalid", "cut", "text"}
    assert reasons["invalid"] == "invalid module: Instruction does not dominate all uses!"
    with pytest.raises(InputError, match="no program of github-v0 can be used: github-v0/text: line 1"):
        bring("github", {"text.ll": "nonsense"})


def test_modules_of_earlier_versions_are_upgraded(bring: Import) -> None:
    """Typed pointers, and the data layout of LLVM 10 for x86-64, in which i128 was aligned to 8 bytes."""
    layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
    head = f'target datalayout = "{layout}"\ntarget triple = "x86_64-unknown-linux-gnu"\n'
    body = "define i32 @load(i32* %p) {\n  %v = load i32, i32* %p, align 4\n  ret i32 %v\n}\n"
    other = head.replace("m:e", "m:o").replace("unknown-linux-gnu", "apple-macosx10.15.0")
    bring("blas", {"linux.ll": head + body, "mac.ll": other + body})
    programs = {program.name: _native.Module(program.content, "") for program in corpus("blas")}
    assert "i128:128" in programs["blas-v0/linux"].print() and "ptr" in programs["blas-v0/linux"].print()
    assert programs["blas-v0/mac"].triple == "x86_64-apple-macosx10.15.0"  # a module keeps its target


def test_evaluation_suites_are_never_in_train(bring: Import) -> None:
    manifest = bring("chstone", {"CHStone/sha/sha_driver.c": "int main(void) { return 0; }\n"})
    folder = dataset_folder(find_dataset("chstone"))
    assert {row.split for row in corpus("chstone").rows} == {"test"}
    assert read_manifest(folder) == manifest and manifest.licence == "each program its own"
    check_split(folder, ["val", "test"])
    with pytest.raises(InputError, match="chstone-v0 is an evaluation suite, which is never in train"):
        check_split(folder, ["train", "test"])
    bring("anghabench", {"8cc/extr_a.c_f.c": FUNCTION.format("f", 3)})
    assert {row.split for row in corpus("anghabench").rows} == {"train"}
    check_split(dataset_folder(find_dataset("anghabench")), ["train"])


def test_files_with_main_are_programs_named_by_folder(bring: Import) -> None:
    bring(
        "chstone",
        {
            "CHStone_v1.11/gsm/gsm.c": '#include "lpc.c"\nint main(void) { return lpc(0); }\n',
            "CHStone_v1.11/gsm/lpc.c": FUNCTION.format("lpc", 2),
            "CHStone_v1.11/jpeg/main.c": "int main(void) { return 0; }\n",
        },
    )
    assert [row.name for row in corpus("chstone").programs] == ["chstone-v0/gsm", "chstone-v0/jpeg"]


def test_a_program_is_the_same_wherever_its_folder_is(bring: Import, tmp_path: Path) -> None:
    first = bring("polybench", POLYBENCH)
    second = bring("polybench", POLYBENCH, inside="else/where")
    assert first.digest == second.digest


def test_anghabench_is_split_by_project(bring: Import) -> None:
    names = {"8cc/extr_a.c_f.c": 3, "8cc/extr_b.c_g.c": 4, "redis/src/extr_c.c_h.c": 5}
    bring("anghabench", {name: FUNCTION.format("f", number) for name, number in names.items()})
    assert [row.path for row in corpus("anghabench").programs] == [name.removesuffix(".c") for name in names]


def test_the_solutions_of_poj104_compile_as_their_authors_wrote_them(bring: Import) -> None:
    old = "void main()\n{ int n; cin >> n; char line[MAX]; gets(line); cout << n << endl; }\n"
    bring("poj104", {"ProgramData/1/2.txt": old, "ProgramData/104/7.txt": "main() { return 0; }\n"})
    assert [row.name for row in corpus("poj104").programs] == ["poj104-v1/1/2", "poj104-v1/104/7"]


def test_llvm_s_test_suite_has_files_and_folders(bring: Import) -> None:
    many = "MultiSource/Benchmarks/McCat/sort"
    manifest = bring(
        "llvm-test-suite",
        {
            "SingleSource/Benchmarks/Misc/pi.c": '#include <stdio.h>\nint main(void) { puts("3"); }\n',
            "SingleSource/Benchmarks/Misc/pi.reference_output": "3\nexit 0\n",
            "SingleSource/Benchmarks/Misc/e.c": '#include <stdio.h>\nint main(void) { puts("2"); }\n',
            "SingleSource/Benchmarks/Misc/e.reference_output": "3\nexit 0\n",
            f"{many}/CMakeLists.txt": "set(PROG sort)\n",
            f"{many}/main.c": "int sort(int);\nint main(void) { return sort(0); }\n",
            f"{many}/sort.c": FUNCTION.format("sort", 7),
        },
    )
    names = ["SingleSource/Benchmarks/Misc/e", "SingleSource/Benchmarks/Misc/pi"]
    assert [row.path for row in corpus("llvm-test-suite").programs] == [many, *names]
    assert manifest.not_run == {names[0]: "does not print what is in e.reference_output"}
    assert manifest.runnable == 2


def test_source_archives_are_built_as_packages_are(bring: Import) -> None:
    bring(
        "mibench",
        {"network/dijkstra/dijkstra.c": FUNCTION.format("dijkstra", 3) + PADDING},
    )
    assert [row.name for row in corpus("mibench").programs] == ["mibench-v1/network/dijkstra/dijkstra.c"]


def test_compile_is_read_from_parquet(bring: Import, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    modules = [
        _native.Module(ADD.replace("add i32", f"{how} i32").encode(), "").bitcode() for how in ("or", "and")
    ]
    rows = {
        "content": [*modules, b"no bitcode"],
        "language": ["c", "rust", "c"],
        "package_source": ["zlib", "x/y", ""],
    }
    (tmp_path / "files/compile/c").mkdir(parents=True)
    parquet.write_table(arrow.table(rows), tmp_path / "files/compile/c/train-00000.parquet")
    bring("compile", {})
    names = ["compile-v1/c/zlib/c-train-00000-0-0", "compile-v1/rust/x-y/c-train-00000-0-1"]
    assert [row.name for row in corpus("compile").programs] == names
    (failed,) = (row for row in corpus("compile").rows if row.status == "failed")
    assert failed.path == "c/c-train-00000-0-2"


def test_parquet_without_pyarrow_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"c/train.parquet": b"PAR1"})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(MissingTool, match="pip install pyarrow"):
        find_programs(find_dataset("compile"), tmp_path)


def test_a_folder_without_the_dataset_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"stencils/jacobi/jacobi.c": "int main(void) { return 0; }\n"})
    with pytest.raises(
        InputError, match="no program of polybench-v4 there; expected one of: utilities/polyb"
    ):
        find_programs(find_dataset("polybench"), tmp_path)
    with pytest.raises(InputError, match="nowhere: no such folder; expected the files of polybench-v4"):
        find_programs(find_dataset("polybench"), tmp_path / "nowhere")


def test_the_documentation_has_the_table() -> None:
    text = (Path(__file__).parents[4] / "docs/corpora.md").read_text(encoding="utf-8")
    for dataset in datasets().values():
        kind = "evaluation" if dataset.evaluation else "training"
        assert f"| `{dataset.id}` | {kind} | {dataset.obtain} | {dataset.licence} |" in text
