"""What .ci/run says: its last 40 lines are enough to know what failed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PASSED = "===== 3 passed in 1.20s ====="
FAILED = [
    "FAILED tests/a.py::test_one - AssertionError: assert 1 == 2",
    "ERROR tests/b.py::test_two - RuntimeError: no",
    "coverage: the tests run fewer than 93 % of the lines of src",
]
CLOSING = "===== 1 failed, 2 passed, 1 error in 61.20s (0:01:01) ====="


def ci(tmp_path: Path, said: Mapping[str, tuple[str, int]]) -> tuple[int, list[str]]:
    """Run it with a `make` that says for each target what is given, and fails by the given exit code."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", tmp_path / ".ci/run")
    cases = []
    for target, (text, code) in said.items():
        (tmp_path / target).write_text(text + "\n")
        cases.append(f"{target}) cat {tmp_path / target}; exit {code};;")
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text(f'#!/bin/sh\nfor target; do :; done\ncase "$target" in {" ".join(cases)} esac\n')
    make.chmod(0o755)
    (make.parent / "apt-get").write_text("#!/bin/sh\nexit 100\n")  # nothing is installed
    (make.parent / "apt-get").chmod(0o755)
    path = f"{make.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", ".ci/run"], cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True
    )
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_a_good_run_ends_with_the_closing_line_of_pytest(tmp_path: Path) -> None:
    code, lines = ci(tmp_path, {"setup": ("", 0), "check": ("fine", 0), "test": (f"...\n{PASSED}", 0)})
    assert code == 0
    assert lines[-1] == PASSED
    assert "=== what failed ===" not in lines


def test_the_last_lines_name_all_that_failed(tmp_path: Path) -> None:
    check = [
        "src/a.py:3:1: error: no such name",
        *["more of it"] * 100,
        "make: *** [Makefile:64: check] Error 1",
    ]
    test = [*["E   a long traceback"] * 300, *FAILED, CLOSING, "make: *** [Makefile:58: test] Error 1"]
    code, lines = ci(
        tmp_path, {"setup": ("", 0), "check": ("\n".join(check), 2), "test": ("\n".join(test), 2)}
    )
    assert code == 2
    last = lines[-40:]
    assert last[0] != "=== what failed ===" and "=== what failed ===" in last
    told = last[last.index("=== what failed ===") :]
    for line in (check[0], check[-1], *FAILED):
        assert told.count(line) == 1
    assert told[-1] == CLOSING


def test_checks_that_fail_do_not_hide_the_tests(tmp_path: Path) -> None:
    code, lines = ci(tmp_path, {"setup": ("", 0), "check": ("would reformat a.py", 1), "test": (PASSED, 0)})
    assert code == 1
    assert lines[-3:] == ["make check failed:", "would reformat a.py", PASSED]


@pytest.mark.parametrize("target", ["setup", "test"])
def test_what_did_not_get_to_the_tests_says_so(tmp_path: Path, target: str) -> None:
    said = {"setup": ("", 0), "check": ("", 0), "test": ("", 0)} | {target: ("fatal error: no disk", 2)}
    code, lines = ci(tmp_path, said)
    assert code == 1
    assert lines[-3:] == [
        f"make {target} failed:",
        "fatal error: no disk",
        "pytest did not get to its closing line",
    ]
