"""burnish optimize: files in, smaller objects out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from burnish.cli.arguments import add_without, announce_policy, listed, split_at_dashes
from burnish.cli.jobs import Job, Settings
from burnish.cli.kept import KeptResults
from burnish.cli.outputs import check_file, outputs_of
from burnish.cli.overall_progress import OneScreen, OverallProgress
from burnish.cli.runs import Item, Run, workers_each
from burnish.cli.tables import results_table
from burnish.cli.workloads import WORD, with_runs
from burnish.core.errors import InputError
from burnish.core.limit import parse_most
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.core.worker import GIB, Limits
from burnish.corpora.compile_commands import without_all_unknown
from burnish.corpora.references import command_of, expand, is_reference, is_runnable, resolve_one
from burnish.policies import find as policies
from burnish.programs import link_programs
from burnish.search import DEFAULT, SEARCHES, Budget
from burnish.tasks.llvm_passes import Options, make_task
from burnish.tasks.llvm_passes.actions import left_out
from burnish.tasks.llvm_passes.objectives import level_for, within_limits
from burnish.toolchain import IR_SUFFIXES, LEVELS


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, clang = split_at_dashes(arguments)
    options = _parser().parse_args(words)
    given = options.files
    options.files = list(dict.fromkeys(name for text in given for name in expand(text)))
    level = options.level or level_for(options.objective)
    without = left_out(listed(options.without))
    task = make_task(Options(level, not options.ignore_always_inline, without=without))
    settings = _settings(options, task)
    items = _linked(options, level, clang) if options.link else _single(options, given, level, clang)
    if not (options.json or options.quiet):
        announce_policy(settings.policy, task, settings.objective)
    kept = KeptResults(options.result, task, settings, resume=options.resume) if options.result else None
    try:
        run = _run(options, task, settings, items, kept)
    finally:
        if kept:
            kept.close()
    _report(run, options)
    return exit_code(run)


def _settings(options: argparse.Namespace, task: Task) -> Settings:
    """Return how to search.

    Raises:
        InputError: options that do not go together.
    """
    goal = task.objective(within_limits(options.objective, parse_most(options.speed_limit)))
    if options.jobs < 1:
        raise InputError(f"--jobs {options.jobs}: expected 1 or more")
    if options.jobs > 1 and goal.noisy:
        raise InputError(f"--jobs is not for {goal.name}: what runs beside each other disturbs each other")
    if options.resume and not options.result:
        raise InputError("--resume goes on with a file of results: name it with --result")
    if options.bundle and not (options.result or options.json):
        raise InputError("--bundle is about results: write them with --result or --json")
    workers = options.workers or (workers_each(options.jobs) if options.jobs > 1 else None)
    return Settings(
        budget=Budget.parse(options.budget),
        objective=goal.name,
        method=options.search,
        policy=options.policy,
        seed=options.seed,
        workers=workers,
        memory=options.memory_file,
        limits=Limits(options.deadline, int(options.memory * GIB)),
        bundle=options.bundle,
    )


def _run(
    options: argparse.Namespace,
    task: Task,
    settings: Settings,
    items: Sequence[Item],
    kept: KeptResults | None,
) -> Run:
    """Optimize all."""

    def tell(result: Result) -> None:
        if options.json:
            print(result.to_json(), flush=True)

    run = Run(task, settings, items, kept, tell=tell)
    if options.json or options.quiet:
        run(options.jobs)
    elif len(items) == 1:
        run.screen = OneScreen()
        run()
    else:
        with OverallProgress(len(items), settings) as screen:
            run.screen = screen
            run(options.jobs)
    return run


def _report(run: Run, options: argparse.Namespace) -> None:
    """Say what came of it."""
    results = [run.results[number] for number in sorted(run.results)]
    if not options.json:
        if results:
            results_table(results)
        if run.outputs:
            print(f"wrote {', '.join(run.outputs)}")
        if run.again:
            print(f"done before: {len(run.again)} of {len(run.items)}")
        for result in run.lost:
            print(f"{result.program}: not everything could be written; its result, for burnish replay:")
            print(result.to_json())
    left = len(run.items) - len(run.results) - len(run.errors.keys() - run.results.keys())
    if run.errors and len(run.items) > 1:
        names = ", ".join(run.items[number].name for number in sorted(run.errors))
        print(f"burnish: {len(run.errors)} of {len(run.items)} failed: {names}", file=sys.stderr)
    if run.interrupted:
        how = "the same command with --resume goes on" if options.result else "--result and --resume go on"
        rest = f", {left} of {len(run.items)} files were not begun; {how}" if left else ""
        print(f"burnish: interrupted: the best so far was kept{rest}", file=sys.stderr)


def exit_code(run: Run) -> int:
    """Return 130 after Ctrl-C, 2 where a file could not be read or written, 1 where a result is not valid."""
    if run.interrupted:
        return 130
    if any(isinstance(error, InputError) for error in run.errors.values()):
        return 2
    return 1 if run.errors or not all(result.valid for result in run.results.values()) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="burnish optimize",
        description="Search for LLVM passes that make files smaller than clang -Oz does, or programs faster "
        "than clang -O3. Where nothing better is found, clang's own result is kept.",
        epilog="Options for clang follow a double dash: burnish optimize a.c b.c -- -Iinclude -DNDEBUG. "
        "Ctrl-C ends the search and keeps the best so far; Ctrl-C again ends at once. Exit code 2 if a file "
        "could not be used; the others are done.",
    )
    add = parser.add_argument
    names = "a file (.c .cc .cpp .ll .bc), a folder, compile_commands.json, or a name: corpus:brotli"
    add("files", nargs="+", metavar="PROGRAM", help=names)
    add(
        "-o",
        "--output",
        type=Path,
        help="object (.o), .bc or .ll; a folder for several files, whose tree is kept",
    )
    add("--objective", default="loaded-bytes", help="see burnish tasks; default: loaded-bytes")
    slower = "how much slower than -Oz fewer loaded bytes may be, as expected: 5%% (default), none"
    add("--speed-limit", default="5%", metavar="PERCENT", help=slower)
    add("--level", choices=LEVELS, help="clang's, to compare with; default: O3 for run time, else Oz")
    run = "how to run the program: its arguments, and perhaps '< FILE'; may be repeated"
    add("--run", action="append", default=[], metavar="ARGUMENTS", help=run)
    add("--search", default=DEFAULT, choices=SEARCHES, help=f"default: {DEFAULT}")
    policy = "what guides it: shipped (default), none, a name of burnish tasks, or a file of burnish train"
    add("--policy", default=policies.DEFAULT, metavar="POLICY", help=policy)
    add("--budget", default="10s", help="for each file: 10s, 2m or '500 evaluations'; default: 10s")
    add("--seed", type=int, default=0)
    memory = "begin with what earlier searches found for these functions, and add what this one finds"
    add("--remember", dest="memory_file", type=Path, metavar="FILE", help=memory)
    add("--workers", type=int, help="processes; default: one for each core, and one to measure time")
    jobs = "programs at a time, which share the cores; default: 1"
    add("--jobs", type=int, default=1, metavar="N", help=jobs)
    add("--link", action="store_true", help="link the files into one program first")
    add("--json", action="store_true", help="print one result a line instead of the table")
    add("--result", type=Path, metavar="FILE", help="also write the results there, each as it comes")
    add("--resume", action="store_true", help="leave out what --result has already")
    bundle = "put the programs into the results: replaying takes neither the sources nor this clang"
    add("--bundle", action="store_true", help=bundle)
    add("--quiet", action="store_true", help="no progress line")
    add("--deadline", type=float, default=60.0, metavar="SECONDS", help="for one pass; default: 60")
    add("--memory", type=float, default=4.0, metavar="GIB", help="of a worker; default: 4")
    ignore = "do not honour always_inline first; every result says so"
    add("--ignore-always-inline", action="store_true", help=ignore)
    add_without(parser)
    return parser


def _single(
    options: argparse.Namespace, given: Sequence[str], level: str, clang: tuple[str, ...]
) -> list[Item]:
    """Return each program as an item of its own."""
    outputs = outputs_of(given, options.files, options.output)
    top = None if list(map(str, outputs)) == [str(options.output)] else options.output or Path()
    pairs = zip(options.files, outputs, strict=True)
    return [Item(file, partial(_job, options, file, level, clang, output, top)) for file, output in pairs]


def _job(
    options: argparse.Namespace,
    file: str,
    level: str,
    clang: tuple[str, ...],
    output: Path,
    top: Path | None,
) -> Job:
    """Read and compile a program."""
    command = command_of(file)
    program = with_runs(resolve_one(file, clang, level=level), options.run, [file], clang)
    # -O0 is the one level at which clang's front end emits code that no pass or attribute explains.
    from_source = is_runnable(file) if is_reference(file) else Path(file).suffix not in IR_SUFFIXES
    variants = {"O0": resolve_one(file, clang, level="O0")} if from_source or command else {}
    own = without_all_unknown(command) if command else ()
    return Job(program, (file, *_run_words(options), *clang), output, (*own, *clang), variants, top)


def _linked(options: argparse.Namespace, level: str, clang: tuple[str, ...]) -> list[Item]:
    """Return one item: all programs together."""
    output = options.output or Path("linked.o")
    check_file(output, options.files)

    def load() -> Job:
        whole = link_programs([resolve_one(file, clang, level=level) for file in options.files])
        program = with_runs(whole, options.run, options.files, clang)
        return Job(program, (*options.files, *_run_words(options), *clang), output, clang)

    return [Item("+".join(options.files), load)]


def _run_words(options: argparse.Namespace) -> list[str]:
    return [WORD + run for run in options.run]
