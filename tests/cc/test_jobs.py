"""What burnish reads from clang's plan."""

from __future__ import annotations

import platform
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.cc.jobs import ClangJob, ClangJobs, make_plan, parse_plan
from burnish.cc.refusals import NOT_CODE_GENERATION, REFUSED, refusal, table
from burnish.llvm.toolchain import find_tool

COMPILE = ("/bin/clang-23", "-cc1", "-Oz", "-emit-obj", "-vectorize-slp", "-o", "a.o", "-x", "c", "a.c")
LINK = ("/bin/ld.lld", "-o", "a.out", "a.o")


def printed(*commands: tuple[str, ...]) -> str:
    """Print a plan as clang does (llvm/lib/Support/Program.cpp)."""
    escaped = [[re.sub(r'(["\\$])', r"\\\1", argument) for argument in command] for command in commands]
    lines = ["".join(f' "{argument}"' for argument in command) for command in escaped]
    return "clang version 23.1.4\nTarget: x\n (in-process)\n" + "\n".join(lines) + "\n"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1))
def test_every_argument_is_read_back(arguments: list[str]) -> None:
    command = ("clang", "-cc1", *(argument.replace("@", "a") for argument in arguments))
    plan = parse_plan(printed(command, command))
    assert plan
    assert [job.command for job in plan.jobs] == [command, command]


def test_a_plan_knows_its_jobs() -> None:
    plan = parse_plan(printed(COMPILE, LINK))
    assert plan
    assert plan.version == "23.1.4"
    compile_job, link = plan.jobs
    assert plan.compilations == (compile_job,)
    assert plan.reader(compile_job) == link
    assert plan.outputs == {Path("a.out")}
    assert (compile_job.level, compile_job.language, compile_job.source) == ("Oz", "c", "a.c")
    assert (compile_job.output, link.output) == ("a.o", "a.out")
    assert compile_job.belongs_to_clang
    assert not link.belongs_to_clang


@pytest.mark.parametrize(
    "text", ["", "clang: error: no input files\n", printed(("ld", "@/tmp/arguments.txt"))]
)
def test_a_plan_that_cannot_be_repeated_is_none(text: str) -> None:
    assert parse_plan(text) is None


@pytest.mark.parametrize(
    "words", ["-v -c a.c", "-MJ a.json -c a.c", "-### -c a.c", "-c missing.c", "@missing"]
)
def test_commands_that_do_more_than_their_jobs_have_no_plan(words: str) -> None:
    assert make_plan(find_tool("clang"), words.split()) is None


def test_the_last_level_counts() -> None:
    assert ClangJob(("clang", "-cc1", "-Os", "-O2")).level == "O2"
    assert ClangJob(("clang", "-cc1")).level == "O0"


def test_a_repeated_job_writes_its_output_only() -> None:
    noisy = ("-dependency-file", "a.d", "-MT", "a.o", "-serialize-diagnostic-file", "a.dia")
    command = (*COMPILE[:2], *noisy, *COMPILE[2:])
    assert ClangJob(command).silenced().command == (
        *COMPILE[:2], "-MT", "a.o", *COMPILE[2:5], "-w", *COMPILE[5:],
    )  # fmt: skip


def test_the_three_steps_share_one_command_line() -> None:
    job = ClangJob((*COMPILE[:2], "-disable-llvm-verifier", *COMPILE[2:]))
    assert job.front_end(Path("a.bc")).command == (
        "/bin/clang-23", "-cc1", "-disable-llvm-verifier", "-Oz", "-emit-llvm-bc", "-emit-llvm-uselists",
        "-disable-llvm-passes", "-vectorize-slp", "-o", "a.bc", "-x", "c", "a.c",
    )  # fmt: skip
    assert job.code_generation(Path("a.bc"), Path("b.o")).command == (
        "/bin/clang-23", "-cc1", "-Oz", "-emit-obj", "-disable-llvm-passes", "-vectorize-slp",
        "-o", "b.o", "-x", "ir", "a.bc",
    )  # fmt: skip


def test_the_documentation_has_what_is_refused() -> None:
    page = Path(__file__).parents[2] / "docs" / "drop_in.md"
    assert table() in page.read_text(), "write burnish.cc.refusals.table() into docs/drop_in.md"


def test_a_target_is_another_machines() -> None:
    def plan(triple: str) -> ClangJobs:
        return ClangJobs((ClangJob((*COMPILE[:2], "-triple", triple, *COMPILE[2:])),), "23")

    assert plan("riscv64-unknown-linux-gnu").is_cross
    assert not plan(f"{platform.machine()}-unknown-linux-gnu").is_cross
    assert ClangJobs((ClangJob(("/bin/wasm-ld", "a.o", "-o", "a.wasm")),), "23").is_cross


def test_size_levels_are_not_refused() -> None:
    assert refusal(ClangJob(COMPILE), every_level=False) is None


@pytest.mark.parametrize("option", [option for options in REFUSED.values() for option in options])
def test_every_refused_option_is_refused(option: str) -> None:
    spelled = option.replace("*", "=x")
    why = refusal(ClangJob((*COMPILE[:2], spelled, *COMPILE[2:])), every_level=True)
    assert why and why.startswith(option.rstrip("*"))


def refusals(folder: Path, flags: str) -> list[str | None]:
    """Return why burnish leaves clang's compilations of an empty source to clang."""
    source = folder / "a.c"
    source.touch()
    plan = make_plan(find_tool("clang"), [*flags.split(), "-c", str(source)])
    assert plan
    return [refusal(job, every_level=False) for job in plan.compilations]


@pytest.mark.parametrize(
    "flags",
    [
        "-Oz -g -fPIC -ffunction-sections -fdata-sections -fvisibility=hidden -fstack-protector-strong",
        "-Os -fno-strict-aliasing -fwrapv -fno-common -fno-builtin -pthread -D_FORTIFY_SOURCE=2",
        "-Oz -march=x86-64-v3 -mtune=generic -fcf-protection -mno-red-zone -fno-plt -ffast-math",
        "-Os -std=gnu11 -Wall -Wextra -Werror -pedantic -MD -MP -fno-omit-frame-pointer -fopenmp",
        "-Oz -mllvm -enable-machine-outliner -mllvm -align-all-functions=2 -mllvm -x86-pad-max-prefix-size=0",
        "-Os -m32",
        "-Os -ffreestanding -fno-jump-tables -fno-delete-null-pointer-checks -ftrivial-auto-var-init=zero",
    ],
)
def test_what_real_builds_use_is_not_refused(tmp_path: Path, flags: str) -> None:
    assert refusals(tmp_path, flags) == [None]


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        ("-Oz -fno-slp-vectorize", "-fno-slp-vectorize: burnish's passes may vectorize"),
        ("-Os -fno-vectorize", "-fno-vectorize: burnish's passes may vectorize"),
        ("-Os -fno-unroll-loops", "-fno-unroll-loops: burnish's passes may unroll loops"),
        ("-Os -xobjective-c", "the language is objective-c, not C or C++"),
        ("-Os -mllvm -inline-threshold=0", f"-mllvm -inline-threshold: {NOT_CODE_GENERATION}"),
        ("-Og", "-Og: no objective for speed yet; --objective loaded-bytes makes every level smaller"),
    ],
)
def test_the_reason_names_the_option(tmp_path: Path, flags: str, reason: str) -> None:
    assert refusals(tmp_path, flags) == [reason]
