"""The runnable suite: every kernel prints what is expected however it is built, and notices its faults."""

from __future__ import annotations

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from burnish import _native
from burnish.core.errors import InputError, UnknownName
from burnish.core.program import Program, Run
from burnish.llvm.corpora.kernels import (
    FLAGS,
    FOLDER,
    LINK_ARGUMENTS,
    Kernel,
    find_kernel,
    kernel_names,
    kernels,
    load_kernel,
)
from burnish.llvm.corpora.references import ModuleSource, resolve, resolve_one
from burnish.llvm.toolchain import find_tool
from tests.sources import workload_of

WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Werror")
# clang's own runtimes; the unwinder of the system, as that of clang's wheel is not on the loader's path
SANITIZERS = (
    "-g -fsanitize=address,undefined -fno-sanitize-recover=all --rtlib=libgcc --unwindlib=libgcc".split()
)
NAMES = kernel_names()


def build(kernel: Kernel, to: Path, *options: str) -> Path:
    """Compile and link a kernel."""
    command = [str(find_tool("clang")), *FLAGS, *options, str(kernel.source), "-o", str(to), *LINK_ARGUMENTS]
    subprocess.run(command, check=True)
    return to


def execute(program: Path, run: Run) -> subprocess.CompletedProcess[bytes]:
    """Run a kernel on one of its inputs."""
    return subprocess.run([program, *run.arguments], capture_output=True, check=False, timeout=300)


def outputs(directory: Path, *options: str) -> dict[str, subprocess.CompletedProcess[bytes]]:
    """Build all kernels and run them on their small inputs, two at a time."""

    def one(kernel: Kernel) -> subprocess.CompletedProcess[bytes]:
        return execute(build(kernel, directory / kernel.name, *options), kernel.runs[0])

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(NAMES, pool.map(one, kernels()), strict=True))


def assert_expected(done: dict[str, subprocess.CompletedProcess[bytes]]) -> None:
    """Compare what kernels printed on their small inputs with what is expected."""
    for kernel in kernels():
        assert done[kernel.name].returncode == 0, done[kernel.name].stderr.decode(errors="replace")
        assert done[kernel.name].stdout == kernel.runs[0].expected, kernel.name


def test_every_file_is_listed_and_every_kernel_is_described() -> None:
    assert {path.stem for path in FOLDER.glob("*.c")} == set(NAMES)
    assert len({kernel.description for kernel in kernels()}) == len(NAMES)
    for kernel in kernels():
        assert kernel.area and len(kernel.description) > 20
        assert [run.name for run in kernel.runs] == ["small", "medium", "large"]
        assert all(run.expected for run in kernel.runs)


@pytest.mark.parametrize("level", [pytest.param("O0", marks=pytest.mark.slow), "O2"])
def test_kernels_print_what_is_expected(level: str, tmp_path: Path) -> None:
    assert_expected(outputs(tmp_path, f"-{level}", *WARNINGS))


def test_kernels_notice_a_fault_in_their_result(tmp_path: Path) -> None:
    for name, done in outputs(tmp_path, "-O1", "-DINJECT_FAULT").items():
        assert done.returncode == 1, f"{name} does not notice"
        assert done.stderr.startswith(b"FAILED: "), f"{name}: {done.stderr!r}"


def test_programs_are_the_kernels(tmp_path: Path) -> None:
    for name in ("fft", "sha256"):
        program = load_kernel(name)
        module = _native.Module(program.content, name)
        module.honour_mandatory()
        module.run("clang<Oz>")
        (tmp_path / "part.o").write_bytes(module.emit_object("Oz"))
        workload = workload_of(program)
        command = [str(find_tool("clang")), str(tmp_path / "part.o"), "-o", str(tmp_path / name)]
        subprocess.run([*command, *workload.link_arguments], check=True)
        (run,) = workload.runs
        assert execute(tmp_path / name, run).stdout == run.expected


def test_sizes_are_chosen_by_name_or_argument() -> None:
    def sizes(*arguments: Any) -> list[str]:
        return [run.name for run in workload_of(load_kernel(*arguments)).runs]

    assert sizes("fft") == ["small"]
    assert sizes("fft@medium") == sizes("fft", ["medium"]) == ["medium"]
    assert sizes("fft@large,small") == ["small", "large"]
    assert sizes("fft", None) == ["small", "medium", "large"]
    assert load_kernel("fft@large") == load_kernel("fft")
    assert load_kernel("fft").name == "kernels:fft"


def test_names_of_programs_may_choose_sizes() -> None:
    program = resolve_one("kernels:fft@medium,large")
    assert program == load_kernel("fft") and program.workload is not None
    assert [run.name for run in program.workload.runs] == ["medium", "large"]
    assert len(resolve("kernels:q*@small")) == len([name for name in NAMES if name.startswith("q")])


def test_a_program_takes_other_inputs_of_its_kernel() -> None:
    source = ModuleSource("O3")
    small = source.load("kernels:fft@small").program
    every = source.with_inputs(small)
    assert every.workload and [run.name for run in every.workload.runs] == ["small", "medium", "large"]
    assert every.content == small.content  # as clang makes it at -O3
    medium = source.with_inputs(small, ["medium"])
    assert medium.workload and [run.name for run in medium.workload.runs] == ["medium"]
    other = Program("mine.c", "llvm", b"")
    assert source.with_inputs(other, ["medium"]) is other
    with pytest.raises(UnknownName):
        source.with_inputs(small, ["huge"])


def test_the_module_does_not_name_where_burnish_is_installed() -> None:
    assert str(FOLDER).encode() not in load_kernel("fft").content
    assert load_kernel("fft").content == load_kernel("fft").content != load_kernel("fft", level="O3").content


def test_unknown_names_are_explained() -> None:
    with pytest.raises(UnknownName, match=re.escape("no kernel named 'ftt'; did you mean 'fft'")):
        load_kernel("ftt")
    with pytest.raises(UnknownName, match="no size of 'fft' named 'larg'; did you mean 'large'"):
        load_kernel("fft@larg")
    with pytest.raises(UnknownName, match="no size"):
        load_kernel("fft@")
    with pytest.raises(InputError, match="expected a sequence of small, medium, large"):
        load_kernel("fft", "small")


WRONG_ARGUMENTS = [(), ("1",), ("0", "1"), ("1x", "1"), ("-1", "1"), ("99999999999999999999", "1")]


@pytest.mark.parametrize("arguments", WRONG_ARGUMENTS)
def test_wrong_arguments_are_refused(arguments: tuple[str, ...], tmp_path: Path) -> None:
    program = build(find_kernel("sha256"), tmp_path / "program")
    done = execute(program, Run("wrong", arguments))
    assert done.returncode == 1 and b"usage: kernel SIZE SEED" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_kernels_print_what_is_expected_at_every_size(name: str, tmp_path: Path) -> None:
    kernel = find_kernel(name)
    for level in ("O0", "Oz", "O3"):
        program = build(kernel, tmp_path / "program", f"-{level}")
        for run in kernel.runs:
            done = execute(program, run)
            assert (done.returncode, done.stdout) == (0, run.expected), f"{level} {run.name}"


@pytest.mark.slow
def test_kernels_are_clean_under_sanitizers(tmp_path: Path) -> None:
    assert_expected(outputs(tmp_path, "-O1", *SANITIZERS))
