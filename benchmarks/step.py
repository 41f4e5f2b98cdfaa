"""Time of Env.step in a sandbox and of one `opt` process per step, interleaved, on the same passes.

    python benchmarks/step.py [--episodes 8] [--output benchmarks/results/step.json]

Two modules: one of about 800 instructions, one of about 25,000. Every episode of 20 seeded random steps
is played in three ways, one after the other:

- `Env.step`: in a worker process, with the 70 opcode counts, the reward and the mask;
- `opt`: a process for each step, which reads the module, runs the pass and writes the module;
- `native`: the pass alone, in this process.

Times are wall-clock. The overhead is measured with a pass that changes nothing: the median of Env.step less
the median of the same native work (pass and counts) in this process.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from kit.programs import modules_of

from burnish import Env, Program
from burnish.llvm.modules.passes import PASSES, as_opt_pipeline
from burnish.llvm.modules.session import ModuleSession, open_session
from burnish.llvm.toolchain import clang_version, find_tool
from burnish.tasks.llvm_passes import TASK

EPISODE = 20
IDLE = "strip-dead-prototypes"  # changes nothing after its first step
MODULES = {"zopfli": 800, "pycosat": 25_000}  # package: the approximate number of instructions


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "burnish-sources")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    rows = [
        measure(pick(package, size, options.sources), options.episodes, options.seed)
        for package, size in MODULES.items()
    ]
    print("| module | instructions | steps | Env.step | opt | ratio | native | own overhead |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row['module']} | {row['instructions']} | {row['steps']} | {row['env_seconds']:.3f} s "
            f"| {row['opt_seconds']:.3f} s | {row['ratio']:.1f}x | {row['native_seconds']:.3f} s "
            f"| {row['overhead_microseconds']:.0f} us |"
        )
    if options.output:
        options.output.write_text(json.dumps({"clang": clang_version(), "rows": rows}, indent=2) + "\n")


def timed(call: Callable[..., object], *arguments: object) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def overhead(env: Env, native: ModuleSession) -> float:
    """Return the seconds of a step minus those of its native work: medians of steps without effect."""
    idle = env.task.actions.index(IDLE)
    env.reset()

    def work() -> None:
        native.module.run(IDLE)
        native.module.opcode_counts()  # the first count is the cost

    steps: list[float] = []
    works: list[float] = []
    for _ in range(10):
        steps += [timed(env.step, idle) for _ in range(EPISODE - 1)]
        works += [timed(work) for _ in range(EPISODE - 1)]
        env.reset()
    return statistics.median(steps) - statistics.median(works)


def pick(package: str, instructions: int, sources: Path) -> Program:
    """Return the package's module whose size before any pass is nearest to `instructions`."""
    return min(
        modules_of([package], sources),
        key=lambda program: abs(open_session(program).measure("ir-instructions") - instructions),
    )


def measure(program: Program, episodes: int, seed: int) -> dict[str, object]:
    """Play the same steps in the three ways, an episode of each in turn."""
    choices = [i for i, item in enumerate(PASSES) if as_opt_pipeline([item.text])]
    rng = np.random.default_rng(seed)
    env = Env(TASK, program, observation="opcode-counts", objective="ir-instructions", max_steps=EPISODE)
    native = open_session(program)
    size = int(native.measure("ir-instructions"))
    seconds: dict[str, list[float]] = {"env": [], "opt": [], "native": []}
    for _ in range(episodes):
        actions = [int(action) for action in rng.choice(choices, size=EPISODE)]
        env.reset()
        seconds["env"] += [timed(env.step, action) for action in actions]
        with tempfile.TemporaryDirectory() as folder:
            before, after = Path(folder) / "before.bc", Path(folder) / "after.bc"
            before.write_bytes(native.module.bitcode())
            for action in actions:
                passes = f"-passes={PASSES[action].pipeline}"
                command = [str(find_tool("opt")), passes, str(before), "-o", str(after)]
                seconds["opt"].append(timed(subprocess.run, command))
                after.replace(before)
        session = native.fork()
        seconds["native"] += [timed(session.module.run, PASSES[action].pipeline) for action in actions]
    own = overhead(env, native)
    env.close()
    total = {name: sum(values) for name, values in seconds.items()}
    return {
        "module": program.name,
        "instructions": size,
        "steps": episodes * EPISODE,
        "env_seconds": round(total["env"], 4),
        "opt_seconds": round(total["opt"], 4),
        "native_seconds": round(total["native"], 4),
        "ratio": round(total["opt"] / total["env"], 2),
        "overhead_microseconds": round(1e6 * own, 1),
    }


if __name__ == "__main__":
    main()
