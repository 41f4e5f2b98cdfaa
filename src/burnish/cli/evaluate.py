"""burnish evaluate: comparison of methods on programs, at equal time or evaluations."""

from __future__ import annotations

import argparse
import math
import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn

from burnish import _native
from burnish.cli.jobs.arguments import (
    DEST,
    add_engine,
    add_limits,
    add_task,
    announce_policy,
    check_engine,
    engine_of,
    given_settings,
    limits_of,
    programs_help,
)
from burnish.cli.jobs.shard_line import ShardLine
from burnish.cli.show.evaluate_folder import show_folder, show_rows, write_report
from burnish.console.command_parser import COUNT, SEED, CommandParser, share, whole_number
from burnish.console.numbers import duration_text
from burnish.console.progress import Bars
from burnish.console.table_forms import add_table_form, form_of
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.registry import task_for
from burnish.core.task import Task
from burnish.evaluation.budgets import BudgetRule
from burnish.evaluation.cases import Case, cases_of, sampled
from burnish.evaluation.compare import Attempt, Figures, MethodComparison, Refused, compare_methods
from burnish.evaluation.confirm import toolchain
from burnish.evaluation.leaderboard import Provenance, append_rows
from burnish.evaluation.rows import Row
from burnish.evaluation.run_folder import RunFolder
from burnish.evaluation.solvers import check_methods, with_series
from burnish.evaluation.statistics import CONFIDENCE
from burnish.evaluation.timing import Effort
from burnish.policies import find as policies

CHECK_SECONDS = 1.0  # to replay a result, for the estimate of the time left

