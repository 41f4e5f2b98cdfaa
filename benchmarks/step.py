"""Env.step in a sandbox against one `opt` process per step, interleaved, on the same passes.

    python benchmarks/step.py [--steps 60] [--output benchmarks/results/step.json]

Two modules: one of about 800 instructions, one of about 25,000. Each step of a seeded random
sequence is made three times, in turn, from the same state:

- `Env.step`: in a worker process, with the 70 opcode counts, the reward and the mask;
- `opt`: a process that reads the module, runs the pass and writes the module;
- `in process`: the native call alone, to see what the environment adds to the pass.

Times are wall-clock seconds. The environment's overhead is the median, over the steps, of
Env.step less the native call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from burnish import Env, Program
from burnish.corpora import Unit, fetch, find_package, translation_units
from burnish.tasks.llvm_passes import LANGUAGE, TASK
from burnish.tasks.llvm_passes.actions import PASSES, as_opt_pipeline
from burnish.tasks.llvm_passes.session import open_session
from burnish.toolchain import clang_version, find_tool

MODULES = {"zopfli": 800, "pycosat": 25_000}  # package: about how many instructions are wanted


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "burnish-sources")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows = [
        measure(pick(package, size, options.sources), options.steps, options.seed)
        for package, size in MODULES.items()
    ]
    print("| module | instructions | steps | Env.step | opt | ratio | median overhead |")
    print("|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['module']} | {row['instructions']} | {row['steps']} | {row['env_seconds']:.3f} s "
            f"| {row['opt_seconds']:.3f} s | {row['ratio']:.1f}x | {row['overhead_microseconds']:.0f} us |"
        )
    if options.output:
        options.output.write_text(json.dumps({"clang": clang_version(), "rows": rows}, indent=2) + "\n")


def pick(package: str, instructions: int, sources: Path) -> Program:
    """Return the package's module whose size, before any pass, is nearest."""
    found = find_package(package)
    units = [unit for unit in translation_units(fetch(found, sources), found) if isinstance(unit, Unit)]
    programs = [Program(unit.name, LANGUAGE, unit.compile()) for unit in units]
    return min(
        programs, key=lambda program: abs(open_session(program).measure("ir-instructions") - instructions)
    )


def measure(program: Program, steps: int, seed: int) -> dict[str, object]:
    """Make the same steps in the three ways, in turn."""
    choices = [i for i, item in enumerate(PASSES) if as_opt_pipeline([item.text])]
    actions = np.random.default_rng(seed).choice(choices, size=steps)
    env = Env(TASK, program, observation="opcode-counts", objective="ir-instructions", max_steps=steps + 1)
    env.reset(seed=seed)
    native = open_session(program)
    size = int(native.measure("ir-instructions"))
    seconds: dict[str, list[float]] = {"env": [], "opt": [], "native": []}
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before.bc", Path(folder) / "after.bc"
        before.write_bytes(native.module.bitcode())
        for action in map(int, actions):
            item = PASSES[action]
            start = time.perf_counter()
            env.step(action)
            seconds["env"].append(time.perf_counter() - start)
            command = [str(find_tool("opt")), f"-passes={item.pipeline}", str(before), "-o", str(after)]
            start = time.perf_counter()
            subprocess.run(command, check=True)
            seconds["opt"].append(time.perf_counter() - start)
            start = time.perf_counter()
            native.module.run(item.pipeline, "Oz")
            seconds["native"].append(time.perf_counter() - start)
            after.replace(before)
    env.close()
    overheads = [one - other for one, other in zip(seconds["env"], seconds["native"], strict=True)]
    total = {name: sum(values) for name, values in seconds.items()}
    return {
        "module": program.name,
        "instructions": size,
        "steps": steps,
        "env_seconds": round(total["env"], 4),
        "opt_seconds": round(total["opt"], 4),
        "native_seconds": round(total["native"], 4),
        "ratio": round(total["opt"] / total["env"], 2),
        "overhead_microseconds": round(1e6 * statistics.median(overheads), 1),
    }


if __name__ == "__main__":
    main()
