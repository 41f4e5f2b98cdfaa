"""Steps per second of one environment, and of several at a time, on small modules.

    python benchmarks/vector.py [--rounds 7] [--steps 3000] [--output benchmarks/results/vector.json]

Programs: modules of about 700 IR instructions. Episodes of 45 random legal actions with the 70 opcode counts,
the reward and the mask, the beginnings of episodes included. The ways take turns, a round each, so that what
else the machine does hits all of them:

- `one`: one environment, `Env.step` in a loop: its worker and this process take turns;
- `one, one core`, `ready 4, one core`: the processes of such a way are bound to one core;
- `step N`: `gymnasium.make_vec(id, N)`, burnish.core.vector.VectorEnv: all wait for the slowest pass;
- `ready N`: the same by its `send` and `ready`: none waits for another;
- `async N`: Gymnasium's AsyncVectorEnv: a process for each environment, and its worker;
- `async in process N`: the same with `limits=None`: the compiler runs in the environment's process, and
  nothing is caught.

Passes differ a hundredfold in time: with two environments in step, the bound is not two but 1.1 (printed for
each N from the times of one environment's steps: the sum on two cores, or the longest, whichever is more).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np

import burnish.envs
from burnish import Env, Program
from burnish.core.vector import VectorEnv
from burnish.corpora import Unit, fetch, find_package, translation_units
from burnish.tasks.llvm_passes import LANGUAGE, TASK
from burnish.tasks.llvm_passes.session import open_session

gymnasium.register_envs(burnish.envs)

OPTIONS: dict[str, Any] = {"observation": "opcode-counts", "objective": "ir-instructions", "order": "shuffle"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3000, help="in each round, of all environments together")
    parser.add_argument("--programs", type=int, default=8)
    parser.add_argument("--instructions", type=int, default=700)
    parser.add_argument("--ways", default="ready 2,ready 4,step 8,step 32,async 2")
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "burnish-sources")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    programs = pick(options.programs, options.instructions, options.sources)
    ways: dict[str, Way] = {
        "one": Loop(Env(TASK, programs, **OPTIONS)),
        "one, one core": OnOneCore(lambda: Loop(Env(TASK, programs, **OPTIONS))),
        "ready 4, one core": OnOneCore(lambda: make_way("ready 4", programs)),
    }
    ways |= {name: make_way(name, programs) for name in options.ways.split(",")}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    used: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(options.rounds):
        for name, way in ways.items():
            start, before = time.perf_counter(), cpu_seconds()
            steps = way.play(options.steps, np.random.default_rng(number))
            rates[name].append(steps / (time.perf_counter() - start))
            used[name].append((cpu_seconds() - before) / steps)
    seconds = ways["one"].seconds
    for way in ways.values():
        way.close()
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores; {len(programs)} programs; a step: mean {1e3 * np.mean(seconds):.2f} ms, ", end="")
    print(f"median {1e3 * np.median(seconds):.2f} ms, longest {1e3 * max(seconds):.1f} ms")
    print("| way | steps/s (median) | least | most | to one, one core | to one | bound | CPU ms a step |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for name, values in rates.items():
        to_core = statistics.median(values) / statistics.median(rates["one, one core"])
        ratio = statistics.median(values) / statistics.median(rates["one"])
        limit = bound(name, seconds, cores)
        median, least, most = statistics.median(values), min(values), max(values)
        cpu = 1e3 * statistics.median(used[name])
        print(
            f"| {name} | {median:.0f} | {least:.0f} | {most:.0f} | {to_core:.2f}x | {ratio:.2f}x "
            f"| {limit:.2f}x | {cpu:.2f} |"
        )
        ratios = {"to_one_core": to_core, "to_one": ratio, "bound": limit}
        rows.append({"way": name, "rates": values, **ratios, "cpu_ms": cpu})
    if options.output:
        options.output.write_text(json.dumps({"cores": cores, "rows": rows}, indent=2) + "\n")


def bound(way: str, seconds: list[float], cores: int) -> float:
    """Return how many times faster than one environment a way can be."""
    kind, _, count = way.rpartition(" ")
    if way == "one" or way.endswith("one core"):
        return 1.0
    if kind == "ready":
        return float(min(cores, int(count)))
    drawn = np.random.default_rng(0).choice(seconds, size=(5000, int(count)))
    return float(drawn.sum() / np.maximum(drawn.sum(axis=1) / cores, drawn.max(axis=1)).sum())


def cpu_seconds() -> float:
    """Return the CPU time of this process and of all that descend from it and live."""
    parents: dict[int, int] = {}
    times: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended while we looked
            continue
        number = int(path.parent.name)
        parents[number], times[number] = int(fields[1]), int(fields[11]) + int(fields[12])
    ours = {os.getpid()}
    while found := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= found
    return sum(times.get(number, 0) for number in ours) / os.sysconf("SC_CLK_TCK")


class Loop:
    """One environment."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.mask = env.reset(seed=0)[1]["mask"]
        self.seconds: list[float] = []
        self.close = env.close

    def play(self, steps: int, rng: np.random.Generator) -> int:
        """Make so many steps, and return how many they were."""
        for _ in range(steps):
            start = time.perf_counter()
            *_, terminated, truncated, info = self.env.step(choose(self.mask, rng))
            self.seconds.append(time.perf_counter() - start)
            if terminated or truncated:
                info = self.env.reset()[1]
            self.mask = info["mask"]
        return steps


