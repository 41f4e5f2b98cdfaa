"""burnish compare: results measured against baselines, with intervals that separate gains from noise."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from burnish.cli.jobs.results import Troubles, load_source, load_variants, read_results, task_of
from burnish.console.command_parser import COUNT, SEED, CommandParser, share
from burnish.console.numbers import ratio_text
from burnish.console.progress import SearchProgress
from burnish.console.table_forms import TableForm, add_table_form, form_of
from burnish.console.tables import Column, TextTable, heading_of, names, sentences, texts
from burnish.core.errors import InputError
from burnish.core.objective import parse_objective
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation.evaluate import Evaluated, MeanRatio, evaluate_result, ratio_of, summarise
from burnish.evaluation.timing import Comparer, Effort
from burnish.search.problem import Problem
from burnish.workers.worker import GIB, Limits

PATIENT = Limits(deadline_seconds=600.0, memory_bytes=8 * GIB)  # if another library compiles a network


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse(arguments)
    rows = [(row, path.parent) for path in options.results for row in read_results(path)]
    comparer = Comparer(Effort(options.repeats, options.confidence, options.seed))
    evaluated: list[Evaluated] = []
    task = task_of(rows[0][0])
    troubles = Troubles(len(rows))
    for row, beside in rows:
        with troubles:
            for item in _evaluate(row, beside, options, comparer):
                evaluated.append(item)
                if options.json:
                    print(json.dumps(asdict(item)), flush=True)
    if not evaluated:
        none = (
            "no program could be read" if troubles.any else f"--against {options.against!r} is not a baseline"
        )
        raise InputError(f"no result is left to compare: {none}")
    summaries = summarise(evaluated, confidence=options.confidence)
    if options.json:
        for summary in summaries:
            print(json.dumps({"summary": asdict(summary)}))
    else:
        shown = (*task.shown.objectives, parse_objective(rows[0][0].objective).unlimited)
        size = next((name for name in reversed(shown) if name in task.exact_objectives), None)
        _print(_Table(task, size, options.confidence), evaluated, summaries, form_of(options))
    return 2 if troubles.any else 1 if any(item.failure for item in evaluated) else 0


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish compare",
        description="Replay results in new processes, compare the programs' outputs with those of the "
        "unoptimized ones, and measure sizes and run times against baselines. Both take "
        "turns; a difference in time counts if its interval shows it. Exit code 1 if a "
        "result fails.",
        epilog="Methods are compared with each other by burnish evaluate.",
    )
    add = parser.add_argument
    add(
        "results",
        nargs="+",
        type=Path,
        metavar="RESULT",
        help="what burnish optimize wrote with --result or --json",
    )
    add(
        "--against",
        metavar="BASELINES",
        help="with commas; default: the reference of each result. Linalg programs also have torch, "
        "torch.compile and torch.jit",
    )
    add(
        "--original",
        default="",
        metavar="FILE.py:NAME",
        help="the module that the programs were imported from",
    )
    add("--repeats", type=COUNT, default=Effort.repeats, help=f"rounds of runs; default: {Effort.repeats}")
    add("--confidence", type=share, default=Effort.confidence, help=f"default: {Effort.confidence}")
    add("--seed", type=SEED, default=0, help="of the order of runs")
    add_table_form(parser, json="print one line of JSON for each comparison, then for each mean")
    return parser


def _evaluate(row: Result, beside: Path, options: argparse.Namespace, comparer: Comparer) -> list[Evaluated]:
    """Measure a result once more; `beside` is the folder of the result's file."""
    task = task_of(row).with_peers(options.original)
    named = task.reference if options.against is None else options.against
    against = [name for name in named.split(",") if name]
    program = load_source(row, beside)
    if program.digest != row.digest:
        problem = "the program differs from that of the result: it was changed since"
        return [Evaluated(row.program, name, problem) for name in against]
    limits = PATIENT if set(against) & task.checks.peers.keys() else Limits()
    with SearchProgress(row.program, task.label(task.reference), quiet=options.json) as progress:
        return evaluate_result(
            Problem(task, program, variants=load_variants(row, beside), limits=limits),
            row,
            against,
            comparer=comparer,
            note=progress.note,
        )


def _print(
    figures: _Table, evaluated: Sequence[Evaluated], summaries: Sequence[MeanRatio], form: TableForm
) -> None:
    table = TextTable(figures.columns)
    for number, item in enumerate(evaluated):
        for cells in figures.cells(item):
            table.add(*cells, group=number)
    if len(evaluated) > 1:
        table.end_section()
        for against in dict.fromkeys(summary.against for summary in summaries):
            for cells in figures.means([summary for summary in summaries if summary.against == against]):
                table.add_total(*cells, group=against)
    form.show(table)
    form.note("Ratios are the baseline's cost / the result's: above 1 the result is better.")
    repeats = sorted({seen.repeats for item in evaluated for seen in item.noisy.values()} - {0})
    if repeats:
        rounds = " or ".join(map(str, repeats))
        form.note(
            f"Times are of CPU, {rounds} rounds in turn; a mean's interval is over the programs. "
            f"If nothing differs, {1 - figures.confidence:.0%} of the verdicts may still report a difference."
        )
    for line in sentences((item.program, item.checks) for item in evaluated):
        form.note(line)
    failed = dict.fromkeys(item.program for item in evaluated if item.failure)
    if failed:
        form.note(f"{len(failed)} of {len({item.program for item in evaluated})} failed.")


@dataclass(frozen=True)
class _Table:
    """The rows of the table: an exact objective, the first result's if there is one, and the noisy ones."""

    task: Task
    size: str | None  # the exact objective
    confidence: float

    @property
    def columns(self) -> tuple[Column, ...]:
        """The table's columns."""
        return (
            names("program", once=True),
            names("against", once=True),
            Column(heading_of(self.task, self.size) if self.size else "", label="size", once=True),
            texts("", label="objective"),
            Column(f"ratio [{self.confidence:.0%}]"),
            texts("verdict"),
        )

    def cells(self, item: Evaluated) -> list[tuple[str, ...]]:
        """Return the rows of a comparison."""
        name, against = Path(item.program).name, self.task.label(item.against)
        if item.failure:
            return [(name, against, "", "", "", f"failed: {item.failure}")]
        size = ratio_of(item, self.size) if self.size else None
        first = (name, against, "" if size is None else f"{size:.3f}")
        if not item.noisy:
            return [(*first, "", "", "")]
        rows: list[tuple[str, ...]] = []
        for goal, seen in item.noisy.items():
            interval = ratio_text(seen.ratio, seen.low, seen.high)
            rows.append((*first, heading_of(self.task, goal), interval, seen.verdict))
        return rows

    def means(self, summaries: Sequence[MeanRatio]) -> list[tuple[str, ...]]:
        """Return rows for the means of the exact objective and the noisy ones, against one baseline."""
        by_goal = {summary.objective: summary for summary in summaries}
        size = by_goal.get(self.size or "")
        against = self.task.label(summaries[0].against)
        first = ("geometric mean", against, f"{size.ratio:.3f}" if size else "")
        rows: list[tuple[str, ...]] = []
        for goal, mean in by_goal.items():
            if mean.noisy:
                text = ratio_text(mean.ratio, mean.low, mean.high)
                rows.append((*first, heading_of(self.task, goal), text, _programs(mean)))
        return rows or [(*first, "", "", _programs(summaries[0]))]


def _programs(mean: MeanRatio) -> str:
    failed = f", {mean.failures} failed" if mean.failures else ""
    return f"{mean.programs} program{'' if mean.programs == 1 else 's'}{failed}"
