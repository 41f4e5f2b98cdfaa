"""Traces of a task that knows no compiler are validated, reduced and reported like those of any other."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.errors import InputError
from burnish.core.program import Program, Run, Workload
from burnish.core.task import Task
from burnish.core.validator import BEHAVIOUR, CRASH, HANG, Failure
from burnish.evaluation.validate import Scrutiny, Validation, check_sanitizers, validate
from burnish.tasks.llvm_passes import TASK as LLVM
from burnish.workers.worker import Limits
from tests.core.counting_task import TASK, counters
from tests.core.failures import failing_task
from tests.evaluation.negating_task import NEGATING, silent_task, strict_task

pytestmark = pytest.mark.usefixtures("nothing_left")

SCRUTINY = Scrutiny(limits=Limits(deadline_seconds=2))
WRONG = ("halve", "a: subtract(1)", "negate", "add(1)")


def check(task: Task, *trace: str, program: Program | None = None) -> Validation:
    return validate(task, program or counters("a=12 b=7"), trace, scrutiny=SCRUTINY)


def test_right_trace_is_right() -> None:
    assert check(NEGATING, "halve", "b: subtract(3)") == Validation(
        (
            "replayed in two new processes: the same state",
            "does the same as the unoptimized program on 1 input",
        )
    )


def test_wrong_action_is_found_and_the_trace_reduced() -> None:
    found = check(NEGATING, *WRONG)
    assert found.failure == Failure(BEHAVIOUR, "2 counters are below 0, expected 0", 2)
    assert found.reduced and found.reduced.trace == ("negate",) and found.reduced.minimal


def test_folder_has_what_there_is_to_show_it(tmp_path: Path) -> None:
    workload = Workload(
        (Run("one", ("-v", "a b"), b"given"),), (b"object",), ("-lm",), (("data/x", b"file"),)
    )
    program = replace(counters("a=12 b=7"), name="of/mine.txt", workload=workload)
    found = check(NEGATING, *WRONG, program=program)
    assert found.reproducer and found.reproducer.command == "count negate"
    found.reproducer.write(tmp_path)
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {
        "README.md",
        "files/data/x",
        "objects/0.o",
        "program/mine.txt",
        "stdin/0",
        "trace.txt",
    }
    assert (tmp_path / "program/mine.txt").read_bytes() == program.content
    assert (tmp_path / "trace.txt").read_text() == "negate\n"
    text = (tmp_path / "README.md").read_text()
    assert text.startswith("# the program does something else: 2 counters are below 0, expected 0\n")
    for line in ("    negate", "    count negate", "    program -v 'a b' < stdin/0"):
        assert line in text.splitlines()


def test_folder_says_that_there_is_no_command() -> None:
    found = check(silent_task(), "negate")
    assert found.reproducer and found.reproducer.command == ""
    assert b"no command that does the same without burnish" in found.reproducer.files["README.md"]
    assert "the task cannot show this without burnish" in found.reproducer.note


@pytest.mark.parametrize(("action", "kind"), [("be-killed", CRASH), ("hang", HANG)])
def test_compiler_that_fails_is_found_and_the_trace_reduced(action: str, kind: str) -> None:
    found = check(failing_task(TASK, action), "halve", action, "add(1)")
    assert found.failure and found.failure.kind == kind
    assert found.reduced and found.reduced.trace == (action,)


def test_task_that_does_not_run_programs_says_so() -> None:
    found = check(TASK, "halve")
    assert found.failure is None and not found.compared
    assert found.checks[-1] == "outputs were not compared: the task does not run programs"


def test_program_that_is_already_wrong_is_an_input_error() -> None:
    with pytest.raises(InputError, match="at start the program gives wrong results: 0 counters"):
        check(strict_task(), "halve")


def test_sanitizers_are_the_task_s() -> None:
    check_sanitizers(LLVM, ("address", "undefined"))
    with pytest.raises(InputError, match="no sanitizer named 'adress'; known: address, undefined"):
        check_sanitizers(LLVM, ("adress",))
    with pytest.raises(InputError, match="--sanitize address: counting-v4 has no sanitizers"):
        check_sanitizers(TASK, ("address",))


def test_validators_go_to_other_processes() -> None:
    validator = pickle.loads(pickle.dumps(LLVM.checks.validator))()
    assert validator.sanitizers == ("address", "undefined")
    assert validator.reproduce.keywords["level"] == "Oz"
