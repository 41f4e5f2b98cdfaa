"""Inlining decisions per second: a network in the compile, Python step by step, and opt over its channel.

    python benchmarks/inlining_decisions.py [--package zopfli] [--rounds 3] [--output FILE.json]

One network with seeded random weights (38-40-40-20-2, the shape of MLGO's) answers the inliner's questions on
the C files of a package, one file after the other, at -Oz:

- `network`: the network alone, on the features of the files' questions, in one thread;
- `compile`: the files are opened and compiled in this process, and the network answers;
- `replay`: the same answers, given from the start: LLVM's share of the time;
- `python`: the same policy in numpy, question by question, in this process;
- `channel`: a stock `opt -enable-ml-inliner=release` process for each file, which asks over two FIFOs and is
  answered by the same network; it runs default<O2>, in which the inliner asks the same questions;
- `start`: the time that opt needs to start, to read each file and to write it, without any pass;
- `protocol`: the two FIFOs and the answers alone: a process that sends prepared questions.

Times are CPU seconds of this process and its child processes, for all files. All ways take turns for some
rounds; the least time of each way counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import starmap
from pathlib import Path

import numpy as np
from kit.programs import module_of, units_of

from burnish import Program
from burnish.core.answer import MakeAnswerer
from burnish.files import default_cache
from burnish.llvm.channel import Channel, serve
from burnish.llvm.toolchain import clang_version, find_tool
from burnish.policies.answer import ByPython, answers_of
from burnish.policies.arrays import ArraysPolicy, Linear, Perceptron, save_arrays
from burnish.policies.batches import Features
from burnish.policies.load import load_action_policy
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.actions import ACTIONS
from burnish.tasks.llvm_inlining.channel import inliner_questions
from burnish.tasks.llvm_inlining.networks import network_of
from burnish.tasks.llvm_inlining.observations import FEATURES
from burnish.tasks.llvm_inlining.session import InliningOptions, InliningSession, open_inlining

LEVEL = "Oz"
HIDDEN = (40, 40, 20)
ROWS = 200_000  # least number of questions for the network alone
ASKED = 20_000  # questions of the process that only asks
ASKING = """
import json, sys
base, rows, names = sys.argv[1], open(sys.argv[2], "rb").read(), json.loads(sys.argv[3])
tensor = {"port": 0, "shape": [1], "type": "int64_t"}
header = {"features": [tensor | {"name": name} for name in names]}
header["advice"] = tensor | {"name": "inlining_decision"}
with open(base + ".out", "wb", buffering=0) as out, open(base + ".in", "rb", buffering=0) as answers:
    out.write(json.dumps(header).encode() + b"\\n")
    for number, at in enumerate(range(0, len(rows), 8 * len(names))):
        out.write(b'{"observation":%d}\\n%s\\n' % (number, rows[at : at + 8 * len(names)]))
        answers.read(8)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--package", default="zopfli")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sources", type=Path, default=default_cache())
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    programs = [module_of(unit, LEVEL) for unit in units_of([options.package], options.sources)]
    with tempfile.TemporaryDirectory() as folder:
        found = measure(programs, Path(folder), options.rounds)
    found = {"package": options.package, "files": len(programs), "clang": clang_version(), **found}
    for name, value in found.items():
        print(f"{name:40} {value:,}" if isinstance(value, (int, float)) else f"{name:40} {value}")
    if options.output:
        options.output.write_text(json.dumps(found, indent=2) + "\n")


