"""The script that compares two builds of real projects."""

import importlib.util
import sys
from pathlib import Path

import pytest

from burnish.corpora.workloads import workload_names

SCRIPT = Path(__file__).parents[2] / "benchmarks/check_projects.py"


@pytest.fixture(scope="module")
def check_projects():
    spec = importlib.util.spec_from_file_location("check_projects", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["check_projects"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["check_projects"]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("a\nb\n", "a\nc\n", "line 2\n  clang -Oz: b\n  new:       c"),
        ("a\n", "a\nb\n", "line 2\n  clang -Oz: <end>"),
    ],
)
def test_the_first_difference_is_shown(check_projects, before, after, line):
    assert check_projects.first_difference(before, after).startswith(line)


def test_an_unknown_project_is_wrong_usage(check_projects, capsys):
    assert check_projects.main(["--cc", "clang", "--projects", "lz5"]) == 2
    assert "'lz4'" in capsys.readouterr().out


def test_what_is_larger_is_found(check_projects):
    before = check_projects.Build("", {"a.o": 10, "b.o": 10}, 20, 1.0)
    after = check_projects.Build("", {"a.o": 11, "b.o": 9}, 20, 1.0)
    assert check_projects.Comparison("p", before, after).larger == ["a.o"]


@pytest.mark.slow
@pytest.mark.parametrize("project", workload_names())
def test_a_project_prints_the_same_at_another_level(check_projects, project):
    assert check_projects.main(["--cc", "clang -O2", "--projects", project]) == 0


@pytest.mark.slow
def test_a_program_that_computes_something_else_is_caught(check_projects, capsys):
    # a smaller hash table: LZ4 still round-trips, but compresses differently
    assert check_projects.main(["--cc", "clang -Oz -DLZ4_MEMORY_USAGE=12", "--projects", "lz4"]) == 1
    assert "DIFFERENT" in capsys.readouterr().out


@pytest.mark.slow
def test_a_compiler_that_fails_is_reported(check_projects, capsys):
    assert check_projects.main(["--cc", "clang -no-such-flag", "--projects", "pycosat"]) == 1
    assert "no-such-flag" in capsys.readouterr().out
