"""Steps per second of one environment and of several at a time, on small modules.

    python benchmarks/vector.py [--rounds 7] [--steps 3000] [--output benchmarks/results/vector.json]

Programs: modules of about 700 IR instructions. Episodes of 45 random legal actions with the 70 opcode counts,
the reward and the mask; times include the resets. The ways take turns, a round each, so that other load on
the machine affects all ways:

- `one`: one environment, `Env.step` in a loop: its worker and this process take turns;
- `one, one core`, `ready 4, one core`: all processes of the way are bound to one core;
- `step N`: `gymnasium.make_vec(id, N)`, burnish.envs.vector.VectorEnv: all wait for the slowest pass;
- `step N/W`, `step N/WxT`: the same with at most W worker processes, of T threads each;
- `ready N`, `ready N/WxT`: the same by `send` and `ready`: no environment waits for another;
- `async N`: Gymnasium's AsyncVectorEnv: a process for each environment, and its worker;
- `async in process N`: the same with `limits=None`: the compiler runs in the environment's process, and
  crashes are not caught.

Ratios are medians of the ratios in each round. Passes differ a hundredfold in time: the bound for two
environments in step is therefore 1.1, not 2. The bound of each way is computed from the step times of one
environment: the sum divided by the cores, or the longest time of a worker, whichever is more. Memory is the
proportional set size of a way's processes at the end: a page that several processes share counts in parts.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from kit.programs import modules_of

import burnish.envs
from burnish import Env, Program
from burnish.envs.vector import VectorEnv
from burnish.llvm.modules.session import open_session
from burnish.tasks.llvm_passes import TASK

gymnasium.register_envs(burnish.envs)

MIB = 1 << 20
OPTIONS: dict[str, Any] = {"observation": "opcode-counts", "objective": "ir-instructions", "order": "shuffle"}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=3000, help="in each round, of all environments together")
    parser.add_argument("--programs", type=int, default=8)
    parser.add_argument("--instructions", type=int, default=700)
    parser.add_argument("--ways", default="ready 4,ready 32,step 8,step 32,step 32/2,step 32/32,async 2")
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
    memory = {}
    for name, way in ways.items():
        before = proportional_bytes()
        way.close()
        memory[name] = (before - proportional_bytes()) / MIB
    cores = len(os.sched_getaffinity(0))
    print(f"{cores} cores; {len(programs)} programs; a step: mean {1e3 * np.mean(seconds):.2f} ms, ", end="")
    print(f"median {1e3 * np.median(seconds):.2f} ms, longest {1e3 * max(seconds):.1f} ms")
    print("| way | steps/s (median) | least | most | to one, one core | to one | bound | CPU ms | MiB |")
    print("|---|---|---|---|---|---|---|---|---|")
    rows = []
    for name, values in rates.items():
        to_core = paired(values, rates["one, one core"])
        ratio = paired(values, rates["one"])
        limit = bound(name, seconds, cores)
        median, least, most = statistics.median(values), min(values), max(values)
        cpu = 1e3 * statistics.median(used[name])
        print(
            f"| {name} | {median:.0f} | {least:.0f} | {most:.0f} | {to_core:.2f}x | {ratio:.2f}x "
            f"| {limit:.2f}x | {cpu:.2f} | {memory[name]:.0f} |"
        )
        ratios = {"to_one_core": to_core, "to_one": ratio, "bound": limit}
        rows.append({"way": name, "rates": values, **ratios, "cpu_ms": cpu, "mib": memory[name]})
    if options.output:
        options.output.write_text(json.dumps({"cores": cores, "rows": rows}, indent=2) + "\n")


def bound(way: str, seconds: list[float], cores: int) -> float:
    """Return the upper bound of a way's speed-up over one environment."""
    if way == "one" or way.endswith("one core"):
        return 1.0
    kind, count, workers, threads = parts_of(way)
    if kind == "ready":
        return float(min(cores, count))
    workers = min(count, workers or (cores if kind == "step" else count))
    drawn = np.random.default_rng(0).choice(seconds, size=(5000, count))
    shares = [drawn[:, i::workers] for i in range(workers)]
    together = min(threads or cores, cores) if kind == "step" else 1
    longest = np.max([np.maximum(one.sum(axis=1) / together, one.max(axis=1)) for one in shares], axis=0)
    return float(drawn.sum() / np.maximum(drawn.sum(axis=1) / cores, longest).sum())


