"""Choose the traces of a whole program that short budgets of burnish cc try first: prior_variants.json.

    python benchmarks/first_traces.py --folder CORPUS > traces.json    # of one machine

Candidates are TRACES and the sequences of the shipped policy for loaded bytes. Each one is tried at programs
of the train split. The first of TRACES comes first, because it takes little time. The others are chosen one
by one: each adds the largest gain for its time, where each program takes its best trace. A gain is the share
of -Oz's loaded bytes that is saved, within the limits of burnish cc on other machines.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from codegen_suffixes import programs_of
from numpy.typing import NDArray

from burnish.cc.requests import SPEED_LIMIT, STACK_LIMIT
from burnish.cc.short_search import code_of
from burnish.core.errors import BurnishError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.core.walk import replay_legal
from burnish.learning.portfolio.portfolio import greedy_cover
from burnish.llvm.corpora.public import default_folder
from burnish.llvm.modules.objectives import within_limits
from burnish.llvm.targets import machine_of
from burnish.policies import find as policies
from burnish.policies.sequence_values import SequenceValues
from burnish.tasks.llvm_passes import TASK as PASSES
from burnish.tasks.llvm_passes_and_codegen import TASK

OBJECTIVE = within_limits("loaded-bytes", SPEED_LIMIT, 1.0, stack_growth=STACK_LIMIT)
LEVEL = "clang<Oz>"
THREADED = ("mem2reg", "sink-common", "jump-threading<threshold=2>", "mem2reg", "outline<call-cost=2>")
TRACES: tuple[Trace, ...] = (
    (LEVEL, "sink-common", "outline<call-cost=2>"),
    (LEVEL, "hoist-common<no-free>", "sink-common", "outline<call-cost=2>"),  # of x86
    (LEVEL, "outline<call-cost=1>"),
    (LEVEL, *THREADED),
    ("mem2reg", "sink-common", "outline<call-cost=2>", LEVEL, "sink-common", "outline<call-cost=2>"),
    (*THREADED, LEVEL, *THREADED),
)

Floats = NDArray[np.float64]


def candidates() -> list[Trace]:
    """Return the traces to choose from, without the level's own."""
    found = policies.find_guide(policies.DEFAULT, PASSES, OBJECTIVE)
    assert found and isinstance(found[0], SequenceValues)
    return list(dict.fromkeys([*TRACES, *found[0].traces[1:]]))


def measured(traces: list[Trace], program: Program) -> tuple[str, Floats, Floats] | None:
    """Try traces at a program: its machine, float64[traces] gains and times; None if it cannot be compiled.

    Gains are shares of the level's bytes, at least 0; times are in units of the level's.
    """
    try:
        session = TASK.open(program)
        machine = machine_of(code_of(session).opened.module.triple)
        reference, level_took = _tried(session, (LEVEL,))
        tried = [_tried(session, trace) for trace in traces]
    except BurnishError as error:
        print(f"{program.name}: left out: {error}", file=sys.stderr)
        return None
    costs, took = np.array(tried).T
    return machine, (1 - costs / reference).clip(0), took / level_took


def _tried(session: Session, trace: Trace) -> tuple[float, float]:
    """Return the cost after a trace, infinite if LLVM fails, and its time in seconds."""
    began = time.process_time()
    try:
        one = session.fork()
        replay_legal(one, trace)
        cost = one.measure(OBJECTIVE)
    except BurnishError:
        cost = math.inf
    return cost, time.process_time() - began


def main() -> None:
    """Choose traces, and print them as JSON, with the gains of the first ones together."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, help="the corpus; default: a cache")
    parser.add_argument("--programs", type=int, default=57)
    parser.add_argument("--most", type=int, default=4000, help="instructions of a program")
    parser.add_argument("--size", type=int, default=3, help="traces that are kept")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    traces = candidates()
    programs = programs_of(options.folder or default_folder(), options.programs, options.most)
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = [row for row in pool.map(partial(measured, traces), programs) if row]
    gains = np.array([gains for _, gains, _ in rows]).T / len(rows)
    times = np.mean([took for _, _, took in rows], axis=0)
    further = (gains - gains[0]).clip(0)
    chosen, added = greedy_cover(further, options.size - 1, time=times)
    sums = np.cumsum([gains[0].sum(), *added])
    print(f"{len(rows)} programs:", [f"{-100 * gain:.2f} %" for gain in sums], file=sys.stderr)
    json.dump({rows[0][0]: [traces[row] for row in (0, *chosen)]}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
