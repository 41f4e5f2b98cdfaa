"""burnish demo: a real project, from the package index to a table."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from burnish.cli.jobs import Job, SearchSettings, optimize_job, write_results
from burnish.cli.tables import results_table
from burnish.core.program import Program
from burnish.corpora import demo_units
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
    settings = SearchSettings(Budget.parse(options.budget), "loaded-bytes")
    units = demo_units(options.sources)
    print(f"{len(units)} C files of {units[0].package}; {settings.budget.text} of search for each")
    options.directory.mkdir(parents=True, exist_ok=True)
    results = []
    for unit in units:
        program = Program(unit.path, LANGUAGE, unit.compile())
        variants = {"O0": Program(unit.path, LANGUAGE, unit.compile("O0"))}
        output = options.directory / Path(unit.path).with_suffix(".o").name
        job = Job(program, (), output, variants=variants)
        results.append(optimize_job(TASK, job, settings, quiet=False))
    write_results(options.directory / "results.jsonl", results)
    results_table(results, TASK)
    print(f"objects and results.jsonl are in {options.directory}")
    return 0 if all(result.valid for result in results) else 1
