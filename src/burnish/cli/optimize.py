"""burnish optimize: optimization of programs by a search."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from burnish.cli.jobs.arguments import (
    add_engine,
    add_limits,
    add_task,
    announce_policy,
    check_engine,
    engine_of,
    given_goals,
    given_settings,
    limits_of,
    programs_help,
    split_at_dashes,
)
from burnish.cli.jobs.job import Job, SearchSettings
from burnish.cli.jobs.outputs import OutputPaths, check_not_in_the_way
from burnish.cli.jobs.results import RUN
from burnish.cli.jobs.runs import Item, KeptResults, OptimizeRun, Screen
from burnish.cli.jobs.shard_line import ShardLine
from burnish.cli.show.results_table import results_table
from burnish.console.command_parser import COUNT, SEED, CommandParser
from burnish.console.progress import Bars, SearchProgress
from burnish.console.table_forms import add_table_form, form_of
from burnish.core.errors import BurnishError, InputError
from burnish.core.objective import parse_objective
from burnish.core.program import Program
from burnish.core.registry import load_task, task_for
from burnish.core.task import Task
from burnish.evaluation import Callbacks, Strategy
from burnish.evaluation.report.graph_files import writer_of
from burnish.policies import find as policies
from burnish.search import DEFAULT, SEARCHES, Budget
from burnish.search import Progress as SearchState

LEAST_SECONDS, LEAST_EVALUATIONS = 2.0, 60  # smallest budgets for the longer task
OF_FRONT_END = ("-I", "-D", "-U", "-O", "-W", "-std=")


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, compiler = split_at_dashes(arguments)
    options = _parser(words).parse(words)
    shards = _shards_of(options)
    given = options.files
    task = task_for(given, options.task)
    goal_of = partial(task.goal, options.objective, given_goals(options, task))
    goal = goal_of()
    settings = given_settings(options, task)
    if setting := policies.setting_of(options.policy, task):  # a part of the task, not a guide
        settings[setting], options.policy = options.policy, policies.NONE
    task = task.configured(settings, goal)
    task = _longer(options, task, goal, given, compiler)
    options.files = list(dict.fromkeys(name for text in given for name in task.source().expand(text)))
    for line in dict.fromkeys(line for text in given for line in task.source().left_out(text)):
        print(f"burnish: left out: {line}", file=sys.stderr)
    asked = _settings(options, task, goal)
    if options.link:
        items = _linked(options, task, compiler, goal_of)
    else:
        items = _single(options, task, given, compiler, goal_of)
    if not (options.json or options.quiet):
        announce_policy(options.policy, task, asked.objective)
    kept = KeptResults(options.result, task, asked, resume=options.resume) if options.result else None
    with closing(kept) if kept else nullcontext():
        run = _run(options, task, asked, items, kept, shards)
    _report(run, options)
    if run.interrupted:
        return 130
    if any(isinstance(error, InputError) for error in run.errors.values()):  # a file could not be used
        return 2
    return 1 if run.errors or not all(result.valid for result in run.results.values()) else 0


def _longer(
    options: argparse.Namespace, task: Task, goal: str, given: Sequence[str], compiler: Sequence[str]
) -> Task:
    """Return the task's longer (staged) variant if the user named no task and the budget makes it worthwhile.

    The longer task's output may be valid only for clang's default code generation. So compiler options must
    be the front end's, and compilation databases are excluded, as their programs have options of their own.
    A memory, a graph or a policy belongs to one task, so these options exclude the longer task, too.
    """
    one = options.memory_file or options.graph or options.policy not in (policies.DEFAULT, policies.NONE)
    if options.task or task.options or one or not task.hints.longer:
        return task
    whole, budget = load_task(task.hints.longer), Budget.parse(options.budget)
    measured = parse_objective(goal).names
    both = (
        measured <= set(whole.objectives)
        and (options.output is None or options.output.suffix in ("", *whole.files.emitters))
        and ((budget.seconds or 0) >= LEAST_SECONDS or (budget.evaluations or 0) >= LEAST_EVALUATIONS)
        and all(word.startswith(OF_FRONT_END) for word in compiler)
        and not any(text.endswith(".json") for text in given)
    )
    return whole if both else task


def _shards_of(options: argparse.Namespace) -> Path | None:
    """Return the folder of the shards; None without --on.

    Raises:
        InputError: an option is missing, or has no effect on an engine.
    """
    check_engine(options)
    if not options.on:
        if options.shards:
            raise InputError(f"--shards {options.shards}: expected --on ENGINE, too")
        return None
    for name, path in {"graph": options.graph, "remember": options.memory_file}.items():
        if path:
            raise InputError(f"--{name} {path} is not for --on: programs on many machines share no such file")
    if options.shards:
        return Path(options.shards)
    if not options.result:
        raise InputError(
            f"--on {options.on}: expected --result FILE, or --shards FOLDER for results of the run"
        )
    return Path(options.result).with_name(f"{options.result.name}.shards")


def _settings(options: argparse.Namespace, task: Task, objective: str) -> SearchSettings:
    """Return the settings of the search; raise InputError if some options exclude each other."""
    goal = task.objective(objective)
    if options.jobs < 1:
        raise InputError(f"--jobs {options.jobs}: expected 1 or more")
    if options.jobs > 1 and goal.noisy:
        raise InputError(
            f"--jobs is not for {goal.name}: programs that run at the same time disturb each other"
        )
    if options.resume and not options.result:
        raise InputError("--resume needs the file of results: --result FILE")
    if options.graph:
        writer_of(options.graph)
        if len(options.files) > 1 and not options.link:
            raise InputError(f"--graph {options.graph}: a graph shows one program, not {len(options.files)}")
    if options.bundle and not (options.result or options.json):
        raise InputError("--bundle needs results: write them with --result or --json")
    shared = 1 if options.on else max(1, (os.cpu_count() or 1) // options.jobs) if options.jobs > 1 else None
    return SearchSettings(
        replace(Budget.parse(options.budget), workers=options.workers or shared),
        goal.name,
        Strategy(options.search, options.policy, options.seed, options.memory_file),
        limits_of(options),
        bundle=options.bundle,
        graph=options.graph,
    )


def _run(
    options: argparse.Namespace,
    task: Task,
    settings: SearchSettings,
    items: Sequence[Item],
    kept: KeptResults | None,
    shards: Path | None,
) -> OptimizeRun:
    """Optimize all programs, with the display that the options ask for."""
    run = OptimizeRun(task, settings, items, kept)
    if options.json:
        run.tell = lambda result: print(result.to_json(), flush=True)
    if shards:
        with ShardLine(len(items), quiet=options.json or options.quiet) as line:
            run.screen = line
            run.on(engine_of(options, shards), shards, line)
    elif options.json or options.quiet:
        run(options.jobs)
    elif len(items) == 1:
        run.screen = OneScreen()
        run()
    else:
        with OverallProgress(len(items), settings.budget) as screen:
            run.screen = screen
            run(options.jobs)
    return run


def _report(run: OptimizeRun, options: argparse.Namespace) -> None:
    """Print the results, and notes on errors and interruption."""
    results = [run.results[number] for number in sorted(run.results)]
    if not options.json:
        if results:
            results_table(results, run.task, form_of(options))
        note = form_of(options).note
        if len(run.items) == 1:
            for text in run.described:
                note(text)
        if run.outputs:
            note(f"wrote {', '.join(run.outputs)}")
        if run.again:
            note(f"done before: {len(run.again)} of {len(run.items)}")
        for result in run.lost:
            note(f"{result.program}: not everything could be written; its result, for burnish replay:")
            print(result.to_json())
    left = len(run.items) - len(run.results) - len(run.errors.keys() - run.results.keys())
    if run.errors and len(run.items) > 1:
        names = ", ".join(run.items[number].name for number in sorted(run.errors))
        print(f"burnish: {len(run.errors)} of {len(run.items)} failed: {names}", file=sys.stderr)
        for number, error in sorted(run.errors.items()):
            if type(error) is BurnishError:  # a shard failed, and has a log
                print(f"burnish: {run.items[number].name}: {error}", file=sys.stderr)
    if run.interrupted:
        how = "--result and --resume continue"
        if options.on or options.result:
            how = f"the same command {'with --resume ' if options.result else ''}continues"
        rest = f", {left} of {len(run.items)} files were not begun; {how}" if left else ""
        print(f"burnish: interrupted: the best so far was kept{rest}", file=sys.stderr)


def _parser(words: Sequence[str]) -> CommandParser:
    parser = CommandParser(
        prog="burnish optimize",
        compiler="burnish optimize hot.c -- -Iinclude",
        description="Search for decisions that make programs better than the compiler's own. If "
        "nothing better is found, the compiler's own result is kept.",
        epilog="Options for the compiler follow a double dash: burnish optimize a.c b.c -- -Iinclude "
        "-DX. Ctrl-C ends the search and keeps the best so far; Ctrl-C again ends at once. Exit "
        "code 2 if a file could not be used; the other files are optimized.",
    )
    add = parser.add_argument
    add("files", nargs="+", metavar="PROGRAM", help=programs_help(words))
    add(
        "-o",
        "--output",
        type=Path,
        help="output file, whose suffix selects the format; or a folder for several programs, which "
        "keeps their tree",
    )
    force = "also overwrite files that burnish did not write; a file named by -o is always overwritten"
    add("--force", action="store_true", help=force)
    add("--objective", help="what to minimise: see burnish tasks; default: the usual objective of the task")
    run = "how to run the program: its arguments, optionally '< FILE'; may be repeated"
    add("--run", action="append", default=[], metavar="ARGUMENTS", help=run)
    add("--search", default=DEFAULT, choices=SEARCHES, help=f"default: {DEFAULT}")
    policy = (
        "what guides the search: shipped (default), none, a name of burnish tasks, or a file of burnish train"
    )
    add("--policy", default=policies.DEFAULT, metavar="POLICY", help=policy)
    add("--budget", default="10s", help="for each file: 10s, 2m or '500 evaluations'; default: 10s")
    add("--seed", type=SEED, default=0)
    memory = "start from results of earlier searches for these functions, and add new results"
    add("--remember", dest="memory_file", type=Path, metavar="FILE", help=memory)
    add("--workers", type=COUNT, help="processes; default: one for each core, and one to measure time")
    jobs = "programs at a time, which share the cores; default: 1"
    add("--jobs", type=COUNT, default=1, metavar="N", help=jobs)
    add_engine(parser)
    shards = "with --on: folder that keeps results until they are written; default: FILE.shards of --result"
    add("--shards", type=Path, metavar="FOLDER", help=shards)
    add("--link", action="store_true", help="link the files into one program first")
    add_table_form(parser, json="print one result a line instead of the table")
    add(
        "--result",
        type=Path,
        metavar="FILE",
        help="also write the results to this file, each when it is ready",
    )
    add("--resume", action="store_true", help="leave out programs that --result already has")
    bundle = "store the programs in the results: replaying needs neither the sources nor this front end"
    add("--bundle", action="store_true", help=bundle)
    drawn = "draw the evaluated traces as a graph: .svg, or .dot for graphviz"
    add("--graph", type=Path, metavar="FILE", help=drawn)
    add("--quiet", action="store_true", help="no progress line")
    add_limits(parser)
    add_task(parser, words, goals=True)
    return parser


def _single(
    options: argparse.Namespace,
    task: Task,
    given: Sequence[str],
    compiler: tuple[str, ...],
    goal_of: Callable[[Program], str],
) -> list[Item]:
    """Return an item for each program."""
    outputs = OutputPaths(task).of(given, options.files, options.output)
    top = None if list(map(str, outputs)) == [str(options.output)] else options.output or Path()
    if top is not None and not options.force:
        check_not_in_the_way(_written(task, outputs))
    source = task.source()

    def load(file: str, output: Path) -> Job:
        loaded = source.load(file, compiler)
        program = source.with_runs(loaded.program, options.run, [file], compiler)
        words = (file, *(RUN + run for run in options.run), *compiler)
        variants = source.variants(file, compiler)
        return Job(program, words, output, loaded.arguments, variants, top, goal_of(program))

    return [
        Item(file, partial(load, file, output)) for file, output in zip(options.files, outputs, strict=True)
    ]


def _written(task: Task, outputs: Sequence[Path]) -> list[Path]:
    """Return the outputs, and the files that the task writes beside each."""
    beside = task.files.written_beside
    return [one.with_suffix(end) for one in outputs for end in (one.suffix, *beside.get(one.suffix, ()))]


def _linked(
    options: argparse.Namespace, task: Task, compiler: tuple[str, ...], goal_of: Callable[[Program], str]
) -> list[Item]:
    """Return one item: all programs linked into one."""
    outputs, source = OutputPaths(task), task.source()
    output = options.output or Path(f"linked{outputs.default}")
    outputs.check_file(output, options.files)
    if not (options.output or options.force):
        check_not_in_the_way(_written(task, [output]))

    def load() -> Job:
        whole = source.link([source.load(file, compiler).program for file in options.files])
        program = source.with_runs(whole, options.run, options.files, compiler)
        words = (*options.files, *(RUN + run for run in options.run), *compiler)
        return Job(program, words, output, compiler, objective=goal_of(program))

    return [Item("+".join(options.files), load)]


class OneScreen(Screen):
    """The display for a single program: one live line."""

    def __init__(self) -> None:
        self._line: SearchProgress | None = None

    def begin(self, item: Item, task: Task) -> Callbacks:
        """See Screen."""
        self._line = line = SearchProgress(item.name, task.label(task.reference))
        return Callbacks(line.reference, line, line.note)

    def end(self, item: Item) -> None:
        """See Screen."""
        if self._line:
            self._line.__exit__()

    def say(self, text: str) -> None:
        """See Screen."""
        if self._line:  # it would overwrite the text
            self._line.__exit__()
        super().say(text)


class OverallProgress(Bars, Screen):
    """The display for many programs, on a terminal only: a bar of files, and a line for each search."""

    def __init__(self, count: int, budget: Budget) -> None:
        super().__init__(BarColumn(20), TimeElapsedColumn(), TextColumn("{task.description}", markup=False))
        self._budget = budget
        self._running: dict[str, TaskID] = {}
        self._done, self._count = 0, count
        self._all = self._bars.add_task(f"0 of {count} files", total=count)

    def begin(self, item: Item, task: Task) -> Callbacks:
        """See Screen."""
        if self._bars.disable:
            return Callbacks()
        self._running[item.name] = self._bars.add_task(item.name, total=1.0)
        line = _Line(
            item.name, task.label(task.reference), self._bars, self._running[item.name], self._budget
        )
        return Callbacks(line.reference, line, line.note)

    def end(self, item: Item) -> None:
        """See Screen."""
        if (line := self._running.pop(item.name, None)) is not None:
            self._bars.remove_task(line)
        self._done += 1
        self._bars.update(self._all, completed=self._done, description=f"{self._done} of {self._count} files")


class _Line(SearchProgress):
    """The live line of one search."""

    def __init__(self, name: str, reference: str, bars: Progress, line: TaskID, budget: Budget) -> None:
        super().__init__(name, reference, quiet=True)
        self._bars, self._line, self._budget = bars, line, budget

    def note(self, text: str) -> None:
        self._bars.update(self._line, description=f"{self._name}  {text}")

    def _show(self, progress: SearchState) -> None:
        seconds, evaluations = self._budget.seconds, self._budget.evaluations
        share = progress.seconds / seconds if seconds else 0.0
        share = max(share, progress.evaluations / evaluations if evaluations else 0.0)
        self._bars.update(self._line, completed=min(share, 1.0))
        self.note(self._gain(progress))