ALWAYS = {"out", "methods", "budget", "seed", "confidence", "json", "format", "sort", "reverse"}
AGAIN = {"only", "worth", "training"}
"""Options that are used with or without --methods, and only without. All others are used only with it."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = _parser(arguments)
    options = parser.parse(arguments)
    if options.out is None:
        programs = [*options.programs, *options.split]
        missing = "--methods LIST and --out FOLDER" if programs and not options.methods else "--out FOLDER"
        raise InputError(f"expected {missing}; see burnish evaluate --help")
    command = shlex.join(["burnish", "evaluate", *map(_without_home, arguments)])
    given = {name for name, value in vars(options).items() if value != parser.get_default(name)}
    if options.methods is None:
        _refuse(
            given - ALWAYS - AGAIN,
            "expected --methods LIST, too; without methods, only an existing folder can be shown",
        )
        return show_folder(options, command)
    _refuse(given & AGAIN, "these options are only for showing an existing folder, without --methods")
    return _evaluate(options, command)


def _without_home(word: str) -> str:
    """Return a word of a command, its absolute path relative to this folder: reports are given away."""
    option, equals, path = word.rpartition("=")
    return f"{option}{equals}{os.path.relpath(path)}" if Path(path).is_absolute() else word


def _refuse(names: set[str], why: str) -> None:
    """Refuse options that would have no effect."""
    if names:
        words = ("PROGRAM" if name == "programs" else f"--{name.removeprefix(DEST)}" for name in names)
        raise InputError(f"{', '.join(sorted(words)).replace('_', '-')}: {why}")


def _parser(words: Sequence[str]) -> CommandParser:
    parser = CommandParser(
        prog="burnish evaluate",
        description="Compare methods on programs, at equal time or evaluations, on one core a program. "
        "The budget holds from the program's bytes to the trace. Every result is replayed "
        "in new processes and checked before it counts. A failure counts as the cost of "
        "the unoptimized program, and at least twice the reference. Without programs and "
        "methods, show an existing folder again, and write its report (report.html, which "
        "opens from disk) and its pictures. Exit code 1 if anything failed, 2 if a program "
        "could not be used; the others are compared.",
        epilog="Show the results of a run again: burnish evaluate --out FOLDER.",
    )
    add = parser.add_argument
    add("programs", nargs="*", default=[], metavar="PROGRAM", help=programs_help(words))
    add("--split", action="append", default=[], metavar="NAME", help="of the public corpus: train, val, test")
    add("--methods", metavar="LIST", help="searches, search@policy, search@folder and baselines, with commas")
    rule = "short (1 s, or 5 times what the reference takes), long (ten times that), 10s, 500 evaluations"
    again = "2s|5xREFERENCE (the longer); may be repeated; default: short, or all budgets of the folder"
    add("--budget", action="append", metavar="BUDGET", help=f"{rule}, {again}")
    out = "folder for the rows; a killed run resumes there"
    add("--out", type=Path, metavar="FOLDER", help=out)
    add("--objective", help="what to minimise; default: the task's first one")
    jobs = "programs at a time, each on its own core; default: 1"
    add("--jobs", type=COUNT, default=1, metavar="N", help=jobs)
    add_engine(parser)
    add("--sample", type=COUNT, metavar="N", help="take only N programs, drawn by the seed")
    add("--seed", type=SEED, default=0)
    add("--confidence", type=share, default=CONFIDENCE, help=f"of the intervals; default: {CONFIDENCE}")
    repeats = f"rounds of timed runs; default: {Effort.repeats}"
    add("--repeats", type=COUNT, default=Effort.repeats, help=repeats)
    append = "add an entry for each method and budget to this leaderboard"
    add("--append", type=Path, metavar="LEADERBOARD", help=append)
    add("--name", help="name of the entries, before the method if there are several; default: the method")
    add_table_form(parser, json="print one line of JSON for each mean, then for each pair")
    add_limits(parser)
    add_task(parser, words)
    add = parser.add_argument_group("budget of a folder that is shown again").add_argument
    add("--only", metavar="LIST", help="only these methods, in this order, with commas")
    worth = "measure the gain of each pass in N winning traces, drawn by the seed"
    add("--worth", type=whole_number(0), default=0, metavar="N", help=worth)
    training = "log.jsonl of burnish train; may be repeated"
    add("--training", type=Path, action="append", default=[], metavar="LOG", help=training)
    return parser


def _evaluate(options: argparse.Namespace, command: str) -> int:
    """Run all remaining attempts, and show the results."""
    check_engine(options)
    given = (*options.programs, *(f"corpus:{one}" for one in options.split))
    task = task_for(given, options.task)
    task = task.configured(given_settings(options, task), options.objective)
    plan = _plan(options, task)
    texts = [task.source().pinned(text) for text in given]
    if not texts:
        raise InputError(f"which programs? --split test, or names: {task.source().kinds}")
    cases = sampled(cases_of(texts, task), options.sample, options.seed)
    with closing(RunFolder(options.out, plan)) as folder:
        interrupted = _run(plan, cases, folder, options)
    rows = _rows_of(folder, plan, cases)
    form = None if options.json else form_of(options)
    if not rows and not interrupted:
        raise InputError(f"no program is left to compare: {_why_none(folder, cases)}")
    if rows or options.json:
        show_rows(rows, folder.refused, confidence=options.confidence, form=form)
    if rows and form:
        for setting in task.settings.settings:
            if setting.note and setting.name in task.options:
                form.note(setting.note.format(task.options[setting.name]))
        if not interrupted:
            report = write_report(
                options.out, rows, folder.refused, confidence=options.confidence, command=command
            )
            form.note(f"wrote {report}")
    if options.append and not interrupted:
        complete = len(rows) == len(cases) * len(plan.budgets) * len(plan.methods)
        _append(options, plan, texts, rows, complete=complete)
    if interrupted:
        print(f"Interrupted: {len(rows)} rows are kept; the same command resumes.")
    return 130 if interrupted else 2 if folder.refused else 1 if any(not row.valid for row in rows) else 0


def _plan(options: argparse.Namespace, task: Task) -> MethodComparison:
    """Return the plan of the evaluation; print a note on each policy made for another objective."""
    plan = MethodComparison(
        task=task,
        objective=task.objective(options.objective).name,
        methods=with_series(options.methods.split(",")),
        budgets=tuple(BudgetRule.parse(text, task) for text in options.budget or ["short"]),
        seed=options.seed,
        limits=limits_of(options),
        effort=Effort(options.repeats),
    )
    plan = replace(plan, policies=check_methods(plan.methods, task, plan.objective))
    for policy in dict.fromkeys(method.partition(policies.AT)[2] for method in plan.methods):
        if policy and not options.json:
            announce_policy(policy, task, plan.objective)
    return plan


def _run(
    plan: MethodComparison, cases: Sequence[Case], folder: RunFolder, options: argparse.Namespace
) -> bool:
    """Run all remaining attempts; return whether Ctrl-C ended the run."""

    def is_done(program: Program, attempt: Attempt) -> bool:
        return folder.is_done(program, attempt.method, attempt.rule.text, plan.seed)

    done = _rows_of(folder, plan, cases)
    if options.on in (None, "local", "submitit"):
        _check_machine(plan, folder)
    progress: EngineProgress | EvaluationProgress
    if options.on:
        from burnish.cluster.evaluating import compare_on

        rows_of = Counter(row.program for row in done)
        whole = list(rows_of.values()).count(len(plan.methods) * len(plan.budgets))
        progress = EngineProgress(len(cases) - whole, quiet=options.json)
        shards = options.out / "shards"
        results = compare_on(
            engine_of(options, shards),
            shards,
            plan,
            cases,
            is_done=is_done,
            known=folder.known,
            machine=folder.machine,
            progress=progress,
        )
    else:
        progress = EvaluationProgress(plan, len(cases), done, quiet=options.json)
        results = compare_methods(plan, cases, jobs=options.jobs, is_done=is_done, known=folder.known)
    with progress:
        try:
            for item in results:
                try:
                    folder.add(item)
                except InputError:
                    if isinstance(item, Row):  # which took time to compute
                        print(item.to_json(), flush=True)
                    raise
                progress.note(item)
        except KeyboardInterrupt:
            return True
        finally:
            results.close()
    return False


def _check_machine(plan: MethodComparison, folder: RunFolder) -> None:
    """Refuse to compare times of this machine with those of a folder from another kind of machine."""
    here = _native.host_machine().cpu
    if plan.timed and folder.machine not in ("", here):
        raise InputError(
            f"{folder.path}: has times of a {folder.machine}, and this machine is a {here}; these cannot be "
            "compared: take another folder, or a machine of the same kind"
        )


def _rows_of(folder: RunFolder, plan: MethodComparison, cases: Sequence[Case]) -> list[Row]:
    """Return a plan's rows for some programs, in the order of budgets, methods and programs."""
    by_key = {(row.budget, row.method, row.program): row for row in folder.rows.values()}
    keys = [
        (rule.text, method, case.name) for rule in plan.budgets for method in plan.methods for case in cases
    ]
    return [by_key[key] for key in keys if key in by_key]


