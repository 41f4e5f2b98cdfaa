"""What breaks a program is caught, and reduced to the least that does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.errors import IllegalAction, InputError
from burnish.core.program import Run, Workload
from burnish.core.validator import BEHAVIOUR, CODE_GENERATION, CRASH, HANG, INVALID, UNSTABLE
from burnish.evaluation.validate import Scrutiny, Validation, validate
from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.programs import load_program
from burnish.llvm.reproducers.sanitize import MEMORY
from burnish.tasks.llvm_passes import TASK
from burnish.workers.worker import GIB, Limits
from tests.evaluation.broken_passes import broken_task, moods
from tests.sources import program

pytestmark = pytest.mark.usefixtures("nothing_left")

BROKEN = broken_task("mode+1", "crash", "hang", "invalid", "no-code", "unstable")
LIMITS = Limits(deadline_seconds=10, memory_bytes=GIB)
SCRUTINY = Scrutiny(limits=LIMITS)
ADDRESS = Scrutiny(("address",), limits=LIMITS)
BETWEEN = ("sroa<modify-cfg>", "gvn", "globaldce")


def check(
    tmp_path: Path, *trace: str, sanitizers: tuple[str, ...] = (), limits: Limits = LIMITS
) -> Validation:
    scrutiny = Scrutiny(sanitizers, timeout_seconds=1, limits=limits)
    return validate(BROKEN, moods(tmp_path), trace, scrutiny=scrutiny)


def test_right_trace_is_right_on_all_inputs(tmp_path: Path) -> None:
    assert check(tmp_path, "clang<Oz>", "main: gvn") == Validation(
        (
            "replayed in two new processes: the same state",
            "LLVM's verifier accepts it",
            "prints the same as the unoptimized program on 2 inputs",
        )
    )


@pytest.mark.parametrize("name", ["fft", "quicksort", "json"])
def test_levels_of_clang_are_right_on_kernels(name: str) -> None:
    found = validate(TASK, load_kernel(name), ("clang<Oz>", "clang<O3>"), scrutiny=ADDRESS)
    assert found.failure is None
    assert "AddressSanitizer finds nothing in the optimized program" in found.checks


@pytest.mark.parametrize(
    ("times", "detail"),
    [
        (1, "input 'none': prints b'1 words, sum 1"),
        (2, "input 'none': signal SIGABRT"),
        (3, "input 'none': not finished within 1 seconds"),
        (5, "input 'none': exit code 1, expected 0"),
    ],
)
def test_program_that_does_something_else_is_caught_and_the_trace_reduced(
    tmp_path: Path, times: int, detail: str
) -> None:
    found = check(tmp_path, *BETWEEN, *("mode+1",) * times, *BETWEEN)
    assert found.reduced and found.reduced.minimal
    assert found.reduced.trace == ("mode+1",)  # something else is something else
    assert found.failure and found.failure.kind == BEHAVIOUR
    assert found.failure.detail.startswith(detail)
    assert "input 'some'" in found.failure.detail


@pytest.mark.parametrize(
    ("action", "kind"),
    [("crash", CRASH), ("hang", HANG), ("invalid", INVALID), ("no-code", CODE_GENERATION)],
    ids=str,
)
def test_compiler_that_fails_is_caught_and_the_trace_reduced(tmp_path: Path, action: str, kind: str) -> None:
    limits = Limits(deadline_seconds=2, memory_bytes=GIB)
    found = check(tmp_path, "sroa<modify-cfg>", action, "gvn", limits=limits)
    assert found.failure and found.failure.kind == kind
    assert found.reduced and found.reduced.trace == (action,)
    assert found.reproducer and found.reproducer.command == ""  # opt has no such pass


def test_trace_that_does_not_repeat_is_wrong_although_outputs_are_right(tmp_path: Path) -> None:
    found = check(tmp_path, "gvn", "unstable")
    assert found.failure and found.failure.kind == UNSTABLE
    assert found.checks == ("prints the same as the unoptimized program on 2 inputs",)
    wrong = check(tmp_path, "unstable", "mode+1")
    assert wrong.failure and wrong.failure.kind == BEHAVIOUR


def test_memory_error_that_changes_no_output_takes_the_sanitizer(tmp_path: Path) -> None:
    trace = ("mode+1",) * 4
    assert check(tmp_path, *trace).failure is None
    found = check(tmp_path, *trace, sanitizers=("address",))
    assert found.failure and found.failure.kind == MEMORY
    assert "heap-buffer-overflow" in found.failure.detail


def test_memory_error_of_the_program_itself_is_not_the_trace_s(tmp_path: Path) -> None:
    source = moods(tmp_path, mode=4)
    found = validate(TASK, source, ("gvn",), scrutiny=ADDRESS)
    assert found.failure is None
    assert found.checks[-1].startswith("unoptimized, the program already has errors")


def test_without_a_workload_it_says_that_outputs_were_not_compared() -> None:
    found = validate(TASK, program("matrix.c"), ("clang<Oz>",), scrutiny=SCRUTINY)
    assert found.failure is None
    assert found.checks[-1] == "outputs were not compared: the program has no workload"


def test_trace_that_cannot_be_applied_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(IllegalAction):
        check(tmp_path, "nowhere: gvn")


def test_program_that_is_already_wrong_is_an_input_error(tmp_path: Path) -> None:
    workload = Workload((Run("none", expected=b"something"),))
    with pytest.raises(InputError, match="at -O0 the program gives wrong results: input 'none'"):
        validate(TASK, replace(moods(tmp_path), workload=workload), (), scrutiny=SCRUTINY)


def test_program_that_is_not_the_same_twice_is_an_input_error(tmp_path: Path) -> None:
    path = tmp_path / "clock.c"
    path.write_text(
        "#include <stdio.h>\n#include <time.h>\nint main(void) { struct timespec t; "
        'clock_gettime(CLOCK_REALTIME, &t); printf("%ld\\n", t.tv_nsec); }\n'
    )
    source = replace(load_program(path), workload=Workload((Run("none"),)))
    with pytest.raises(InputError, match="gives other results in a second run"):
        validate(TASK, source, (), scrutiny=SCRUTINY)


def test_miscompilation_of_llvm_is_caught() -> None:
    """structurizecfg, which is not among the actions for that reason: the positive control."""
    task = broken_task("structurizecfg")
    trace = ("globaldce", "sroa<modify-cfg>", "structurizecfg", "simplifycfg")
    found = validate(task, load_kernel("quicksort"), trace, scrutiny=SCRUTINY)
    assert found.failure and found.failure.kind == BEHAVIOUR
    assert found.reduced and found.reduced.trace == ("structurizecfg",)
    assert found.reproducer and "structurizecfg" in found.reproducer.command
