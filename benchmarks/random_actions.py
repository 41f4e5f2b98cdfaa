"""Random actions on real programs: crashes of the compiler, and processes and files that are left behind.

    python benchmarks/random_actions.py [--programs 20] [--actions 10000]
    python benchmarks/random_actions.py --of outline [--episodes 5000] [--seed 0] [--plain]
    python benchmarks/random_actions.py --corpus FOLDER [--decisions] [--episodes 5000] [--seed 0]

Uniformly random actions, at the whole program and at its eight largest functions, in episodes of 50 steps;
the module is verified at the end of each. Crashes, time-outs and modules that the verifier rejects are
counted; at the end, new child processes and new files in the temporary folder are listed.

With `--of`, a third of the actions are of those passes and a sixth are clang's pipelines; programs are the
kernels and the files of tests/data, with debug information unless `--plain`, C++ with and without exceptions.
Episodes have 5 to 25 steps; the module is verified after each step, and the trace is replayed in another
process, which must reach the same module and object. Stock opt repeats a failing step on the state before the
step; if opt fails, too, that is a separate count. With `--corpus`, the programs are those of a corpus, of
another machine for example, and all actions are equally frequent. With `--decisions`, the actions are those
of llvm_codegen after clang's -Oz, 1 to 12 in an episode, at the program and at its functions. The object is
made after the last one. If LLVM fails, the fewest decisions with which it does are printed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from kit.programs import module_of, units_of
from rich.progress import track

from burnish import Env, Limits, Program, load_task
from burnish.core.errors import CompilerCrash, CompilerTimeout, ProgramError
from burnish.llvm.corpora.kernels import find_kernel, kernel_names
from burnish.llvm.corpora.store import open_corpus
from burnish.llvm.modules.passes import PASSES
from burnish.llvm.programs import load_program
from burnish.llvm.toolchain import find_tool
from burnish.workers.sandbox import Sandbox

sys.path.insert(0, str(Path(__file__).parent.parent))
from validate import actions  # beside this file

from tests.sources import DATA

PACKAGES = ("zopfli", "lz4", "cmarkgfm", "box2d")
EPISODE = 50
MOST = 2000  # instructions of a program of a corpus
MOST_DECISIONS = 12
TASK, CODEGEN = load_task("llvm_passes"), load_task("llvm_codegen")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=20)
    parser.add_argument("--actions", type=int, default=10_000)
    parser.add_argument("--deadline", type=float, default=20.0)
    parser.add_argument("--sources", type=Path, default=Path(tempfile.gettempdir()) / "burnish-sources")
    parser.add_argument("--of", default="", metavar="PASS,...", help="passes of ours, more often than others")
    parser.add_argument("--episodes", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--corpus", type=Path, help="folder of burnish corpus build")
    parser.add_argument("--decisions", action="store_true", help="on code generation, with --corpus")
    parser.add_argument("--plain", action="store_true", help="without debug information")
    options = parser.parse_args()
    if options.decisions:
        play_decisions(options)
        return
    if options.of or options.corpus:
        play_often(options)
        return
    programs = some_programs(options.sources, options.programs)
    before = left_behind()
    start = time.monotonic()
    counts = play(programs, options.actions, Limits(deadline_seconds=options.deadline))
    print(f"{len(programs)} programs, {counts['actions']} actions in {time.monotonic() - start:.0f} s")
    for what in ("crash", "time-out", "rejected by the verifier"):
        print(f"  {what}: {counts[what]}")
    print(f"  left behind: {sorted(left_behind() - before) or 'nothing'}")


def some_programs(sources: Path, count: int) -> list[Program]:
    """Return `count` programs, about as many from each package."""
    share = -(-count // len(PACKAGES))
    units = (unit for package in PACKAGES for unit in islice(units_of([package], sources), share))
    return [module_of(unit) for unit in islice(units, count)]


def play(programs: list[Program], actions: int, limits: Limits) -> Counter[str]:
    """Play random episodes, the programs in turn; return the counts of actions and failures."""
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


def play_often(options: argparse.Namespace) -> None:
    """Play episodes in which some passes are frequent, and print the failures."""
    programs: Sequence[Program]
    if options.corpus:
        programs = open_corpus(options.corpus).where(lambda row: row.instructions <= MOST)
    else:
        programs = own_programs([] if options.plain else ["-g"])
    counts: Counter[str] = Counter()
    for number in track(range(options.episodes), description="episodes"):
        rng = np.random.default_rng([options.seed, number])
        program = programs[int(rng.integers(len(programs)))]
        trace = actions(rng, int(rng.integers(5, 26)), options.of)
        counts["actions"] += len(trace)
        if found := failure(program, trace, Limits(deadline_seconds=options.deadline)):
            what, steps, message = found
            counts[what] += 1
            print(f"{number}: {program.name}: {what}: {message[:160]}\n    {steps}")
    print(f"{len(programs)} programs, {options.episodes} episodes, {counts['actions']} actions")
    for what in ("fails", "fails with opt, too", "time-out", "replays differently"):
        print(f"  {what}: {counts[what]}")


def play_decisions(options: argparse.Namespace) -> None:
    """Play episodes of decisions on code generation, and print the failures."""
    programs = open_corpus(options.corpus).where(lambda row: row.instructions <= MOST)
    limits = Limits(deadline_seconds=options.deadline)
    counts: Counter[str] = Counter()
    for number in track(range(options.episodes), description="episodes"):
        rng = np.random.default_rng([options.seed, number])
        program = programs[int(rng.integers(len(programs)))]
        trace = decisions(program, rng, int(rng.integers(1, 1 + MOST_DECISIONS)), limits)
        counts["decisions"] += len(trace)
        made = [object_after(program, trace, limits) for _ in range(2)]
        if crashes := [one for one in made if isinstance(one, CompilerCrash)]:
            counts["fails"] += 1
            print(f"{number}: {program.name}: {crashes[0]}\n    {fewest_failing(program, trace, limits)}")
        elif made[0] != made[1]:
            counts["replays differently"] += 1
            print(f"{number}: {program.name}: replays differently\n    {trace}")
    print(f"{len(programs)} programs, {options.episodes} episodes, {counts['decisions']} decisions")
    for what in ("fails", "replays differently"):
        print(f"  {what}: {counts[what]}")


def decisions(program: Program, rng: np.random.Generator, count: int, limits: Limits) -> list[str]:
    """Return legal decisions, each at the program or at a random function."""
    session = Sandbox(CODEGEN.open, program, limits=limits)
    try:
        sites = ["", *session.sites()]
        found = []
        for _ in range(count):
            site = sites[int(rng.integers(len(sites)))]
            action = CODEGEN.actions[int(rng.choice(np.flatnonzero(session.legal(site))))]
            found.append(f"{site}: {action}" if site else action)
        return found
    finally:
        session.shutdown()


def object_after(program: Program, trace: Sequence[str], limits: Limits) -> bytes | CompilerCrash:
    """Return the object after decisions, made in a new process, or LLVM's failure."""
    session = Sandbox(CODEGEN.open, program, limits=limits)
    try:
        session.replay(trace)
        made = session.observe("object")
        assert isinstance(made, bytes)
        return made
    except CompilerCrash as error:
        return error
    finally:
        session.shutdown()