def parts_of(way: str) -> tuple[str, int, int | None, int | None]:
    """Return the parts of a name such as "step 32/4x2": kind, environments, workers, threads of each."""
    kind, _, size = way.rpartition(" ")
    count, _, rest = size.partition("/")
    workers, _, threads = rest.partition("x")
    return kind, int(count), int(workers) if workers else None, int(threads) if threads else None


def paired(rates: list[float], others: list[float]) -> float:
    """Return the median ratio of two ways in the same round."""
    return statistics.median(a / b for a, b in zip(rates, others, strict=True))


def proportional_bytes() -> int:
    """Return the proportional set size (Pss) of this process and of its living descendants."""
    total = 0
    for number in family()[0]:
        with contextlib.suppress(OSError):  # the process has ended meanwhile
            (line,) = re.findall(r"^Pss:\s+(\d+)", Path(f"/proc/{number}/smaps_rollup").read_text(), re.M)
            total += int(line) * 1024
    return total


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its living descendants."""
    ours, times = family()
    return sum(times.get(number, 0) for number in ours) / os.sysconf("SC_CLK_TCK")


def family() -> tuple[set[int], dict[int, int]]:
    """Return the ids of this process and of its living descendants, and the CPU ticks of every process."""
    parents: dict[int, int] = {}
    times: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended meanwhile
            continue
        number = int(path.parent.name)
        parents[number], times[number] = int(fields[1]), int(fields[11]) + int(fields[12])
    ours = {os.getpid()}
    while found := {number for number, parent in parents.items() if parent in ours} - ours:
        ours |= found
    return ours, times


class Loop:
    """One environment."""

    def __init__(self, env: Env) -> None:
        self.env = env
        self.mask = env.reset(seed=0)[1]["mask"]
        self.seconds: list[float] = []
        self.close = env.close

    def play(self, steps: int, rng: np.random.Generator) -> int:
        """Make `steps` steps and return their number."""
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
            self._way = make()  # its worker stays bound
        self.close = self._way.close

    def play(self, steps: int, rng: np.random.Generator) -> int:
        """Make at least `steps` steps on the core and return their number."""
        with self._bound():
            return self._way.play(steps, rng)

    @contextlib.contextmanager
    def _bound(self) -> Iterator[None]:
        os.sched_setaffinity(0, {max(self._cores)})
        yield
        os.sched_setaffinity(0, self._cores)


class InStep:
    """Several environments that step together, so that all wait for the slowest."""

    seconds: ClassVar[list[float]] = []

    def __init__(self, several: Any) -> None:
        self.several = several
        self.masks = several.reset(seed=0)[1]["mask"]
        self.done = np.zeros(several.num_envs, dtype=bool)
        self.close = several.close

    def play(self, steps: int, rng: np.random.Generator) -> int:
        """Make at least `steps` steps and return their number; resets are not counted."""
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
        """Make at least `steps` steps and return their number; resets are not counted."""
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
    """Return the environments of a name such as "step 8"."""
    kind, count, workers, threads = parts_of(name)
    make = partial(Env, TASK, programs, **OPTIONS)
    match kind:
        case "step" | "ready":
            more = {"workers": workers, "threads": threads, "programs": programs} | OPTIONS
            several = gymnasium.make_vec("burnish/LLVMPasses-v1", count, **more)
            assert isinstance(several, VectorEnv)
            return InStep(several) if kind == "step" else WhenReady(several)
        case "async":
            return InStep(gymnasium.vector.AsyncVectorEnv([make] * count))
        case "async in process":
            return InStep(gymnasium.vector.AsyncVectorEnv([partial(make, limits=None)] * count))
    raise SystemExit(f"no way named {name!r}")


def choose(mask: np.ndarray[Any, Any], rng: np.random.Generator) -> int:
    """Return a random legal action; 0 if there is none, because the episode is over."""
    return int(rng.choice(np.flatnonzero(mask))) if mask.any() else 0


def pick(count: int, instructions: int, sources: Path) -> list[Program]:
    """Return the modules of three packages whose sizes before any pass are nearest to `instructions`."""
    programs = modules_of(("zopfli", "lz4", "pynacl"), sources)
    sizes = {program: open_session(program).measure("ir-instructions") for program in programs}
    return sorted(programs, key=lambda program: abs(sizes[program] - instructions))[:count]


if __name__ == "__main__":
    main()
