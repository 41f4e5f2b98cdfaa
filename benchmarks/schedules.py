"""Schedules of linalg programs beside torch, torch.compile, IREE and JAX: one thread, one run, in turns.

    python -m pip install -c constraints.txt -r benchmarks/mlir_schedules/requirements.txt
    python benchmarks/schedules.py [--traces found.jsonl] [--out runs/schedules]
    python benchmarks/schedules.py --groups matmul,conv --only 'conv2d:*' --peers torch,iree --rounds 30
    python benchmarks/schedules.py --budget 60 --method mixed@shipped
    python benchmarks/schedules.py --only models.py:convnext --budget 60 --method mixed@shipped --peers torch
    python benchmarks/schedules.py --groups channels-first,memory --budget 12 --method mixed@shipped
    python benchmarks/schedules.py --show runs/schedules --log runs/mlir/log.jsonl

Cases: held-out programs of each family, matmuls of 512 and of 1024, and four networks with a batch of 1:
ResNet-18, MobileNet, a layer of BERT, a block of GPT-2. --only also takes any other program of a family, and
any torch module: the name of a function in a file that returns the module and its input. The groups
channels-first and memory are listed programs, only on demand: batches of images, and tensors in no cache.
Ours: a trace for each program, from rows that `burnish optimize --result` wrote (--traces), found by a search
(--budget), or written by hand (a few, for AVX2). A program without a trace gets its naive lowering, which is
measured for every program.
Peers: torch op by op, in either memory format; torch.compile with constant weights; IREE with the program's
own text, for this processor, in the caller's thread, with and without data tiling; JAX, compiled; NumPy.
The fastest form counts. The peers' work before the first call is not timed: compilation, another layout of
weights. Every result is compared with NumPy's in double precision. Forms that differ or fail are listed and
left out.

In a round each contender runs one batch of calls, of 2 ms or more, after an untimed batch of the same length;
the order is random. Contenders with calls of 0.2 s or more are in the first 3 rounds only. Times are CPU time
of all threads of the process, which has one core. The tables have medians over the rounds and their ratios.
Ours is timed in a loop of machine code, called from Python like the peers (`called`), and as the C function
of a shared object (`linked`). The folder gets rows.jsonl, table.txt and ratios.svg.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kit.one_thread import restart

if __name__ == "__main__":
    restart()  # before NumPy is loaded

import numpy as np
from kit.rounds import of_call, of_kernel, take_turns
from kit.shown import forms_table
from mlir_schedules import tables
from mlir_schedules.benches import Bench, open_bench
from mlir_schedules.cases import GROUPS, Case, choose
from mlir_schedules.linked import load_linked
from mlir_schedules.peers import PEERS, forms, load, versions
from mlir_schedules.rows import CALLED, LINKED, NAIVE, OURS, Row
from mlir_schedules.traces import NONE, Found, by_hand, read_traces, scheduled, searched
from rich.console import Console

from burnish.core.errors import BurnishError
from burnish.core.program import Program
from burnish.tasks.mlir_schedules.api.callables import ScheduledFunction
from burnish.tasks.mlir_schedules.bindings import version
from burnish.tasks.mlir_schedules.kernel import CompiledSchedule
from burnish.tasks.mlir_schedules.reference.work import flops
from burnish.tasks.tensors.machine import host

Scheduler = Callable[[Program], Found]


@dataclass(frozen=True)
class Planned:
    """A case with its trace."""

    bench: Bench
    found: Found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    peers = [name for name in options.peers.split(",") if name]
    if options.show:
        show(Row.read(options.show / "rows.jsonl"), peers, options.show, options.log)
        return 0
    scheduler = scheduler_of(options)
    cases = choose(options.groups.split(","), options.only)
    planned = [plan(case, scheduler) for case in cases]  # before the peers and their threads
    for peer in peers:
        load(peer)
    options.out.mkdir(parents=True, exist_ok=True)
    rows = []
    with (options.out / "rows.jsonl").open("w") as file:
        for one in planned:
            rows.append(measure(one, peers, options.rounds))
            file.write(rows[-1].to_json() + "\n")
            file.flush()
            print(f"{one.bench.case.name}: measured", file=sys.stderr)
    show(rows, peers, options.out, options.log)
    return 0


def scheduler_of(options: argparse.Namespace) -> Scheduler:
    """Return a function that finds a program's trace: in --traces, else by search or by hand.

    Raises:
        InputError: there is no such file, or its rows are not results.
    """
    known = [read_traces(options.traces)] if options.traces else []

    def scheduler(program: Program) -> Found:
        for traces in (*known, *([] if options.budget else [by_hand()])):
            if found := traces.find(program):
                return found
        return searched(program, options.method, options.budget) if options.budget else Found((), NONE)

    return scheduler


def plan(case: Case, scheduler: Scheduler) -> Planned:
    """Schedule a case."""
    bench = open_bench(case)
    found = scheduler(bench.program)
    print(f"{case.name}: {found.origin}, {len(found.trace)} actions, {found.seconds:.1f} s", file=sys.stderr)
    return Planned(bench, found)


def measure(planned: Planned, peers: Sequence[str], rounds: int) -> Row:
    """Check and time all contenders on a case.

    Raises:
        Miscompiled: a schedule's result differs from NumPy's.
        LoweringFailed: MLIR cannot lower a schedule to code.
    """
    bench, failed = planned.bench, dict[str, str]()
    arrays = bench.trial.arrays
    naive = CompiledSchedule(scheduled(bench.program, ()).payload)
    function = ScheduledFunction(bench.program, planned.found.trace)
    for compiled in (naive, function.compiled):
        bench.trial.check(compiled)
    inputs, outputs = bench.trial.inputs, bench.trial.outputs
    linked = load_linked(function.compiled, arrays)
    linked()
    bench.check(outputs[0], LINKED)
    contenders = {
        NAIVE: of_kernel(naive, arrays),
        OURS: of_kernel(function.compiled, arrays),
        CALLED: of_call(partial(function, *inputs, out=outputs)),
        LINKED: of_call(linked),
    }
    for peer in peers:
        for form in forms(peer, bench, failed):
            contenders[form.name] = of_call(form.call)
    return Row(
        case=bench.case.name,
        group=bench.case.group,
        split=bench.case.split,
        digest=bench.program.digest,
        flops=flops(bench.text),
        machine=_machine(peers),
        trace=planned.found.trace,
        origin=planned.found.origin,
        samples=take_turns(contenders, rounds),
        failed=failed,
    )


def show(rows: Sequence[Row], peers: Sequence[str], folder: Path, log: Path | None = None) -> None:
    """Print and write the tables, and draw the picture."""
    from mlir_schedules.pictures import draw

    with (folder / "table.txt").open("w") as file:
        for console in (Console(width=200), Console(file=file, width=200)):
            failures = tables.failures_table(rows)
            ends = [forms_table(rows, peers), *([failures] if failures else [])]
            for table in (
                *tables.cases_tables(rows, peers),
                *ends,
                tables.means_table(rows, peers),
                tables.alone_table(rows, peers),
                tables.floors_table(rows),
            ):
                console.print(table)
    draw(rows, peers, folder / "ratios.svg", _read_log(log) if log else ())


def _read_log(path: Path) -> list[dict[str, Any]]:
    from burnish.learning.training.track import read_log

    return read_log(path)


def _machine(peers: Sequence[str]) -> dict[str, Any]:
    known = {"numpy": np.__version__, "mlir": version(), **versions(list(peers))}
    return {"cpu": host().cpu, "vector_bytes": host().vector_bytes, "versions": known}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--groups", default=",".join(GROUPS), help="by commas (default: %(default)s)")
    parser.add_argument("--only", default="*", help="patterns of names, or names, by commas")
    parser.add_argument("--peers", default=",".join(PEERS), help="by commas (default: %(default)s)")
    parser.add_argument("--traces", type=Path, help="rows of burnish optimize --result")
    parser.add_argument("--budget", type=float, help="seconds of search for each program that has no trace")
    parser.add_argument("--method", default="genetic", help="of burnish evaluate (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=15, help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs/schedules"), help="(default: %(default)s)")
    parser.add_argument("--log", type=Path, help="of a training, whose curve is drawn")
    parser.add_argument("--show", type=Path, metavar="FOLDER", help="print and draw what was measured before")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BurnishError as error:
        sys.exit(str(error))
