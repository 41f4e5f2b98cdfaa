"""LoopTune's table: searches and the policy at equal time on its matmuls, against the naive loops.

    python benchmarks/loop_searches.py [--seconds 1] [--out runs/loop_searches]
    python benchmarks/loop_searches.py --methods greedy-1,beam-2-dfs,random --policy loops@shipped
    python benchmarks/loop_searches.py --trained runs/loops-ppo/policy.npz,runs/loops-dqn/policy.npz
    python benchmarks/loop_searches.py --methods "" --policy "" --trained runs/loops-ppo/policy.npz

Cases: held-out matmuls of 64 to 256. Each method of `burnish evaluate` gets the same seconds, which include
the start of its worker process. `policy` is the policy's first schedule, without any measurement; `policy,
refined` gets the searches' seconds. `--trained` action policies do not measure either: each takes the most
probable action in every state, and its row has the name of its run's folder. Each schedule found is compiled
again, compared with NumPy, and timed in turns with the naive loops, on one core. The table has the geometric
mean of the speed-ups over the cases and the median search seconds. It also has LoopTune's speed-ups (arXiv
2309.01825) over its own default on 25 matmuls of this range, from its GFLOP/s: 68.8 by its policy, 22.8 by
default.

The folder gets rows.jsonl, table.txt and speedups.svg: curves of the best so far, as the methods measured it,
and a point for each final result. Existing rows are not measured again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from kit.one_thread import restart

if __name__ == "__main__":
    restart()  # before NumPy is loaded

from kit.rounds import of_kernel, take
from kit.rows import mean
from loop_nests.cases import Case, choose
from loop_nests.pictures import draw_speedups
from loop_nests.schedules import LOOPS, played, scheduler_of, searched
from rich.console import Console
from rich.table import Table

from burnish.core.errors import BurnishError
from burnish.search import SEARCHES
from burnish.tasks.loop_nests.kernel import Bench, CompiledNest
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.tree import Tree, naive
from burnish.tasks.tensors.machine import host

LOOPTUNE = (  # method, seconds, speed-up over LoopTune's default schedule
    ("LoopTune's policy", 0.38, 3.04),
    ("LoopTune's greedy-2", 5.0, 1.43),
    ("LoopTune's random", 60.0, 1.84),
    ("LoopTune's beam-4", 62.0, 1.86),
)
OF_LOOPTUNE = ("greedy", "beam-", "random")  # name prefixes of the searches that LoopTune has
POLICY, REFINED = "policy", "policy, refined"
Curve = list[tuple[float, float]]
"""Pairs of seconds since the beginning and the cost of the best so far."""


@dataclass(frozen=True)
class Row:
    """The result of a method on a case."""

    case: str
    split: str
    method: str
    seconds: float  # of the search
    curve: Curve
    tree: str
    naive_samples: Sequence[float]
    samples: Sequence[float]

    @property
    def speedup(self) -> float:
        """The naive loops' median time divided by this method's."""
        return statistics.median(self.naive_samples) / statistics.median(self.samples)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    cases = [case for case in choose(["matmul"], options.only, options.matmuls) if case.group == "matmul"]
    trained = {Path(path).parent.name: Path(path) for path in options.trained.split(",") if path}
    methods = [method for method in options.methods.split(",") if method]
    methods += [*((POLICY, REFINED) if options.policy else ()), *trained]
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "rows.jsonl"
    rows = read(path) if path.exists() else []
    done = {(row.case, row.method) for row in rows}
    with path.open("a") as file:
        for case in cases:
            for method in methods:
                if (case.name, method) in done:
                    continue
                found = played(trained[method], case.nest) if method in trained else None
                rows.append(measure(case, method, options, found))
                file.write(json.dumps(asdict(rows[-1])) + "\n")
                file.flush()
                print(f"{case.name} {method}: {rows[-1].speedup:.1f}", file=sys.stderr)
    chosen = [row for row in rows if row.method in methods and row.case in {case.name for case in cases}]
    show(chosen, methods, options.out)
    return 0


def measure(
    case: Case, method: str, options: argparse.Namespace, found: tuple[Tree, float] | None = None
) -> Row:
    """Run a method on a case, or take `found`, and time the schedule in turns with the naive loops."""
    tree, seconds, curve = (*found, []) if found else _found(case.nest, method, options)
    bench = Bench(case.nest)
    contenders = {}
    for name, loops in (("naive", naive(case.nest)), (method, tree)):
        compiled = CompiledNest(loops, host())
        bench.check(compiled)
        contenders[name] = of_kernel(compiled, bench.arrays)
    samples = take(contenders, options.rounds)
    return Row(case.name, case.split, method, seconds, curve, str(tree), samples["naive"], samples[method])


def read(path: Path) -> list[Row]:
    """Return the rows of a file."""
    return [Row(**json.loads(line)) for line in path.read_text().splitlines()]


def show(rows: Sequence[Row], methods: Sequence[str], folder: Path) -> None:
    """Print and write the table, and draw the picture."""
    table = Table(title="times faster than the naive loops, geometric mean", title_justify="left")
    for name in ("method", "seconds", "speedup", "least", "most", "cases"):
        table.add_column(name, justify="left" if name == "method" else "right")
    of = {method: [row for row in rows if row.method == method] for method in methods}
    points = {method: _point(found) for method, found in of.items()}
    for method, (seconds, speedup) in sorted(points.items(), key=lambda item: -item[1][1]):
        each = [row.speedup for row in of[method]]
        ends = (f"{min(each):.1f}", f"{max(each):.1f}", str(len(each)))
        table.add_row(method, f"{seconds:.3f}", f"{speedup:.1f}", *ends)
    for name, spent, speedup in LOOPTUNE:
        table.add_row(name, str(spent), str(speedup))
    with (folder / "table.txt").open("w") as file:
        for console in (Console(width=120), Console(file=file, width=120)):
            console.print(table)
    curves = {method: curve_of(found) for method, found in of.items()}
    draw_speedups(curves, points, LOOPTUNE, folder / "speedups.svg")


def curve_of(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Return the cases' geometric mean speed-up at each improvement of one; a case starts with 1."""
    times = sorted({seconds for row in rows for seconds, _ in row.curve})
    return [(seconds, mean(_so_far(row, seconds) for row in rows)) for seconds in times]


