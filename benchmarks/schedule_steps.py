"""Steps per second on MLIR schedules without run times: random legal actions, observations and masks.

    python benchmarks/schedule_steps.py [--steps 1000] [--rounds 5] [--seed 0]

A step applies an action at the cursor, observes, and computes the mask of legal actions. An episode begins
with an open program. It ends after 40 steps, after the first op, or when MLIR fails. The kind of an action is
drawn before its parameters. Times are CPU time of this process, through the session and through the
environment, whose session is in this process, too; the least of several rounds of the same steps counts. A
line of JSON is printed for each program, and one for all.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

import numpy as np

from burnish.core.errors import CompilerCrash
from burnish.core.view import Mask
from burnish.envs.env import Env
from burnish.tasks.mlir_schedules import TASK
from burnish.tasks.mlir_schedules.actions import INDEX
from burnish.tasks.mlir_schedules.session import ScheduleSession, open_program

PROGRAMS = (
    "matmul:512x512x512",
    "batch-matmul:8x64x64x64",
    "conv2d:56x56x64x64",
    "depthwise:56x56x64",
    "maxpool:56x56x64",
    "add:512x512",
    "softmax:64x128",
    "layer-norm:64x128",
    "sum-rows:512x512",
    "matmul-bias-relu:128x128x128",
    "mlp:16x784x128x10",
    "attention:4x64x32",
)
EPISODE = 40
KINDS = np.unique([text.partition("(")[0] for text in TASK.actions], return_inverse=True)[1]


def main() -> None:
    """Measure program by program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000, help="of each program in each round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--observation", default="neighbours")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    totals = {"session": 0.0, "env": 0.0}
    for name in PROGRAMS:
        program = TASK.source().load(name).program
        root = open_program(program)
        env = Env(
            TASK, program, observation=options.observation, dense=False, limits=None, max_steps=EPISODE + 1
        )
        env.reset()
        ways = {"session": in_session(root, options.observation), "env": in_env(env)}
        rates = {}
        for way, play in ways.items():
            rngs = (np.random.default_rng(options.seed) for _ in range(options.rounds))
            seconds = min(timed(play, options.steps, rng) for rng in rngs)
            totals[way] += seconds
            rates[f"{way}_steps_per_second"] = round(options.steps / seconds)
        env.close()
        print(json.dumps({"program": name, **rates}), flush=True)
    steps = options.steps * len(PROGRAMS)
    rates = {f"{way}_steps_per_second": round(steps / seconds) for way, seconds in totals.items()}
    print(json.dumps({"program": "all", "steps": steps, **rates}))


def timed(play: Callable[[int, np.random.Generator], int], steps: int, rng: np.random.Generator) -> float:
    """Return the CPU seconds of some steps, played in as many episodes as necessary."""
    before = time.process_time()
    while steps > 0:
        steps -= max(1, play(min(steps, EPISODE), rng))
    return time.process_time() - before


def in_session(root: ScheduleSession, observation: str) -> Callable[[int, np.random.Generator], int]:
    """Return a function that plays an episode in a fork and returns its number of steps."""

    def play(most: int, rng: np.random.Generator) -> int:
        session = root.fork()
        session.observe(observation)
        mask = session.legal()
        for step in range(most):
            try:
                session.apply(choose(mask, rng))
            except CompilerCrash:
                return step + 1
            session.observe(observation)
            mask = session.legal()
            if not mask.any():
                return step + 1
        return most

    return play


def in_env(env: Env) -> Callable[[int, np.random.Generator], int]:
    """Return a function that plays an episode without the last step, which would measure run time."""

    def play(most: int, rng: np.random.Generator) -> int:
        _, info = env.reset()
        for step in range(most):
            action = choose(info["mask"], rng)
            session = env.session
            assert isinstance(session, ScheduleSession)
            if action == INDEX["next"] and session.cursor == session.sites()[0]:
                return step + 1
            *_, terminated, _, info = env.step(action)
            if terminated:
                return step + 1
        return most

    return play


def choose(mask: Mask, rng: np.random.Generator) -> int:
    """Return a legal action other than `done`; each kind is equally likely."""
    legal = np.flatnonzero(mask)
    legal = legal[legal != INDEX["done"]]
    found = np.flatnonzero(np.bincount(KINDS[legal]))
    among = legal[KINDS[legal] == found[rng.integers(len(found))]]
    return int(among[rng.integers(len(among))])


if __name__ == "__main__":
    main()
