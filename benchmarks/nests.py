"""Loop nests beside NumPy, torch, Numba and JAX: one thread, one run, in turns with a probe of the peak.

    python -m pip install --constraint constraints.txt --requirement benchmarks/loop_nests/requirements.txt
    python benchmarks/nests.py [--schedule loops@shipped] [--out runs/nests]
    python benchmarks/nests.py --cases nests --only 'conv*,stencil*' --rounds 30 --seconds 1
    python benchmarks/nests.py --peers numpy,torch --schedule burnish.example:function

Cases: 20 held-out matmuls of 64 to 256, those of 512 and 1024, a held-out nest of each of 20 other kinds, and
`own`: ten expressions whose kinds no policy has seen.
Ours: a schedule found without measuring (`policy`), and one after --seconds of measuring (`refined`). Peers:
every way in which a user would write a case (`loop_nests/*_forms.py`); the fastest one counts. Their work
before the first call is not timed: compilation, another layout of weights. Every result is compared with
burnish's reference in double precision. Arrays begin at multiples of 64 bytes.

In a round each contender runs one batch of calls, of 2 ms or more, after an untimed batch of the same length;
the order is random. Times are CPU time of all threads of the process, which has one core. The tables have
medians over the rounds and their ratios. Ours is timed in a loop of machine code, and called from Python
(`called`). Peers are called from Python, so the time of a call with next to no work is measured, too. The
folder gets rows.jsonl, table.txt and ratios.svg.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.one_thread import restart

if __name__ == "__main__":
    restart()  # before NumPy is loaded

import numpy as np
from kit.rounds import of_call, of_kernel, take
from kit.shown import forms_table
from loop_nests import tables
from loop_nests.cases import MATMULS, SMALLEST, Case, choose
from loop_nests.peers import PEERS, forms, load, versions
from loop_nests.pictures import draw_ratios
from loop_nests.rows import CALLED, PEAK, POLICY, REFINED, Row
from loop_nests.schedules import LOOPS, Scheduler, scheduler_of
from rich.console import Console

from burnish.core.errors import BurnishError
from burnish.loops import CompiledKernel
from burnish.tasks.loop_nests.api.schedule import Schedule
from burnish.tasks.loop_nests.kernel import Bench, CompiledNest
from burnish.tasks.loop_nests.peak import PeakProbe
from burnish.tasks.loop_nests.tree import Tree, naive
from burnish.tasks.tensors.machine import host


@dataclass(frozen=True)
class Planned:
    """A case with its schedules, and the seconds that finding each took."""

    case: Case
    schedules: Mapping[str, tuple[Tree, float]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    scheduler, peers = scheduler_of(options.schedule), options.peers.split(",")
    cases = choose(options.cases.split(","), options.only, options.matmuls)
    options.out.mkdir(parents=True, exist_ok=True)
    planned = [Planned(Case(SMALLEST, "call"), _untouched(Case(SMALLEST, "call")))]
    for case in cases:  # before the peers are loaded, so that none of their threads runs meanwhile
        planned.append(plan(case, scheduler, options.seconds))
        print(f"{case.name}: scheduled in {planned[-1].schedules[REFINED][1]:.2f} s", file=sys.stderr)
    for peer in peers:
        load(peer)
    probe, rows = PeakProbe(host()), []
    with (options.out / "rows.jsonl").open("w") as file:
        for one in planned:
            rows.append(measure(one, peers, probe, options.rounds))
            file.write(rows[-1].to_json() + "\n")
            file.flush()
            print(f"{one.case.name}: measured", file=sys.stderr)
    show(rows, peers, options.out)
    return 0


def plan(case: Case, scheduler: Scheduler, seconds: float) -> Planned:
    """Schedule a case without measuring, and with some seconds of measuring."""
    return Planned(case, {POLICY: scheduler(case.nest, 0.0), REFINED: scheduler(case.nest, seconds)})


def measure(planned: Planned, peers: Sequence[str], probe: PeakProbe, rounds: int) -> Row:
    """Check and time all contenders on a case.

    Raises:
        Miscompiled: a result differs from burnish's reference.
    """
    case, nest, bench = planned.case, planned.case.nest, Bench(planned.case.nest)
    contenders = {PEAK: probe.seconds}
    for name, (tree, _) in planned.schedules.items():
        compiled = CompiledNest(tree, host())
        bench.check(compiled)
        contenders[name] = of_kernel(compiled, bench.arrays)
        contenders[CALLED[name]] = of_call(_called(compiled, bench))
    for peer in peers:
        for form in forms(peer, case.family, bench):
            contenders[f"{peer}/{form.name}"] = of_call(form.call)
    return Row(
        case=case.name,
        group=case.group,
        split=case.split,
        nest=str(nest),
        flops=nest.flops,
        peak_flops=probe.flops,
        machine=_machine(peers),
        schedules={
            name: {"tree": str(tree), "seconds": seconds}
            for name, (tree, seconds) in planned.schedules.items()
        },
        samples=take(contenders, rounds),
    )


def show(rows: Sequence[Row], peers: Sequence[str], folder: Path) -> None:
    """Print and write the tables, and draw the picture."""
    shown = [row for row in rows if row.group != "call"]
    with (folder / "table.txt").open("w") as file:
        for console in (Console(width=200), Console(file=file, width=200)):
            console.print(tables.cases_table(shown, peers))
            console.print(forms_table(shown, peers))
            console.print(tables.floors_table(shown))
            console.print(tables.overhead(rows, peers))
    draw_ratios(rows, peers, folder / "ratios.svg")


def _called(compiled: CompiledNest, bench: Bench) -> Callable[[], Any]:
    kernel = CompiledKernel(bench.nest, Schedule(()), compiled)  # a call does not use the trace
    (output,) = kernel.outputs
    inputs, out = [bench.arrays[name] for name in kernel.inputs], bench.arrays[output]
    return lambda: kernel(*inputs, out=out)


def _untouched(case: Case) -> dict[str, tuple[Tree, float]]:
    return dict.fromkeys((POLICY, REFINED), (naive(case.nest), 0.0))


def _machine(peers: Sequence[str]) -> dict[str, Any]:
    return {
        "cpu": host().cpu,
        "vector_bytes": host().vector_bytes,
        "versions": {"numpy": np.__version__, **versions(peers)},
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", default="matmul,nests,own", help="by commas (default: %(default)s)")
    parser.add_argument("--only", default="*", help="patterns of their names, by commas")
    parser.add_argument("--matmuls", type=int, default=MATMULS, help="of 64 to 256 (default: %(default)s)")
    parser.add_argument("--peers", default=",".join(PEERS), help="by commas (default: %(default)s)")
    parser.add_argument(
        "--schedule",
        default=LOOPS,
        help="loops, loops@policy, naive, a method of `burnish evaluate`, module:function; %(default)s",
    )
    parser.add_argument("--seconds", type=float, default=1, help="of refinement (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=20, help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs/nests"), help="(default: %(default)s)")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BurnishError as error:
        sys.exit(str(error))
