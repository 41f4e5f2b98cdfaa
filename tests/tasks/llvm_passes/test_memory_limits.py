"""Stack and writable data: as stock clang reports them, by hand, and as limits."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.program import Program
from burnish.llvm.modules.objectives import LEAST_STACK, stack_shares, within_limits
from burnish.llvm.modules.origin import CallCosts
from burnish.llvm.modules.parts import goal
from burnish.llvm.modules.session import ModuleSession, open_baseline, open_session
from burnish.llvm.programs import load_program
from burnish.llvm.toolchain import compile_to_bitcode, find_tool
from burnish.tasks.llvm_codegen.session import open_codegen

CALLS = """
void use(void *);
__attribute__((noinline)) static int leaf(int n) { char a[100]; use(a); return a[n]; }
__attribute__((noinline)) static int deep(int n) { char a[300]; use(a); return a[n] + leaf(n); }
int both(int n) { char a[24]; use(a); int one = leaf(n); return one + deep(n) + a[0]; }
int value(int);
int last(int n) { int one = value(n), two = one + value(n - 1); return leaf(one * two + value(two)); }
int other(int);
int again(int n) { char a[40]; use(a); return n ? other(n - 1) + a[n] : 0; }
int other(int n) { char a[80]; use(a); return n ? again(n - 1) + leaf(n) + a[n] : 1; }
"""
DATA = """
int zeros[100];
static int counter = 3;
const int table[50] = {1};
int count(void) { return zeros[table[counter++ & 7]]; }
"""


def session_of(folder: Path, source: str) -> ModuleSession:
    """Return the -Oz baseline of a C file."""
    (folder / "a.c").write_text(source)
    return open_baseline(Program("a.c", "llvm", compile_to_bitcode(folder / "a.c", ())), "Oz")


def frames(folder: Path) -> dict[str, int]:
    """Return the bytes of each function's frame, by stock clang's -fstack-usage."""
    command = [str(find_tool("clang")), "-Oz", "-fstack-usage", "-c", "a.c", "-o", "a.o"]
    subprocess.run(command, cwd=folder, check=True)
    rows = [line.split("\t") for line in (folder / "a.su").read_text().splitlines()]
    return {row[0].rpartition(":")[2]: int(row[1]) for row in rows}


def test_a_path_of_calls_has_the_frames_that_clang_reports(tmp_path: Path) -> None:
    session = session_of(tmp_path, CALLS)
    own, stacks = frames(tmp_path), session.call_costs().stacks
    assert own["leaf"] > 100 and own["deep"] > 300
    assert stacks["leaf"] == own["leaf"]
    assert stacks["deep"] == own["deep"] + own["leaf"]
    assert stacks["both"] == own["both"] + own["deep"] + own["leaf"]
    assert 0 < own["last"] < stacks["last"] == own["leaf"]  # a jump, after the frame is gone
    around = own["again"] + own["other"] + own["leaf"]  # the recursion once
    assert stacks["again"] == stacks["other"] == around
    assert session.measure("stack-bytes") == max(stacks.values()) == session.site_costs("stack-bytes")["both"]


def test_code_generation_has_the_same_stacks(tmp_path: Path) -> None:
    session = session_of(tmp_path, CALLS)
    code = open_codegen(session)
    assert code.site_costs("stack-bytes") == session.site_costs("stack-bytes")
    code.replay(["skip(machine-cp)"])
    assert code.site_costs("stack-bytes").keys() == session.site_costs("stack-bytes").keys()
    assert code.measure("ram-bytes") == session.measure("ram-bytes") == 1


def test_short_stacks_may_grow() -> None:
    before = CallCosts({}, frozenset(), {}, {"short": 8, "long": 1000, "gone": 5000, "none": 0})
    now = replace(before, stacks={"short": LEAST_STACK, "long": 1500, "new": 5000, "none": 384})
    assert stack_shares("stack-growth", now, lambda: before) == {"short": 1, "long": 1.5, "none": 1.5}


@pytest.mark.parametrize("machine", ["x86-64", "cortex-m4", "wasm32"])
def test_writable_data_has_its_zeros(machine: str, tmp_path: Path) -> None:
    targets = {
        "cortex-m4": ("--target=thumbv7em-none-eabi", "-mcpu=cortex-m4"),
        "wasm32": ("--target=wasm32-wasi",),
    }
    (tmp_path / "a.c").write_text(DATA)
    program = load_program(tmp_path / "a.c", arguments=targets.get(machine, ()))
    session = open_baseline(program, "Oz")
    constants = 50 * 4 if machine == "wasm32" else 0  # they are in the same memory
    assert session.sizes().ram_bytes == pytest.approx(100 * 4 + 4 + constants, abs=8)
    assert session.sizes().data_bytes == session.sizes().ram_bytes - 400
    assert set(session.site_costs("ram-bytes").values()) == {0.0}


def test_limits_are_part_of_the_objective(tmp_path: Path) -> None:
    assert within_limits("loaded-bytes", 1.05, stack_growth=1.1, ram_growth=1) == (
        "loaded-bytes while slowdown<=1.05 and code-growth<=1 and linked-growth<=1"
        " and stack-growth<=1.1 and ram-growth<=1"
    )
    given = {"speed-limit": "none", "stack-limit": "10%", "ram-limit": "0%"}
    objective = (
        "loaded-bytes while code-growth<=1 and linked-growth<=1 and stack-growth<=1.1 and ram-growth<=1"
    )
    assert goal("loaded-bytes", given) == objective
    session = open_session(session_of(tmp_path, CALLS).origin.program)
    session.replay(["clang<Oz>"])
    bytes_now = session.measure("loaded-bytes")
    assert session.measure(objective) == bytes_now
    reference = session.reference_calls()
    shorter = {name: stack // 2 for name, stack in reference.stacks.items()}
    session.origin.reference_calls = replace(reference, stacks=shorter)
    assert session.measure(objective) > 2 * bytes_now
