"""burnish demo: optimization of a real project, fetched from the package index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from burnish.cli.jobs.job import Job, SearchSettings, search_job, write_output
from burnish.cli.show.results_table import results_table
from burnish.console.command_parser import CommandParser
from burnish.console.progress import SearchProgress
from burnish.console.table_forms import add_table_form, form_of
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.evaluation import Callbacks
from burnish.files import default_cache, write_atomically
from burnish.llvm.corpora import demo_units
from burnish.search import Budget
from burnish.tasks.llvm_passes import LANGUAGE, TASK


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = CommandParser(
        prog="burnish demo",
        description="Fetch the C library zopfli, optimize its files for size, and compare with clang.",
    )
    parser.add_argument(
        "--directory", type=Path, default=Path("demo"), help="folder for the objects; default: demo"
    )
    parser.add_argument(
        "--sources", type=Path, default=default_cache(), help="folder for downloads; default: a cache"
    )
    parser.add_argument("--budget", default="8s", help="for each file; default: 8s")
    add_table_form(parser)
    options = parser.parse(arguments)
    form = form_of(options)
    settings = SearchSettings(Budget.parse(options.budget), "loaded-bytes")
    units = demo_units(options.sources)
    form.note(f"{len(units)} C files of {units[0].package}; {settings.budget.text} of search for each")
    options.directory.mkdir(parents=True, exist_ok=True)
    results: list[Result] = []
    for unit in units:
        program = Program(unit.path, LANGUAGE, unit.compile())
        variants = {"O0": Program(unit.path, LANGUAGE, unit.compile("O0"))}
        output = options.directory / Path(unit.path).with_suffix(".o").name
        job = Job(program, (), output, variants=variants)
        with SearchProgress(program.name, TASK.label(TASK.reference)) as line:
            callbacks = Callbacks(line.reference, line, line.note)
            results.append(search_job(TASK, job, settings, callbacks))
        write_output(TASK, job, results[-1], settings.limits)
    rows = "".join(f"{result.to_json()}\n" for result in results)
    write_atomically(options.directory / "results.jsonl", rows.encode())
    results_table(results, TASK, form)
    form.note(f"objects and results.jsonl are in {options.directory}")
    return 0 if all(result.valid for result in results) else 1
