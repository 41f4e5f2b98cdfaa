import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.program import Run
from burnish.llvm.corpora.building import build
from burnish.llvm.corpora.random_modules import random_ir, random_job, random_module
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.toolchain import find_tool
from tests.sources import workload_of


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_two_hundred_seeds_are_valid_modules(start: int) -> None:
    for seed in range(start, start + 50):
        module = _native.Module(random_module(seed).content)
        module.verify()
        assert module.has_function("main")
        assert len(module.functions) >= 2


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert random_module(7).content == random_module(7).content
    assert len({random_module(seed).digest for seed in range(20)}) == 20
    assert random_module(7, 300).digest != random_module(7).digest


@pytest.mark.parametrize("size", [100, 1000, 4000])
def test_the_size_is_about_what_was_asked_for(size: int) -> None:
    counts = [_native.Module(random_module(seed, size).content).instruction_count() for seed in range(12)]
    assert size / 2 < sum(counts) / len(counts) < 3 * size


def test_a_few_seeds_have_everything_in_them() -> None:
    text = "\n".join(random_ir(seed) for seed in range(10))
    for word in ("phi", "switch", "alloca", "getelementptr", "<4 x i32>", "fmul", "select", "sdiv", "call"):
        assert re.search(rf"(= |  ){word}|{word}", text), word
    kinds = "i8|i16|i32|i64|float|double"
    assert set(re.findall(rf"\b({kinds})\b", text)) == set(kinds.split("|"))


def output(tmp_path: Path, bitcode: bytes, level: str, *arguments: str) -> bytes:
    module, program = tmp_path / "module.bc", tmp_path / f"program{level}"
    module.write_bytes(bitcode)
    command = [str(find_tool("clang")), "-w", f"-{level}", str(module), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    done = subprocess.run([str(program), *arguments], capture_output=True, timeout=20, check=True)
    return done.stdout


def compare_levels(tmp_path: Path, seeds: Iterable[int], size: int) -> None:
    for seed in seeds:
        bitcode = random_module(seed, size).content
        printed = output(tmp_path, bitcode, "O0")
        assert re.fullmatch(rb"[0-9a-f]{16}\n", printed), seed
        assert output(tmp_path, bitcode, "O2") == printed, seed


def test_programs_end_and_print_the_same_at_other_levels(tmp_path: Path) -> None:
    compare_levels(tmp_path, range(12), 1000)


@pytest.mark.slow
def test_two_hundred_programs_print_the_same_at_other_levels(tmp_path: Path) -> None:
    compare_levels(tmp_path, range(200), 1000)
    compare_levels(tmp_path, range(200, 220), 10_000)


def test_what_a_program_prints_depends_on_its_arguments(tmp_path: Path) -> None:
    bitcode = random_module(3).content
    assert output(tmp_path, bitcode, "O2") != output(tmp_path, bitcode, "O2", "one more")


def test_a_random_program_can_be_run() -> None:
    workload = workload_of(random_module(1))
    assert workload.runs == (Run("default"),)


def test_random_programs_are_a_package_of_a_corpus(tmp_path: Path) -> None:
    build(tmp_path, [random_job(5, seed=10)])
    corpus = open_corpus(tmp_path)
    assert [row.path for row in corpus.programs] == ["10", "11", "12", "13", "14"]
    assert corpus.find("random/12").digest == random_module(12).digest
