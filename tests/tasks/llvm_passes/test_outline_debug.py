"""Outlining code with debug information: modules stay valid, and a debugger shows the lines that it did."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from burnish import _native
from burnish.llvm.corpora.kernels import find_kernel
from burnish.llvm.modules.session import open_session
from burnish.llvm.programs import load_program
from burnish.tasks.llvm_passes import TASK

SOURCE = """\
extern int next(void);
volatile int sink;
int one(int a) {
  int first = a * 3;
  sink = first ^ a;
  int second = first + 7;
  sink = second * a;
  sink = second ^ 9;
  return next() + second;
}
int two(int b) {
  int first = b * 3;
  sink = first ^ b;
  int second = first + 7;
  sink = second * b;
  sink = second ^ 9;
  return next() * second;
}
int three(int c) {
  int first = c * 3;
  sink = first ^ c;
  int second = first + 7;
  sink = second * c;
  sink = second ^ 9;
  return next() - second;
}
"""
LOOPS = "".join(
    f"""\
int count{number}(int n) {{
  int sum = 0;
  for (int i = 0; i < n; i++) {{
    if (i % 3 == {number})
      sum += i * 5;
    else
      sum ^= i;
  }}
  return sum {operator} n;
}}
"""
    for number, operator in enumerate("+-*&")
)


def opened(folder: Path, text: str) -> _native.Module:
    """Return a C source as a module with debug information."""
    source = folder / "source.c"
    source.write_text(text)
    return open_session(load_program(source, ["-g"])).module


def functions_of(module: _native.Module) -> dict[str, str]:
    """Return the text of each function."""
    return dict(
        re.findall(r"^define [^\n]*@(\w+)\([^\n]*\{\n(.*?)^\}", module.print(), re.DOTALL | re.MULTILINE)
    )


def lines_of(module: _native.Module, function: str) -> list[int]:
    """Return the source line of each instruction that has one, in order."""
    lines = {
        number: int(line)
        for number, line in re.findall(r"^(!\d+) = .*!DILocation\(line: (\d+)", module.print(), re.M)
    }
    return [lines[number] for number in re.findall(r", !dbg (!\d+)", functions_of(module)[function])]


def test_the_call_has_the_first_line_of_what_it_stands_for_and_the_rest_keeps_its_own(tmp_path: Path) -> None:
    module = opened(tmp_path, SOURCE)
    module.run("clang<Oz>")
    before = {name: lines_of(module, name) for name in ("one", "two", "three")}
    assert before["one"] == [4, 5, 5, 6, 7, 7, 8, 8, 9, 9, 9]
    module.run("outline<call-cost=0>")
    module.verify()
    assert "@outlined" in functions_of(module)["one"]
    for name, first in (("one", 4), ("two", 12), ("three", 20)):
        after = lines_of(module, name)
        assert [*dict.fromkeys(after)] == [first, first + 5]  # the rest is within the call


def test_what_is_outlined_has_no_lines_and_no_variables(tmp_path: Path) -> None:
    module = opened(tmp_path, SOURCE)
    module.run("clang<Oz>,outline<call-cost=0>")
    assert "!dbg" not in functions_of(module)["outlined"]
    assert "#dbg" not in functions_of(module)["outlined"]
    assert not re.search(r"@outlined\([^\n]*!dbg [^\n]*\{", module.print())


def test_a_call_has_the_first_line_that_is_known_and_can_be_inlined_again(tmp_path: Path) -> None:
    module = opened(tmp_path, SOURCE)
    module.run("clang<Oz>")
    text = re.sub(r"^(  %\d+ = (?:mul|xor|add)|  store)(.*), !dbg !\d+", r"\1\2", module.print(), flags=re.M)
    module = _native.Module(text.encode(), "test")
    module.run("outline<call-cost=0>")
    module.verify()
    assert lines_of(module, "one")[0] == 9  # of the call in it
    module.run("inliner-wrapper<threshold=225>")
    module.verify()
    assert "@outlined" not in module.print()


def test_a_variable_that_is_returned_keeps_its_value_and_one_that_is_not_is_unknown(tmp_path: Path) -> None:
    module = opened(tmp_path, SOURCE)
    module.run("clang<Oz>,outline<call-cost=0>")
    names = dict(re.findall(r'^(!\d+) = !DILocalVariable\(name: "(\w+)"', module.print(), re.M))
    records = re.findall(r"#dbg_value\((?:i32 )?([^,]+), (!\d+),", functions_of(module)["one"])
    values = {names[variable]: value for value, variable in records}  # the last of each
    assert values["a"] == "%0"
    assert values["first"] == "poison"
    assert re.fullmatch(r"%\d+", values["second"])


def test_variables_of_a_loop_that_is_outlined_are_unknown_after_it(tmp_path: Path) -> None:
    module = opened(tmp_path, LOOPS)
    module.run("clang<Oz>,outline<call-cost=0>")
    module.verify()
    assert "@outlined" in functions_of(module)["count1"]
    assert "phi" not in functions_of(module)["count1"]
    assert "#dbg_value(i32 poison" in functions_of(module)["count1"]


# Each ended with a module that the verifier rejects, or in a segmentation fault.
@pytest.mark.parametrize(
    ("kernel", "trace"),
    [
        ("mergesort", ["outline<call-cost=2>", "instsimplify", "jump-threading"]),
        ("spanning_tree", ["inliner-wrapper<threshold=225>", "outline<call-cost=0>"]),
    ],
)
def test_a_kernel_with_debug_information_stays_valid(kernel: str, trace: list[str]) -> None:
    session = TASK.open(load_program(find_kernel(kernel).source, ["-g"]))
    for action in trace:
        session.replay([action])
        session.verify()