def _why_none(folder: RunFolder, cases: Sequence[Case]) -> str:
    """Return the reason why there are no rows."""
    if not cases:
        return "no program was drawn; take a larger --sample"
    left_out = [f"{item.program} was left out: {item.reason}" for item in folder.refused]
    return "; ".join(left_out[:3]) + (f"; and {len(left_out) - 3} more" if len(left_out) > 3 else "")


def _append(
    options: argparse.Namespace,
    plan: MethodComparison,
    texts: Sequence[str],
    rows: Sequence[Row],
    *,
    complete: bool,
) -> None:
    """Append to a leaderboard, from a full set of rows only: missing rows could make a method look better."""
    if not complete:
        raise InputError(f"{options.append}: nothing was appended, as some programs have no rows")
    words = ["burnish", "evaluate", *texts, "--methods", options.methods]
    for rule in plan.budgets:
        words += ["--budget", rule.text]
    words += ["--objective", plan.objective, "--seed", str(plan.seed)]
    words += ["--on", options.on] if options.on else ["--jobs", str(options.jobs)]
    for setting in plan.task.settings.settings:
        if setting.name in plan.task.options:
            words.append(f"--{setting.option}")
            words += [] if setting.switch else [plan.task.options[setting.name]]
    words += ["--sample", str(options.sample)] if options.sample else []
    origin = Provenance(
        name=options.name or "",
        command=shlex.join(words),
        task=plan.task.id,
        options=plan.task.options,
        toolchain=toolchain(plan.task),
        programs=tuple(texts),
        sample=options.sample,
        confidence=options.confidence,
        policies=plan.policies,
    )
    for entry in append_rows(options.append, rows, origin):
        said = f"{options.append}: {entry.name}, {entry.budget}: {entry.ratio:.4f}"
        if options.json:
            print(said, file=sys.stderr)
        else:
            form_of(options).note(said)


class EngineProgress(ShardLine):
    """The live line on an engine, with the programs that are left out above it."""

    def note(self, item: Row | Figures | Refused) -> None:
        """Show a new item."""
        if isinstance(item, Refused):
            self.say(f"{item.program}: left out: {item.reason}")


class EvaluationProgress(Bars):
    """Rows, time left, and each method's mean so far: a bar on a terminal, occasional lines otherwise."""

    def __init__(self, plan: MethodComparison, programs: int, done: Sequence[Row], *, quiet: bool) -> None:
        text = TextColumn("{task.description}")
        columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), text
        super().__init__(*columns, quiet=quiet, log_seconds=60.0)
        self._weight = {rule.text: _weight(rule) for rule in plan.budgets}
        self._methods = len(plan.methods)
        self._left = programs * self._methods * sum(self._weight.values())
        self._left -= sum(self._weight[row.budget] for row in done)
        self._spent = 0.0
        self._logs: dict[tuple[str, str], list[float]] = {}
        for row in done:
            self._add(row)
        total = programs * self._methods * len(plan.budgets)
        self._bar = self._bars.add_task("", total=total, completed=len(done))

    def note(self, item: Row | Figures | Refused) -> None:
        """Show a new item."""
        if isinstance(item, Refused):
            self.say(f"{item.program}: left out: {item.reason}")
            self._left -= self._methods * sum(self._weight.values())
        if not isinstance(item, Row):
            return
        self._add(item)
        self._spent += self._weight[item.budget]
        self._left -= self._weight[item.budget]
        seconds = (time.monotonic() - self._start) / max(self._spent, 1e-9) * max(self._left, 0.0)
        text = f"{duration_text(seconds)} left  {self._means(item.budget)}"
        self._bars.update(self._bar, description=text, advance=1)
        task = self._bars.tasks[0]
        self._log(f"{task.completed:.0f}/{task.total:.0f} rows  {text}")

    def _add(self, row: Row) -> None:
        self._logs.setdefault((row.budget, row.method), []).append(math.log(row.ratio))

    def _means(self, budget: str) -> str:
        means = [
            f"{method} {math.exp(math.fsum(logs) / len(logs)):.4f}"
            for (of, method), logs in self._logs.items()
            if of == budget
        ]
        return f"{budget}: {', '.join(means)}"


def _weight(rule: BudgetRule) -> float:
    """Return the estimated time of a row, in seconds or another unit: only ratios matter."""
    return CHECK_SECONDS + ((rule.seconds or 1.0) if rule.timed else (rule.evaluations or 0) / 20)
