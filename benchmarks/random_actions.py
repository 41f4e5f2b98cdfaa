"""Random actions on real programs: what does the compiler do, and what is left behind?

    python benchmarks/random_actions.py [--programs 20] [--actions 10000]

Uniformly random actions, at the whole program and at its eight largest functions, in episodes of 50 steps;
the module is verified at the end of each. Counted are crashes, time-outs, modules that the verifier rejects,
and afterwards child processes and files in the temporary folder that were not there before.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np
from rich.progress import track

from burnish import Env, Limits, Program, load_task
from burnish.core.errors import CompilerCrash
from burnish.corpora import Unit, fetch, find_package, translation_units
from burnish.tasks.llvm_passes import LANGUAGE

PACKAGES = ("zopfli", "lz4", "cmarkgfm", "box2d")
EPISODE = 50
TASK = load_task("llvm_passes")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--actions", type=int, default=10_000)
    parser.add_argument("--deadline", type=float, default=20.0)
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "burnish-sources")
    options = parser.parse_args()
    programs = some_programs(options.sources, options.programs)
    before = left_behind()
    start = time.monotonic()
    counts = play(programs, options.actions, Limits(deadline_seconds=options.deadline))
    print(f"{len(programs)} programs, {counts['actions']} actions in {time.monotonic() - start:.0f} s")
    for what in ("crash", "time-out", "rejected by the verifier"):
        print(f"  {what}: {counts[what]}")
    print(f"  left behind: {sorted(left_behind() - before) or 'nothing'}")


def some_programs(sources: Path, count: int) -> list[Program]:
    """Return as many programs from each package."""
    share = -(-count // len(PACKAGES))
    programs = []
    for package in map(find_package, PACKAGES):
        units = translation_units(fetch(package, sources), package)
        with_code = (unit for unit in units if isinstance(unit, Unit))
        programs += [Program(unit.name, LANGUAGE, unit.compile()) for unit in islice(with_code, share)]
    return programs[:count]


def play(programs: list[Program], actions: int, limits: Limits) -> Counter[str]:
    """Play random episodes, the programs in turn."""
    rng = np.random.default_rng(0)
    env = Env(TASK, programs, objective="ir-instructions", max_steps=EPISODE, sites=8, limits=limits)
    counts: Counter[str] = Counter()
    for _ in track(range(actions // EPISODE), description="episodes"):
        _, info = env.reset()
        done = False
        while not done:
            action = int(rng.choice(np.flatnonzero(info["mask"])))
            _, _, terminated, truncated, info = env.step(action)
            counts["actions"] += 1
            done = terminated or truncated
        if "error" in info:
            counts["time-out" if "no answer" in info["error"] else "crash"] += 1
            number, index = divmod(action, len(TASK.actions))
            where = f" at site {number}" if number else ""
            print(f"{info['program']}: {TASK.actions[index]}{where}: {info['error']}")
        try:
            env.session.verify()
        except CompilerCrash as error:
            counts["rejected by the verifier"] += 1
            print(f"{info['program']}: {error}; {env.trace}")
    env.close()
    return counts


def left_behind() -> set[str]:
    """Return this process' children and the temporary files that there are."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return set(children) | {str(path) for path in Path(tempfile.gettempdir()).iterdir()}


if __name__ == "__main__":
    main()
