"""Learned orders of the register allocator's live ranges against random ones, at equal code generations.

    python benchmarks/priorities.py --out FOLDER [--level Oz]        # rows.jsonl, table.txt

An order is a linear function of four features of a live range: LLVM's own priority, and MLGO's li_size and
weight (regalloc_priority; its stage is the class, which always comes first), and the number of uses. Half
of the runnable kernels are learned from: evolution strategies over the weights, then a table of K functions,
chosen one by one for the least cost of the best of the table so far. On the other kernels, the best of the
table is compared with the best of as many seeds, `allocate` and `noise`, for each function of a program.
The cost is what runs of the kernel execute of spills (executed-spill-cost), or the bytes of code.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.evaluation.intervals import bootstrap_interval
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.modules.module import object_sizes
from burnish.llvm.run.block_counts import block_counts
from burnish.tasks.llvm_codegen.actions import LINEAR, NOISY, RANDOM, SEEDS, FunctionDecisions
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program

SIZES = (1, 2, 4, 8, 16)  # of tables
CONFIDENCE = 0.95
STEP = 0.4  # deviation of a perturbation; the weights have length 1
SPILLS, BYTES = "executed spill cost", "bytes of code"

Order = tuple[int, int, tuple[float, ...]]
"""A decision on the order: Priority, its seed, the weights."""
LLVMS: Order = (0, 0, (1.0, 0.0, 0.0, 0.0))


@dataclass
class Kernel:
    """A kernel, and the costs of the orders that were tried: by order, measure and function."""

    name: str
    module: _native.Module
    counts: NDArray[np.uint64]
    back_end: _native.BackEnd
    known: dict[Order, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)

    def costs(self, order: Order, measure: str) -> Mapping[str, float]:
        """Return a measure of each function under an order, by one code generation."""
        if order not in self.known:
            priority, seed, weights = order
            decisions = FunctionDecisions(priority=priority, seed=seed).native(evicts=True)
            made = _native.generate_code(
                self.module,
                self.back_end,
                {"": decisions},
                scores=True,
                counts=self.counts,
                orders=[weights],
            )
            sizes = object_sizes(made.object, self.module).functions
            self.known[order] = {SPILLS: dict(made.counted_scores), BYTES: dict(sizes)}
        return self.known[order][measure]

    def best(self, orders: Sequence[Order], measure: str) -> float:
        """Return the cost of the program if each function takes the best of the orders; at least 1."""
        tried = [self.costs(order, measure) for order in orders]
        return max(1.0, sum(min(one[name] for one in tried) for name in tried[0]))

    def log_ratio(self, orders: Sequence[Order], measure: str) -> float:
        """Return log(cost of the best of LLVM's order and these / cost of LLVM's)."""
        return math.log(self.best((LLVMS, *orders), measure) / self.best((LLVMS,), measure))


def opened(name: str, level: str) -> Kernel:
    """Return a kernel before code generation at a level, with the counts of a run."""
    program = load_kernel(name, ["small"])
    session = open_program(program, CodegenOptions(pipeline=level))
    assert program.workload
    counts = block_counts(session.opened.module, session.opened.stopwatch().workload)
    return Kernel(name, session.opened.module, counts, session.opened.back_end)


def learned(kernels: Sequence[Kernel], measure: str, steps: int, rng: np.random.Generator) -> list[Order]:
    """Return a table of functions, the first one the best on its own: evolution, then a greedy choice."""

    def unit(weights: NDArray[np.float64]) -> Order:
        scaled = weights / np.linalg.norm(weights)
        return LINEAR, 0, tuple(np.round(scaled, 3).tolist())

    def worth(orders: Sequence[Order]) -> float:
        return float(np.mean([one.log_ratio(orders, measure) for one in kernels]))

    mean = np.array(LLVMS[2])
    pool: list[Order] = [unit(mean)]
    for _ in range(steps):
        noise = rng.standard_normal((2, len(mean)))
        moves = np.concatenate([noise, -noise])  # opposite perturbations
        tried = [unit(mean + STEP * move) for move in moves]
        pool += tried
        values = np.array([np.mean([_alone(one, order, measure) for one in kernels]) for order in tried])
        spread = values.std() or 1.0
        mean = mean - STEP / len(moves) * ((values - values.mean()) / spread) @ moves
        mean /= np.linalg.norm(mean)
        pool.append(unit(mean))
    table: list[Order] = []
    while len(table) < max(SIZES):
        table.append(min(pool, key=lambda order: worth([*table, order])))
    return table


def _alone(kernel: Kernel, order: Order, measure: str) -> float:
    """Return log(cost under an order everywhere / cost under LLVM's)."""
    return math.log(kernel.best((order,), measure) / kernel.best((LLVMS,), measure))


def summary(logs: Sequence[float]) -> str:
    """Return the geometric mean in percent, with its interval over resampled kernels."""
    low, high = bootstrap_interval(list(logs), [(value, value) for value in logs], CONFIDENCE, seed=0)
    mean = math.fsum(logs) / len(logs)
    percent = [f"{100 * math.expm1(value):+.2f} %" for value in (mean, low, high)]
    return f"{percent[0]} ({percent[1]} to {percent[2]})"


def main() -> None:
    """Learn, measure, and write the rows and the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--level", default="O2", help="clang's level: O2 by default")
    parser.add_argument("--kernels", type=int, default=50)
    parser.add_argument("--steps", type=int, default=12, help="of evolution: five functions each")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    kernels = [opened(name, options.level) for name in kernel_names()[: options.kernels]]
    training, held_out = kernels[::2], kernels[1::2]
    lines, rows = [], []
    for measure in (SPILLS, BYTES):
        table = learned(training, measure, options.steps, np.random.default_rng(0))
        alone = [_alone(one, table[0], measure) for one in held_out]
        lines += [
            f"{measure}, {len(held_out)} kernels that were not learned from, -{options.level}",
            *(f"  function {number}: {weights}" for number, (_, _, weights) in enumerate(table)),
            f"  the first function everywhere: {summary(alone)}",
        ]
        families = {
            "learned": table,
            "allocate": [(RANDOM, seed, LLVMS[2]) for seed in range(SEEDS)],
            "noise": [(NOISY, seed, LLVMS[2]) for seed in range(SEEDS)],
        }
        for size in SIZES:
            found = {
                name: [one.log_ratio(orders[:size], measure) for one in held_out]
                for name, orders in families.items()
            }
            lines.append(f"  best of LLVM's and {size}:")
            lines += [f"    {name:9} {summary(logs)}" for name, logs in found.items()]
            for name in ("allocate", "noise"):
                apart = [a - b for a, b in zip(found["learned"], found[name], strict=True)]
                lines.append(f"    learned / {name}: {summary(apart)}")
            for number, one in enumerate(held_out):
                values = {name: round(logs[number], 6) for name, logs in found.items()}
                rows.append({"kernel": one.name, "measure": measure, "functions": size, **values})
        lines.append("")
    (options.out / "table.txt").write_text("\n".join(lines))
    (options.out / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
