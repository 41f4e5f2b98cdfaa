"""burnish demo: a real project, from the package index to a table."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from burnish.cli.optimize import Job, write_output
from burnish.cli.progress import SearchProgress
from burnish.cli.tables import results_table
from burnish.core.program import Program
from burnish.corpora import demo_units
from burnish.evaluation import optimize
from burnish.files import write_atomically
from burnish.search import Budget
from burnish.tasks.llvm_passes import LANGUAGE, TASK


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="burnish demo",
        description="Fetch the C library zopfli, optimize its files for size, and compare with clang.",
    )
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "burnish"
    parser.add_argument("--directory", type=Path, default=Path("demo"), help="for the objects; default: demo")
    parser.add_argument("--sources", type=Path, default=cache, help="for what is fetched; default: a cache")
    parser.add_argument("--budget", default="8s", help="for each file; default: 8s")
    options = parser.parse_args(arguments)
    budget = Budget.parse(options.budget)
    units = demo_units(options.sources)
    print(f"{len(units)} C files of {units[0].package}; {options.budget} of search for each")
    options.directory.mkdir(parents=True, exist_ok=True)
    results = []
    for unit in units:
        program = Program(unit.path, LANGUAGE, unit.compile())
        variants = {"O0": Program(unit.path, LANGUAGE, unit.compile("O0"))}
        with SearchProgress(Path(unit.path).name, TASK.reference, quiet=False) as progress:
            result = optimize(
                TASK,
                program,
                objective="text-bytes",
                budget=budget,
                variants=variants,
                on_reference=progress.reference,
                progress=progress,
            )
        output = options.directory / Path(unit.path).with_suffix(".o").name
        write_output(TASK, Job(program, (), output), result)
        results.append(result)
    write_atomically(
        options.directory / "results.jsonl", "".join(f"{result.to_json()}\n" for result in results).encode()
    )
    results_table(results)
    print(f"objects and results.jsonl are in {options.directory}")
    return 0 if all(result.valid for result in results) else 1
