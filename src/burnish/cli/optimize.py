"""burnish optimize: files in, smaller objects out."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from burnish.cli.arguments import add_without, listed, split_at_dashes
from burnish.cli.jobs import Job, Settings, optimize_job, write_results
from burnish.cli.tables import results_table
from burnish.cli.workloads import WORD, with_runs
from burnish.core.errors import InputError
from burnish.core.worker import GIB, Limits
from burnish.corpora.references import expand, is_reference, is_runnable, name_in, resolve_one
from burnish.policies import find as policies
from burnish.programs import link_programs
from burnish.search import DEFAULT, SEARCHES, Budget
from burnish.tasks.llvm_passes import Options, make_task
from burnish.tasks.llvm_passes.actions import left_out
from burnish.tasks.llvm_passes.objectives import level_for
from burnish.toolchain import IR_SUFFIXES, LEVELS


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, clang = split_at_dashes(arguments)
    options = _parser().parse_args(words)
    options.files = [name for file in options.files for name in expand(file)]
    level = options.level or level_for(options.objective)
    without = left_out(listed(options.without))
    task = make_task(Options(level, not options.ignore_always_inline, without=without))
    settings = Settings(
        budget=Budget.parse(options.budget),
        objective=task.objective(options.objective).name,
        method=options.search,
        policy=options.policy,
        seed=options.seed,
        workers=options.workers,
        memory=options.memory_file,
        limits=Limits(options.deadline, int(options.memory * GIB)),
    )
    jobs = (
        [_linked(options, level, clang)]
        if options.link
        else [_single(options, file, level, clang) for file in options.files]
    )
    results = []
    for job in jobs:
        result = optimize_job(task, job, settings, quiet=options.json or options.quiet)
        results.append(result)
        if options.json:
            print(result.to_json(), flush=True)
    if options.result:
        write_results(options.result, results)
    if not options.json:
        results_table(results)
        print(f"wrote {', '.join(str(job.output) for job in jobs)}")
    return 0 if all(result.valid for result in results) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="burnish optimize",
        description="Search for LLVM passes that make files smaller than clang -Oz does, or programs faster "
        "than clang -O3. Where nothing better is found, clang's own result is kept.",
        epilog="Options for clang follow a double dash: burnish optimize a.c b.c -- -Iinclude -DNDEBUG",
    )
    add = parser.add_argument
    names = "a file: .c .cc .cpp .ll .bc; or a name: corpus:brotli, kernels:fft, random:0..9"
    add("files", nargs="+", metavar="PROGRAM", help=names)
    add("-o", "--output", type=Path, help="object (.o), .bc or .ll; a folder for several files")
    add("--objective", default="text-bytes", help="what to minimise (see burnish tasks); default: text-bytes")
    add("--level", choices=LEVELS, help="clang's, to compare with; default: O3 for run time, else Oz")
    run = "how to run the program: its arguments, and perhaps '< FILE'; may be repeated"
    add("--run", action="append", default=[], metavar="ARGUMENTS", help=run)
    add("--search", default=DEFAULT, choices=SEARCHES, help=f"default: {DEFAULT}")
    policy = "what guides it: shipped (default), none, a name of burnish tasks, or a file of burnish train"
    add("--policy", default=policies.DEFAULT, metavar="POLICY", help=policy)
    add("--budget", default="10s", help="for each file: 10s, 2m or 500 (evaluations); default: 10s")
    add("--seed", type=int, default=0)
    memory = "begin with what earlier searches found for these functions, and add what this one finds"
    add("--remember", dest="memory_file", type=Path, metavar="FILE", help=memory)
    add("--workers", type=int, help="processes; default: one for each core, and one to measure time")
    add("--link", action="store_true", help="link the files into one program first")
    add("--json", action="store_true", help="print one result a line instead of the table")
    add("--result", type=Path, metavar="FILE", help="also write the results there, for burnish replay")
    add("--quiet", action="store_true", help="no progress line")
    add("--deadline", type=float, default=60.0, metavar="SECONDS", help="for one pass; default: 60")
    add("--memory", type=float, default=4.0, metavar="GIB", help="of a worker; default: 4")
    ignore = "do not honour always_inline first; every result says so"
    add("--ignore-always-inline", action="store_true", help=ignore)
    add_without(parser)
    return parser


def _single(options: argparse.Namespace, file: str, level: str, clang: tuple[str, ...]) -> Job:
    name = _object_name(file)
    output = options.output or name
    if len(options.files) > 1 and options.output:
        if not options.output.is_dir():
            raise InputError(f"{options.output}: expected a folder, for {len(options.files)} files")
        output = options.output / name
    _check_output(output)
    program = with_runs(resolve_one(file, clang, level=level), options.run, [file], clang)
    # -O0 is the one level at which clang's front end emits code that no pass or attribute explains.
    from_source = is_runnable(file) if is_reference(file) else Path(file).suffix not in IR_SUFFIXES
    variants = {"O0": resolve_one(file, clang, level="O0")} if from_source else {}
    return Job(program, (file, *_run_words(options), *clang), output, clang, variants)


def _object_name(file: str) -> Path:
    """Return the name of a file's or a program's object."""
    if not is_reference(file):
        return Path(Path(file).with_suffix(".o").name)
    name = name_in(file) if file.startswith("corpus") else file
    return Path(re.sub(r"[^\w.+-]+", "-", name) + ".o")


def _linked(options: argparse.Namespace, level: str, clang: tuple[str, ...]) -> Job:
    output = options.output or Path("linked.o")
    _check_output(output)
    whole = link_programs([resolve_one(file, clang, level=level) for file in options.files])
    program = with_runs(whole, options.run, options.files, clang)
    return Job(program, (*options.files, *_run_words(options), *clang), output, clang)


def _run_words(options: argparse.Namespace) -> list[str]:
    return [WORD + run for run in options.run]


def _check_output(output: Path) -> None:
    if output.suffix not in (".o", ".bc", ".ll"):
        raise InputError(f"{output}: expected a name that ends in .o, .bc or .ll")
    if not output.absolute().parent.is_dir():
        raise InputError(f"{output}: there is no folder {output.absolute().parent}")
