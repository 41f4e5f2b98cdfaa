"""Objects become executables, and executables are compared by what they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish import _native
from burnish.core.errors import CompileError
from burnish.core.program import Program, Run, Workload
from burnish.llvm.programs import load_program
from burnish.llvm.run import Execution, RunLimits, differences, execute, link, run_all
from burnish.llvm.run.check import limits_after
from burnish.llvm.run.running import PATIENT
from burnish.llvm.toolchain import bitcode_to_object, cxx_library_options
from tests.llvm.run.programs import built, run


@pytest.fixture(autouse=True)
def executable(request: pytest.FixtureRequest) -> Path:
    """Return behave, built before nothing_left looks."""
    path = built()
    request.getfixturevalue("nothing_left")
    return path


MAIN = "int twice(int); int puts(const char *); int main(void) { return twice(21); }"
TWICE = "int twice(int x) { return 2 * x; }"


def compiled(tmp_path: Path, name: str, text: str, *arguments: str) -> bytes:
    """Return the object of a source text."""
    (tmp_path / name).write_text(text)
    return bitcode_to_object(load_program(tmp_path / name, arguments).content, level="O1")


def test_object_is_linked_with_the_others(tmp_path: Path) -> None:
    workload = Workload((Run("only"),), objects=(compiled(tmp_path, "twice.c", TWICE),))
    executable = link(compiled(tmp_path, "main.c", MAIN), workload, tmp_path / "program")
    assert executable == tmp_path / "program"
    assert execute(executable, workload.runs[0]).status == 42


def test_libraries_are_linked(tmp_path: Path) -> None:
    text = "#include <math.h>\nint main(int n, char **v) { return (int)cbrt(n + 26.0); }"
    thing = compiled(tmp_path, "cube.c", text)
    executable = link(thing, Workload((), link_arguments=("-lm",)), tmp_path / "program")
    assert execute(executable, Run("")).status == 3


def test_cxx_program_finds_its_libraries(tmp_path: Path) -> None:
    text = "#include <iostream>\nint main() { try { throw 7; } catch (int x) { std::cout << x; } }"
    workload = Workload((), link_arguments=("--driver-mode=g++", *cxx_library_options(())))
    executable = link(compiled(tmp_path, "a.cpp", text), workload, tmp_path / "program")
    assert execute(executable, Run("")).output == b"7"


def test_object_that_is_not_position_independent_is_linked(tmp_path: Path) -> None:
    (tmp_path / "a.ll").write_text(
        "@here = global [2 x i32] [i32 6, i32 7]\n"
        "define i32 @main(i32 %n, ptr %words) {\n"
        "  %index = sext i32 %n to i64\n"
        "  %place = getelementptr [2 x i32], ptr @here, i64 0, i64 %index\n"
        "  %value = load i32, ptr %place\n"
        "  ret i32 %value\n}\n"
    )
    module = _native.Module((tmp_path / "a.ll").read_bytes(), "a")
    executable = link(module.emit_object("O2"), Workload(()), tmp_path / "program")
    assert execute(executable, Run("")).status == 7


def test_what_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="undefined symbol: twice"):
        link(compiled(tmp_path, "main.c", MAIN), Workload(()), tmp_path / "program")
    assert not (tmp_path / "program").exists()


def test_sanitizer_finds_an_overflow(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "data" / "behave.c"
    sanitized = load_program(source, ["-fsanitize=address,undefined"], level="O0")
    thing = bitcode_to_object(instrumented(sanitized), level="O0")
    executable = link(thing, Workload(()), tmp_path / "program", sanitizers=["address", "undefined"])
    seen = run_all(
        executable,
        workload := Workload((run("overflow", "4", expected=b"1\n"), run("overflow", "5"))),
        environment=["ASAN_OPTIONS=detect_leaks=0"],
        limits=RunLimits(memory_bytes=None),
    )
    assert b"heap-buffer-overflow" in seen[1].errors
    assert differences(workload, seen) == ["input 'overflow 5': exit code 1, expected 0"]


def instrumented(program: Program) -> bytes:
    """Return a program's bitcode with the checks of the address sanitizer."""
    module = _native.Module(program.content, program.name)
    module.run("asan", "O0")
    return module.bitcode()


def done(output: bytes = b"", status: int = 0, *, killed: str = "", errors: bytes = b"") -> Execution:
    """Return what a run might have come to."""
    return Execution(output, errors, status, killed, 0.1, 0.1)


ONE = Workload((Run("small"),))
KNOWN = Workload((Run("small", expected=b"42\n"),))


def test_same_is_no_difference() -> None:
    assert differences(ONE, [done(b"42\n", 3)], [done(b"42\n", 3)]) == []
    assert differences(ONE, [done(b"anything")]) == []
    assert differences(KNOWN, [done(b"42\n")]) == []
    assert differences(ONE, [done(errors=b"other words")], [done()]) == []


@pytest.mark.parametrize(
    ("workload", "seen", "reference", "said"),
    [
        (ONE, done(b"41"), done(b"42"), "prints b'41' at byte 0 of 2, expected b'42' of 2"),
        (KNOWN, done(b"42\n\n"), None, "prints b'42\\n\\n' at byte 0 of 4, expected b'42\\n' of 3"),
        (KNOWN, done(b""), done(b"42\n"), "prints b'' at byte 0 of 0, expected b'42\\n' of 3"),
        (ONE, done(status=1), done(), "exit code 1, expected 0"),
        (ONE, done(status=1), None, "exit code 1, expected 0"),
        (ONE, done(status=-11), done(status=-11), "signal SIGSEGV"),
        (ONE, done(status=-6, errors=b"free(): invalid\n"), done(), "signal SIGABRT: free(): invalid"),
        (
            ONE,
            done(status=-9, killed="not finished within 9 seconds"),
            done(),
            "not finished within 9 seconds",
        ),
        (ONE, done(), done(status=-11), "the reference: signal SIGSEGV"),
    ],
)
def test_difference_is_told(
    workload: Workload, seen: Execution, reference: Execution | None, said: str
) -> None:
    references = None if reference is None else [reference]
    assert differences(workload, [seen], references) == [f"input 'small': {said}"]


def test_a_program_may_take_ten_times_as_long_as_another() -> None:
    def took(seconds: float) -> Execution:
        return Execution(b"", b"", 0, "", 0.0, seconds)

    assert limits_after([took(0.5), took(2.0)]).timeout_seconds == 21
    assert limits_after([]).timeout_seconds == 1
    assert limits_after([took(100)]).timeout_seconds == PATIENT.timeout_seconds


def test_long_outputs_are_quoted_where_they_differ() -> None:
    right = bytes(range(256)) * 100
    wrong = right[:9999] + b"!" + right[10000:]
    (said,) = differences(ONE, [done(wrong)], [done(right)])
    assert "at byte 9979 of 25600" in said and len(said) < 400


def test_every_input_is_run_and_compared(executable: Path) -> None:
    runs = (run("work", "10"), run("copy", stdin=b"a"), run("exit", "2"), run("show", "name"))
    workload = Workload((*runs, run("work", "11", expected=b"wrong")), files=(("name", b"content"),))
    seen = run_all(executable, workload)
    assert [item.status for item in seen] == [0, 0, 2, 0, 0]
    assert seen[3].output == b"content"
    (said,) = differences(workload, seen, seen)
    assert said.startswith("input 'work 11': prints b'")