class OnOneCore:
    """A way whose processes share one core."""

    seconds: ClassVar[list[float]] = []

    close: Callable[[], None]

    def __init__(self, make: Callable[[], Way]) -> None:
        self._cores = os.sched_getaffinity(0)
        with self._bound():
            self._way = make()  # its worker is bound for ever
        self.close = self._way.close

    def play(self, steps: int, rng: np.random.Generator) -> int:
        """Make so many steps, and return how many they were."""
        with self._bound():
            return self._way.play(steps, rng)

    @contextlib.contextmanager
    def _bound(self) -> Iterator[None]:
        os.sched_setaffinity(0, {max(self._cores)})
        yield
        os.sched_setaffinity(0, self._cores)


class InStep:
    """Several environments that wait for each other."""

    seconds: ClassVar[list[float]] = []

    def __init__(self, several: Any) -> None:
        self.several = several
        self.masks = several.reset(seed=0)[1]["mask"]
        self.done = np.zeros(several.num_envs, dtype=bool)
        self.close = several.close

    def play(self, steps: int, rng: np.random.Generator) -> int:
        """Make so many steps, and return how many they were; beginnings of episodes are none."""
        made = 0
        while made < steps:
            made += int((~self.done).sum())
            actions = [choose(mask, rng) for mask in self.masks]
            *_, terminated, truncated, infos = self.several.step(np.array(actions))
            self.masks, self.done = infos["mask"], terminated | truncated
        return made


class WhenReady:
    """Several environments that do not wait for each other."""

    seconds: ClassVar[list[float]] = []

    def __init__(self, several: VectorEnv) -> None:
        self.several = several
        self.masks = list(several.reset(seed=0)[1]["mask"])
        self.close = several.close

    def play(self, steps: int, rng: np.random.Generator) -> int:
        """Make so many steps, and return how many they were; beginnings of episodes are none."""
        made = 0
        for number, mask in enumerate(self.masks):
            self.several.send(number, choose(mask, rng))
        while found := self.several.ready():
            for number, (*_, info) in found:
                made += not info.get("begins", False)
                self.masks[number] = info["mask"]
                if made < steps:
                    self.several.send(number, choose(info["mask"], rng))
        return made


Way = Loop | OnOneCore | InStep | WhenReady


def make_way(name: str, programs: list[Program]) -> Way:
    """Return the environments that a name such as "step 8" stands for."""
    kind, _, count = name.rpartition(" ")
    make = partial(Env, TASK, programs, **OPTIONS)
    in_process = partial(make, limits=None)
    match kind:
        case "step" | "ready":
            several = gymnasium.make_vec("burnish/LLVMPasses-v1", int(count), programs=programs, **OPTIONS)
            assert isinstance(several, VectorEnv)
            return InStep(several) if kind == "step" else WhenReady(several)
        case "async":
            return InStep(gymnasium.vector.AsyncVectorEnv([make] * int(count)))
        case "async in process":
            return InStep(gymnasium.vector.AsyncVectorEnv([in_process] * int(count)))
    raise SystemExit(f"no way named {name!r}")


def choose(mask: np.ndarray[Any, Any], rng: np.random.Generator) -> int:
    """Return a random legal action; any where there is none, since the episode is over."""
    return int(rng.choice(np.flatnonzero(mask))) if mask.any() else 0


def pick(count: int, instructions: int, sources: Path) -> list[Program]:
    """Return the modules of two packages whose sizes, before any pass, are nearest."""
    programs = []
    for package in ("zopfli", "lz4", "pynacl"):
        found = find_package(package)
        units = [unit for unit in translation_units(fetch(found, sources), found) if isinstance(unit, Unit)]
        programs += [Program(unit.name, LANGUAGE, unit.compile()) for unit in units]
    sizes = {program: open_session(program).measure("ir-instructions") for program in programs}
    return sorted(programs, key=lambda program: abs(sizes[program] - instructions))[:count]


if __name__ == "__main__":
    main()
