"""Quality of a few measured candidates relative to many, for policies of MLIR schedules, on unseen programs.

    python benchmarks/schedule_candidates.py [--count 16 --seed 11] [--few 10] [--many 200]
    python benchmarks/schedule_candidates.py --policies shipped,runs/costs/policy.npz

Each policy proposes its candidates one after the other; the measured time of each is reported back to it. The
fastest of a policy's first few candidates is compared with the fastest of all candidates of all policies.
Both are measured again, in turn, and the ratio of these times counts. A line for each program is printed, and
the geometric means. No other programs should run meanwhile.
"""

from __future__ import annotations

import argparse
import math
import sys
from contextlib import closing
from dataclasses import dataclass

from kit.one_thread import restart

if __name__ == "__main__":
    restart()  # before NumPy is loaded

import numpy as np

from burnish.core.errors import BurnishError, CompilerCrash, IllegalAction
from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.learning.training.chosen_programs import choose
from burnish.learning.training.config import Source
from burnish.policies.find import find_guide
from burnish.tasks.mlir_schedules import TASK
from burnish.tasks.mlir_schedules.policy.independent_ops import measure_trace
from burnish.tasks.mlir_schedules.policy.op_proposals import propose
from burnish.tasks.mlir_schedules.reference.work import flops
from burnish.tasks.mlir_schedules.session import open_program
from burnish.tasks.tensors.policy.cost_model import CostModel, SchedulePolicy
from burnish.workers.worker import GIB, Limits, Worker

AGAIN = 5  # repeated measurements of each compared schedule
LIMITS = Limits(deadline_seconds=30.0, memory_bytes=8 * GIB)


@dataclass(frozen=True)
class Candidate:
    """A schedule, and the seconds of a call of the program."""

    trace: Trace
    seconds: float


def main() -> None:
    """Measure program by program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--programs", default="sample:test", help="a set of names (default: %(default)s)")
    parser.add_argument("--count", type=int, default=16, help="so many of them (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=11, help="of the choice (default: %(default)s)")
    parser.add_argument("--policies", default="shipped", help="by commas: shipped, or files")
    parser.add_argument("--few", type=int, default=10, help="candidates (default: %(default)s)")
    parser.add_argument("--many", type=int, default=200, help="of the first policy (default: %(default)s)")
    parser.add_argument("--operations", type=float, default=6e8, help="of a program, at most")
    options = parser.parse_args()
    models = {name: _model(name) for name in options.policies.split(",")}
    chosen = choose([Source(options.programs, count=options.count, seed=options.seed)], "programs", TASK)
    shares: dict[str, list[float]] = {name: [] for name in models}
    for program in chosen:
        if flops(program.content.decode()) > options.operations:
            continue
        with closing(Worker(LIMITS)) as worker:
            few: dict[str, Candidate] = {}
            found: list[Candidate] = []
            for name, model in models.items():
                all_of_it = _candidates(worker, program, model, options.few if found else options.many)
                few[name] = min(all_of_it[: options.few], key=lambda one: one.seconds)
                found += all_of_it
            most = min(found, key=lambda one: one.seconds)
            best, *others = _again(program, [most, *few.values()])
        for name, seconds in zip(few, others, strict=True):
            shares[name].append(best / seconds)
        shown = "  ".join(f"{name} {own[-1]:.3f}" for name, own in shares.items())
        print(f"{program.name:32} {shown}  of {len(found)} candidates, {best * 1e6:.4g} us", flush=True)
    for name, own in shares.items():
        print(f"{name}: {np.exp(np.mean(np.log(own))):.3f} in the geometric mean of {len(own)} programs")


def _model(name: str) -> CostModel:
    found = find_guide(name, TASK, "seconds")
    model = found[0].model if found and isinstance(found[0], SchedulePolicy) else None
    if not isinstance(model, CostModel):
        sys.exit(f"--policies {name}: expected shipped, or a file that mlir-schedule-costs made")
    return model


def _candidates(worker: Worker, program: Program, model: CostModel, count: int) -> list[Candidate]:
    """Return the first `count` candidates, measured; a failed one has infinite seconds."""
    proposals, found = propose(program, model), list[Candidate]()
    told: float | None = None
    with closing(proposals):
        while len(found) < count:
            try:
                trace = proposals.send(told)
            except StopIteration:
                break
            try:
                told = worker.call(measure_trace, program, trace)
            except (CompilerCrash, IllegalAction):
                told = math.inf
            found.append(Candidate(trace, told))
    return found


def _again(program: Program, candidates: list[Candidate]) -> list[float]:
    """Return the least seconds of each candidate, measured in turn."""
    sessions = [open_program(program) for _ in candidates]
    for session, one in zip(sessions, candidates, strict=True):
        session.replay(one.trace)
    rounds = [[session.seconds(again=True) for session in sessions] for _ in range(AGAIN)]
    return [min(column) for column in zip(*rounds, strict=True)]


if __name__ == "__main__":
    try:
        main()
    except BurnishError as error:
        sys.exit(str(error))
