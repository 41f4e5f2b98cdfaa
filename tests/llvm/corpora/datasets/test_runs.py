"""Runs of datasets' programs: their own inputs, their outputs compared, and their names with inputs."""

from __future__ import annotations

import contextlib

import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.envs import make
from burnish.llvm.corpora.datasets.import_files import dataset_folder
from burnish.llvm.corpora.datasets.runs import stored_workload
from burnish.llvm.corpora.datasets.table import find_dataset
from burnish.llvm.corpora.references import ModuleSource, is_reference, resolve, resolve_one
from burnish.llvm.run.check import ObjectBehaviour
from burnish.tasks.llvm_passes import TASK
from tests.llvm.corpora.datasets.conftest import POLYBENCH, SORT, Import

SOURCE = ModuleSource("Oz")
CBENCH = {
    "cBench_V1.1/automotive_qsort1/src/qsort.c": SORT,
    "cBench_V1.1/automotive_qsort1/src/Makefile.gcc": "all:\n",
    "cBench_V1.1/telecom_CRC32/src/crc_32.c": "int main(int n, char **words) { return n < 2; }\n",
    "cBench_V1.1/telecom_CRC32/src/Makefile.gcc": "all:\n",
    "cBench_V1.1/automotive_qsort_data/1.dat": "3 1 2",
    "cBench_V1.1/automotive_qsort_data/2.dat": "9 8",
}


@pytest.fixture
def cbench(bring: Import) -> None:
    manifest = bring("cbench", CBENCH)
    assert manifest.not_run == {"crc32": "no input file"}


def outputs(name: str) -> list[bytes]:
    program = resolve_one(name)
    assert program.workload
    session = TASK.open(program)
    return [run.output for run in ObjectBehaviour(name, program.workload).run(session)]


@pytest.mark.usefixtures("cbench")
def test_what_a_program_of_cbench_writes_is_compared() -> None:
    assert outputs("cbench-v1/qsort") == [b"3 values\n1\n2\n3\n"]  # standard output, then its file
    assert outputs("cbench-v1/qsort@2") == [b"2 values\n8\n9\n"]
    assert len(outputs("cbench-v1/qsort@*")) == 2
    assert resolve_one("cbench-v1/crc32").workload is None


def test_ctuning_s_folders_give_the_same_names_and_inputs(bring: Import) -> None:
    program = "ck/program/cbench-automotive-qsort1"
    files = {f"{program}/.cm/meta.json": "{}", f"{program}/qsort.c": SORT}
    manifest = bring("cbench", files | {"ck/dataset/cdataset-qsort-0001/data.txt": "5 4"})
    assert (manifest.programs, manifest.runnable) == (1, 1)
    assert outputs("cbench-v1/qsort") == [b"2 values\n4\n5\n"]


@pytest.mark.usefixtures("cbench")
def test_an_environment_opens_any_name_at_reset() -> None:
    with contextlib.closing(make("llvm_passes", "random:1", limits=None)) as env:
        env.reset(options={"program": "benchmark://cbench-v1/qsort"})
        assert env.program == resolve_one("cbench-v1/qsort")
        env.reset(options={"program": "random:2"})
        assert env.program.name == "random:2"
        with pytest.raises(InputError, match="burnish corpus import npb FOLDER"):
            env.reset(options={"program": "benchmark://npb-v0/1"})
        with pytest.raises(UnknownName, match="no program of this environment named 'nowhere'"):
            env.reset(options={"program": "nowhere"})
        env.reset()
        assert env.program.name == "random:1"


@pytest.mark.usefixtures("cbench")
def test_names_of_compilergym_are_burnish_s_names() -> None:
    ours = resolve_one("cbench-v1/qsort")
    for other in ("benchmark://cbench-v1/qsort", "benchmark://cBench-v1/qsort", "cbench-v1/qs*"):
        assert resolve_one(other) == ours
        assert SOURCE.expand(other) == ["cbench-v1/qsort"] and SOURCE.file(other) is None
    assert SOURCE.expand("benchmark://cbench-v1") == ["cbench-v1/crc32", "cbench-v1/qsort"]
    assert SOURCE.expand("benchmark://cbench-v1/qsort?dataset=1") == ["cbench-v1/qsort@2"]  # there from 0 on
    assert [len(program.workload.runs) for program in resolve("cbench-v1/q*@1,2") if program.workload] == [2]
    assert SOURCE.project("cbench-v1/qsort@2") == "cbench-v1/qsort"
    assert SOURCE.project("anghabench-v1/redis/src/f") == "anghabench-v1/redis/src"


@pytest.mark.usefixtures("cbench")
def test_unknown_programs_and_inputs_are_named() -> None:
    for name, message in (
        ("cbench-v1/qsrt", "did you mean 'cbench-v1/qsort'"),
        ("cbench-v1/z*", "no program in .* named 'cbench-v1/z"),
        ("cbench-v1/qsort@3", "no size of 'qsort' named '3'; known: 1, 2"),
        ("cbench-v1/qsort?dataset=2", "no input of cbench-v1/qsort named 2"),
        ("benchmark://cbnch-v1/qsort", "did you mean 'cbench-v1'"),
    ):
        with pytest.raises(UnknownName, match=message):
            resolve(name)
    with pytest.raises(InputError, match="cbench-v1/crc32@1: this program has no inputs"):
        resolve("cbench-v1/crc32@1")


def test_a_missing_import_is_named_with_its_command(bring: Import) -> None:
    assert is_reference("benchmark://npb-v0/1")
    with pytest.raises(InputError, match=r"npb-v0 is not imported.*burnish corpus import npb FOLDER"):
        resolve("benchmark://npb-v0/1")


def test_polybench_s_arrays_are_compared(bring: Import) -> None:
    manifest = bring("polybench", POLYBENCH)
    assert manifest.runnable == 2 and "-DSMALL_DATASET" in manifest.flags
    (output,) = outputs("polybench-v4/jacobi")
    assert len(output.split()) == 60 and output.startswith(b"0.00 0.14 ")
    bring("polybench", POLYBENCH, "-USMALL_DATASET")
    assert len(outputs("polybench-v4/gemm")[0].split()) == 200


def test_inputs_that_were_removed_are_named(cbench: None) -> None:
    folder = dataset_folder(find_dataset("cbench"))
    for file in (folder / "inputs").iterdir():
        file.unlink()
    with pytest.raises(InputError, match=r"an input file cannot be read .* import the dataset again"):
        stored_workload(folder, "qsort")