def _so_far(row: Row, seconds: float) -> float:
    costs = [cost for at, cost in row.curve if at <= seconds]
    return statistics.median(row.naive_samples) / min(costs) if costs else 1.0


def _point(rows: Sequence[Row]) -> tuple[float, float]:
    return statistics.median(row.seconds for row in rows), mean(row.speedup for row in rows)


def _found(nest: Nest, method: str, options: argparse.Namespace) -> tuple[Tree, float, Curve]:
    if method not in (POLICY, REFINED):
        return searched(method, nest, options.seconds)
    tree, seconds = scheduler_of(options.policy)(nest, options.seconds if method == REFINED else 0.0)
    return tree, seconds, []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ",".join(name for name in SEARCHES if name.startswith(OF_LOOPTUNE))
    parser.add_argument("--methods", default=known, help="by commas (default: %(default)s)")
    parser.add_argument("--policy", default=LOOPS, help="as nests.py --schedule; '' for none")
    parser.add_argument("--trained", default="", metavar="FILES", help="policies of actions, by commas")
    parser.add_argument("--seconds", type=float, default=1, help="of each (default: %(default)s)")
    parser.add_argument("--matmuls", type=int, default=10, help="(default: %(default)s)")
    parser.add_argument("--only", default="*", help="patterns of their names, by commas")
    parser.add_argument("--rounds", type=int, default=10, help="(default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("runs/loop_searches"), help="(default: %(default)s)")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BurnishError as error:
        sys.exit(str(error))
