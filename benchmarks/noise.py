"""The spread when a program is timed against itself, and the rate of false verdicts of a difference.

    python benchmarks/noise.py                               a table of kernels, 40 comparisons each
    python benchmarks/noise.py --comparisons 400 --kernels fft@small --repeats 10
    python benchmarks/noise.py --neighbours 2                while two other processes compute

For each kernel clang's -O3 executable is compared with itself, as `burnish compare` compares a result with
a baseline. `one run`: the 90th percentile of single runs over the shortest. `round`: the standard deviation
of the logarithm of a round's ratio. `interval`: the median half-width of a comparison's interval; smaller
gains are not detected. `errs`: how often the interval excludes 1; this should be 1 - confidence at most.
`called`: how often the verdict was `faster` or `slower`; each such verdict is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import log
from pathlib import Path

import numpy as np

from burnish.core.program import Run
from burnish.evaluation.timing import NO_DIFFERENCE, Comparison, Effort, compare_times, run_clock
from burnish.llvm.corpora.kernels import kernel_names, load_kernel
from burnish.llvm.modules.session import open_baseline
from burnish.llvm.run import link
from burnish.llvm.run.folder import temporary_folder

KERNELS = ("fft@medium", "hashtable@medium", "lu@medium", "quicksort@medium", "sha256@medium", "fft@small")


@dataclass
class Seen:
    """The measurements and results of a kernel's comparisons."""

    seconds: list[list[float]]  # [comparison][run], in order
    comparisons: list[Comparison]


def main() -> None:
    """Compare kernels with themselves and print a table."""
    options = _parser().parse_args()
    names = kernel_names() if options.kernels == "all" else options.kernels.split(",")
    effort = Effort(options.repeats, options.confidence)
    print(f"{options.comparisons} comparisons of {options.repeats} rounds, confidence {options.confidence:g}")
    print(f"{'kernel':20} {'ms':>8} {'one run':>8} {'round':>7} {'interval':>9} {'errs':>14} {'called':>10}")
    wrong = errs = total = 0
    with _neighbours(options.neighbours):
        for name in names:
            seen = compare_with_itself(name, effort, options.comparisons)
            errs += sum(not item.low <= 1 <= item.high for item in seen.comparisons)
            wrong += sum(item.verdict != NO_DIFFERENCE for item in seen.comparisons)
            total += len(seen.comparisons)
            print(_row(name, seen), flush=True)
    print(f"all: errs in {errs} of {total} ({errs / total:.1%}), called {wrong} ({wrong / total:.1%})")


def compare_with_itself(name: str, effort: Effort, comparisons: int) -> Seen:
    """Compare a kernel's executable at -O3 with itself `comparisons` times."""
    program = load_kernel(name)
    assert program.workload
    seen = Seen([], [])
    measure = run_clock(program.workload)

    def clock(executable: Path, run: Run) -> float:
        seen.seconds[-1].append(measure(executable, run))
        return seen.seconds[-1][-1]

    with temporary_folder() as folder:
        path = link(open_baseline(program, "O3").object_code(), program.workload, folder / "program")
        for seed in range(comparisons):
            seen.seconds.append([])
            chosen = Effort(effort.repeats, effort.confidence, seed)
            seen.comparisons.append(compare_times(path, path, program.workload, effort=chosen, clock=clock))
    return seen


def _row(name: str, seen: Seen) -> str:
    runs = np.array(seen.seconds)[:, 6:]  # without the warm-up round
    least = runs.min()
    rounds = runs.reshape(len(runs), -1, 6)
    # The order of a round is 0 1 2 2 1 0; the ratio is that of programs 0 and 1.
    ratios = np.log(np.minimum(rounds[..., 0], rounds[..., 5]) / np.minimum(rounds[..., 1], rounds[..., 4]))
    widths = [log(item.high / item.low) / 2 for item in seen.comparisons]
    errs = sum(not item.low <= 1 <= item.high for item in seen.comparisons)
    wrong = sum(item.verdict != NO_DIFFERENCE for item in seen.comparisons)
    count = len(seen.comparisons)
    return (
        f"{name:20} {1000 * least:8.2f} {np.quantile(runs, 0.9) / least:8.3f} {ratios.std():7.2%} "
        f"{statistics.median(widths):9.2%} {errs:6} ({errs / count:5.1%}) {wrong:3} ({wrong / count:4.1%})"
    )


@contextlib.contextmanager
def _neighbours(count: int) -> Iterator[None]:
    """Keep `count` other processes computing."""
    code = "import numpy as np\na = np.ones((400, 400))\nwhile True: a = a @ a / 400"
    environment = {"OPENBLAS_NUM_THREADS": "1"}
    started = [subprocess.Popen([sys.executable, "-c", code], env=environment) for _ in range(count)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", default=",".join(KERNELS), help="names with sizes, or all")
    parser.add_argument("--comparisons", type=int, default=40)
    parser.add_argument("--repeats", type=int, default=Effort.repeats)
    parser.add_argument("--confidence", type=float, default=Effort.confidence)
    parser.add_argument("--neighbours", type=int, default=0, help="processes that compute meanwhile")
    return parser


if __name__ == "__main__":
    main()