def measure(programs: Sequence[Program], folder: Path, rounds: int) -> dict[str, object]:
    """Answer the files' questions in every way; return the seconds and the decisions per second."""
    tables = [opened(program).compiled().rows[:, : len(FEATURES)] for program in programs]
    rows = np.concatenate(tables)
    save_arrays(policy_for(rows), path := folder / "policy.npz")
    answers = answers_of(path, TASK)
    network = network_of(answers())
    assert network is not None
    many = np.ascontiguousarray(np.tile(rows, (ROWS // len(rows) + 1, 1)))
    given = [answered(program, answers).answers for program in programs]
    ways: dict[str, Callable[[], int]] = {
        "network": lambda: len(network.choose(many)),
        "compile": lambda: sum(len(answered(program, answers).answers) for program in programs),
        "replay": lambda: sum(starmap(replayed, zip(programs, given, strict=True))),
        "python": lambda: sum(len(answered(program, ByPython(answers)).answers) for program in programs),
        "channel": lambda: sum(by_opt(program, folder, path) for program in programs),
        "protocol": lambda: by_protocol(many[:ASKED], folder, path),
        "start": lambda: sum(by_opt(program, folder, None) for program in programs),
    }
    seconds = dict.fromkeys(ways, np.inf)
    asked: dict[str, int] = {}
    for _ in range(rounds):
        for name, way in ways.items():
            start = cpu_seconds()
            asked[name] = way()
            seconds[name] = min(seconds[name], cpu_seconds() - start)
    assert asked["compile"] == asked["replay"] == asked["python"] == asked["channel"], asked
    per_second = {name: round(asked[name] / seconds[name]) for name in ways if asked[name]}
    return {
        "questions": asked["compile"],
        "seconds": {name: round(float(value), 4) for name, value in seconds.items()},
        "decisions a second": per_second,
    }


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of its finished child processes."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


def opened(program: Program) -> InliningSession:
    """Return a file's session."""
    return open_inlining(program, InliningOptions(LEVEL))


def answered(program: Program, make: MakeAnswerer) -> InliningSession:
    """Return a file's session after a policy has answered all questions, compiled to the end."""
    session = opened(program)
    session.answer(make)
    session.compiled()
    return session


def replayed(program: Program, answers: dict[str, bool]) -> int:
    """Compile a file with answers that are given from the start; return the number of questions."""
    session = opened(program)
    session.answers.update(answers)
    return len(session.compiled().places)


def by_opt(program: Program, folder: Path, policy: Path | None) -> int:
    """Run opt with a policy that answers, or without passes; return the number of questions."""
    (folder / "in.bc").write_bytes(opened(program).compiles.opened.bitcode())
    command = [str(find_tool("opt")), str(folder / "in.bc"), "-o", "/dev/null"]
    if policy is None:
        subprocess.run([*command, "-passes="], check=True)
        return 0
    base = folder / "channel"
    command += ["-passes=default<O2>", "-enable-ml-inliner=release"]
    command += [f"-inliner-interactive-channel-base={base}"]
    with Channel(base) as channel, subprocess.Popen(command) as process:
        return serve(
            inliner_questions(load_action_policy(policy)), channel, lambda: process.poll() is None
        ).decisions


def by_protocol(rows: np.ndarray[tuple[int, int], np.dtype[np.int64]], folder: Path, policy: Path) -> int:
    """Answer a process that only asks; return the number of questions."""
    (folder / "rows").write_bytes(rows.tobytes())
    base = folder / "channel"
    command = [sys.executable, "-c", ASKING, str(base), str(folder / "rows"), json.dumps(FEATURES)]
    with Channel(base) as channel, subprocess.Popen(command) as process:
        return serve(
            inliner_questions(load_action_policy(policy)), channel, lambda: process.poll() is None
        ).decisions


def policy_for(rows: np.ndarray[tuple[int, int], np.dtype[np.int64]], seed: int = 0) -> ArraysPolicy:
    """Return a network with seeded random weights that answers half of some questions with `inline`."""
    rng = np.random.default_rng(seed)
    layers = []
    for inputs, outputs in zip((len(FEATURES), *HIDDEN), (*HIDDEN, 2), strict=True):
        weight = rng.normal(0, (2 / inputs) ** 0.5, (inputs, outputs)).astype(np.float32)
        layers.append(Linear(weight, np.zeros(outputs, dtype=np.float32)))
    scaled = np.sign(rows) * np.log1p(np.abs(rows))
    mean, deviation = scaled.mean(axis=0), scaled.std(axis=0) + 0.1
    encoder = Perceptron(True, mean.astype(np.float32), deviation.astype(np.float32), tuple(layers[:-1]))
    head = layers[-1]
    logits = head(encoder(rows.astype(np.float32)))
    head.bias[1] = -np.median(logits[:, 1] - logits[:, 0])
    card = {"task": TASK.id, "observation": "inlining-features", "columns": list(FEATURES), "max_steps": None}
    return ArraysPolicy(ACTIONS, Features(), encoder, head, card=card)


if __name__ == "__main__":
    main()