def fewest_failing(program: Program, trace: Sequence[str], limits: Limits) -> list[str]:
    """Return decisions without which LLVM does not fail, none of which can be left out."""
    kept = list(trace)
    for text in trace:
        fewer = [other for other in kept if other != text]
        if isinstance(object_after(program, fewer, limits), CompilerCrash):
            kept = fewer
    return kept


def own_programs(flags: list[str]) -> list[Program]:
    """Return the kernels and the tests' files, compiled with some flags; C++ with and without exceptions."""
    sources = [find_kernel(name).source for name in kernel_names()]
    sources += sorted(path for path in DATA.rglob("*.c*") if path.suffix in (".c", ".cpp"))
    programs = []
    for source in sources:
        for more in ([], ["-fno-exceptions"]) if source.suffix == ".cpp" else ([],):
            if more and "throw" in source.read_text():
                continue
            standard = ["-std=c++20"] if source.suffix == ".cpp" else []
            program = load_program(source, [*standard, *flags, *more])
            programs.append(replace(program, name=" ".join([source.name, *more])))
    return programs


def failure(program: Program, trace: list[str], limits: Limits) -> tuple[str, list[str], str] | None:
    """Return a trace's failure: its kind, the steps up to it, and its message; None without a failure."""
    steps: list[str] = []
    try:
        session = Sandbox(TASK.open, program, limits=limits)
    except ProgramError as error:  # all programs were opened before, so the machine was too slow
        return "time-out", steps, str(error)
    try:
        for text in trace:
            steps.append(text)
            session.replay([text])
            session.verify()
        reached = session.digest(), session.object_code()
        session.shutdown()
        session = Sandbox(TASK.open, program, limits=limits)
        session.replay(trace)
        same = (session.digest(), session.object_code()) == reached
        return None if same else ("replays differently", steps, "")
    except CompilerTimeout as error:
        return "time-out", steps, str(error)
    except CompilerCrash as error:
        return "fails with opt, too" if fails_in_opt(program, steps, limits) else "fails", steps, str(error)
    finally:
        session.shutdown()


def fails_in_opt(program: Program, steps: list[str], limits: Limits) -> bool:
    """Return whether stock opt fails at the last step, from the bitcode of the state before that step."""
    session = Sandbox(TASK.open, program, limits=limits)
    try:
        session.replay(steps[:-1])
        before = session.observe("bitcode")
    except CompilerCrash:
        return False
    finally:
        session.shutdown()
    pipeline = next(item.pipeline for item in PASSES if item.text == steps[-1])
    if pipeline.startswith("clang<"):
        pipeline = {"clang<O1": "default<O1>", "clang<O3": "default<O3>"}.get(pipeline[:8], "default<O2>")
    assert isinstance(before, bytes)
    command = [str(find_tool("opt")), f"-passes={pipeline}", "-verify-each", "-disable-output", "-"]
    done = subprocess.run(command, input=before, capture_output=True, check=False)
    return done.returncode != 0 and b"unknown pass" not in done.stderr


def left_behind() -> set[str]:
    """Return the ids of this process' children and the paths in the temporary folder."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return set(children) | {str(path) for path in Path(tempfile.gettempdir()).iterdir()}


if __name__ == "__main__":
    main()
