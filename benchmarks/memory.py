"""Memory of an environment and of its worker over thousands of episodes on many programs.

    python benchmarks/memory.py [--episodes 2000] [--steps 45] [--output benchmarks/results/memory.json]

Episodes of random legal actions, with the opcode counts, the IR text and the rewards over -Oz, on the modules
of several packages, in shuffled order. The resident memory of this process and of the worker is printed in
MiB after some numbers of episodes. The worker's includes the needs of the current program; so its least over
the last 50 episodes is printed, too. `its process` counts worker processes: a crash or a leak would start
another.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
from collections import deque
from pathlib import Path

import numpy as np
from kit.programs import modules_of

from burnish import Env, Program
from burnish.tasks.llvm_passes import TASK

PACKAGES = ("zopfli", "lz4", "pynacl", "cmarkgfm", "brotli")
LOOK = (1, 100, 250, 500, 1000, 1500, 2000)
MIB = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=TASK.max_steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=300_000, help="bytes of bitcode of the largest module")
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "burnish-sources")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    programs = modules(options.sources, options.largest)
    env = Env(
        TASK,
        programs,
        observation=("opcode-counts", "ir"),
        objective="ir-instructions",
        reward="over-Oz",
        order="shuffle",
        max_steps=options.steps,
    )
    rng = np.random.default_rng(options.seed)
    rows: list[dict[str, float]] = []
    recent: deque[float] = deque(maxlen=50)
    crashes = steps = 0
    print(f"{len(programs)} programs, {options.steps} steps an episode")
    print("| episodes | steps | this process | worker | worker, least of the last 50 | its process |")
    print("|---|---|---|---|---|---|")
    for episode in range(1, options.episodes + 1):
        _, info = env.reset(seed=options.seed if episode == 1 else None)
        done = False
        while not done:
            *_, terminated, truncated, info = env.step(int(rng.choice(np.flatnonzero(info["mask"]))))
            steps += 1
            done = terminated or truncated
        crashes += "error" in info
        if env.worker and env.worker.pid:
            recent.append(resident(env.worker.pid))
        if episode in LOOK or episode == options.episodes:
            gc.collect()
            row = {
                "episodes": episode,
                "steps": steps,
                "here": resident("self"),
                "worker": recent[-1],
                "least": min(recent),
                "generation": env.worker.generation if env.worker else 0,
            }
            rows.append(row)
            print(
                f"| {episode} | {steps} | {row['here']:.0f} | {row['worker']:.0f} | {row['least']:.0f} "
                f"| {row['generation']:.0f} |",
                flush=True,
            )
    env.close()
    print(f"{crashes} crashes")
    if options.output:
        options.output.write_text(json.dumps({"programs": len(programs), "rows": rows}, indent=2) + "\n")


def resident(process: int | str) -> float:
    """Return a process' resident memory in MiB."""
    status = Path(f"/proc/{process}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024 / MIB


def modules(sources: Path, largest: int) -> list[Program]:
    """Return the modules of PACKAGES with up to `largest` bytes; larger ones are too slow for this."""
    return [program for program in modules_of(PACKAGES, sources) if len(program.content) <= largest]


if __name__ == "__main__":
    main()
