"""burnish inliner: tables of the inliner's decisions, and evaluation of policies against its heuristic."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from burnish.console.command_parser import COUNT, SECONDS, SEED, CommandParser, whole_number
from burnish.console.table_forms import add_table_form, form_of
from burnish.console.tables import TextTable, figures, names
from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.registry import load_task
from burnish.evaluation.importance import FeatureImportance
from burnish.files import LineFile, read_json_lines
from burnish.llvm.corpora.references import resolve
from burnish.policies.answer import answers_of
from burnish.policies.find import shipped
from burnish.policies.load import load_action_policy
from burnish.search.problem import Problem
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, Trying, decide
from burnish.tasks.llvm_inlining.policy.policies import (
    Against,
    against_heuristic,
    permutation_importance,
    summary_of,
)
from burnish.tasks.llvm_inlining.policy.vocabulary import NAMES, write_vocabulary

TASK = "llvm_inlining"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse(arguments)
    code: int = options.run(options)
    return code


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish inliner",
        description="Show the decisions of LLVM's inliner and their gains, compare a policy with the "
        "heuristic module by module, or show which features its answers depend on.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    text = "write all decisions of modules, some of them tried the other way, as JSON lines"
    one = commands.add_parser(
        "decisions", help=text, description=f"{text}; resume from the existing file.", subcommand=True
    )
    one.set_defaults(run=_decisions)
    one.add_argument("out", type=Path, help="the file")
    one.add_argument(
        "--tries", type=whole_number(0), default=0, metavar="N", help="of each module; default: none"
    )
    one.add_argument("--seconds", type=SECONDS, metavar="S", help="at most, for one module")
    one.add_argument("--sites", default="", metavar="REGEX", help="only decisions at such sites")
    one.add_argument("--workers", type=COUNT, default=1, metavar="N", help="processes; default: 1")
    _add_programs(one)

    text = "write the quantiles of each feature as NAME.buckets, as MLGO's vocabularies have them"
    one = commands.add_parser("vocabulary", help=text, description=f"{text}.".capitalize(), subcommand=True)
    one.set_defaults(run=_vocabulary)
    one.add_argument("out", type=Path, help="the folder that they are written to")
    one.add_argument("decisions", type=Path, help="output of `burnish inliner decisions`")
    one.add_argument("--quantiles", type=COUNT, default=1000, metavar="N", help="default: 1000")

    text = "measure modules compiled by a policy's answers, without a search"
    one = commands.add_parser("compare", help=text, description=f"{text}.".capitalize(), subcommand=True)
    one.set_defaults(run=_compare)
    one.add_argument("policy", help="a file, or the name of a shipped policy")
    add_table_form(one, json="a line of JSON for each module")
    _add_programs(one)

    text = "permute each feature over decisions that were tried, and show the cost of changed answers"
    one = commands.add_parser("importance", help=text, description=text.capitalize(), subcommand=True)
    one.set_defaults(run=_importance)
    one.add_argument("policy", help="a file, or the name of a shipped policy")
    one.add_argument("decisions", type=Path, help="output of `burnish inliner decisions --tries`")
    one.add_argument("--repeats", type=COUNT, default=5, metavar="N", help="permutations; default: 5")
    one.add_argument("--seed", type=SEED, default=0)
    add_table_form(one, json="a line of JSON for each feature")
    one.add_argument("--plot", type=Path, metavar="FILE", help="draw the features: .svg, .png or .pdf")
    return parser


def _add_programs(parser: CommandParser) -> None:
    parser.add_argument("programs", nargs="+", help="files, or references such as corpus:val")
    parser.add_argument("--objective", help="default: loaded-bytes")
    parser.add_argument("--match", default="", metavar="REGEX", help="only modules with such names")
    number = parser.add_mutually_exclusive_group()
    number.add_argument("--count", type=COUNT, metavar="N", help="only N modules, drawn with the seed")
    number.add_argument(
        "--sampling-rate", type=_rate, metavar="SHARE", help="only this share of the modules, such as 0.1"
    )
    parser.add_argument("--seed", type=SEED, default=0)


def _programs(options: argparse.Namespace) -> Iterator[Program]:
    """Yield the chosen programs."""
    import numpy as np

    wanted = _pattern("--match", options.match)
    found = [(part, i) for text in options.programs for part in [resolve(text)] for i in range(len(part))]
    count = options.count
    if options.sampling_rate:
        found = [(part, i) for part, i in found if not options.match or wanted.search(part[i].name)]
        count = math.ceil(options.sampling_rate * len(found))
    order = np.random.default_rng(options.seed).permutation(len(found)) if count else range(len(found))
    left = count or len(found)
    for number in order:
        part, i = found[int(number)]
        if left and wanted.search(part[i].name):
            left -= 1
            yield part[i]


def _pattern(option: str, text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise InputError(f"{option} {text}: {error}") from None


def _rate(text: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 < rate <= 1:
        raise InputError(f"{text}: expected a share above 0 and up to 1, such as 0.1")
    return rate


def _vocabulary(options: argparse.Namespace) -> int:
    import numpy as np

    tables = _tables(options.decisions, "burnish inliner decisions")
    decided = [one.rows for one in tables if not one.trace and len(one.rows)]
    if not decided:
        raise InputError(f"{options.decisions}: no decision of the heuristic; there is nothing to count")
    rows = np.concatenate(decided)
    write_vocabulary(options.out, rows, options.quantiles)
    print(f"quantiles of {len(NAMES)} features of {len(rows)} decisions in {options.out}")
    return 0


def _tables(path: Path, command: str) -> list[Decisions]:
    """Read a file of decisions, which has to exist."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; {command} writes it")
    return read_json_lines(path, Decisions.from_json, appended=True)


def _decisions(options: argparse.Namespace) -> int:
    task = load_task(TASK)
    done = {one.digest for one in read_json_lines(options.out, Decisions.from_json, appended=True)}
    sites = _pattern("--sites", options.sites).pattern
    trying = Trying(options.tries, options.seconds, options.workers, options.seed, sites)
    modules = tried = 0
    with closing(LineFile(options.out, keep=True)) as file:
        for program in _programs(options):
            if program.digest in done:
                continue
            try:
                problem = Problem(task, program, task.objective(options.objective).name)
                table = decide(problem, trying=trying)
            except (CompilerCrash, ProgramError) as error:
                print(f"left out: {error}")
                continue
            file.append(table.to_json())
            modules, tried = modules + 1, tried + int(table.tried.sum())
    print(f"{modules} more modules in {options.out}, {tried} decisions tried the other way")
    return 0


def _policy_path(name: str) -> Path:
    return shipped().get(name, Path(name))


def _compare(options: argparse.Namespace) -> int:
    task = load_task(TASK)
    objective = task.objective(options.objective).name
    policy = answers_of(_policy_path(options.policy), task)
    rows = list(against_heuristic(task, list(_programs(options)), policy, objective))
    if options.json:
        for row in rows:
            print(json.dumps(asdict(row)))
        return 0
    total = summary_of(rows)
    form = form_of(options)
    form.show(modules_table(rows))
    form.note(
        f"{total.modules} modules: heuristic / policy {total.ratio:.4f} [{total.low:.4f}, {total.high:.4f}], "
        f"total {total.total:.4f}; {total.better} better, {total.worse} worse ({objective}, no search)"
    )
    return 0


def modules_table(rows: Iterable[Against]) -> TextTable:
    """Return a table with a row for each module, the policy's best modules first."""
    table = TextTable((names("module"), *figures("questions", "others", "heuristic", "policy", "ratio")))
    for row in sorted(rows, key=lambda row: -row.ratio):
        costs = f"{row.heuristic:g}", f"{row.policy:g}", f"{row.ratio:.4f}"
        table.add(row.program, str(row.questions), str(row.others), *costs)
    return table


def features_table(found: Iterable[FeatureImportance]) -> TextTable:
    """Return a table with a row for each feature."""
    table = TextTable((names("feature"), *figures("other answers", "cost more")))
    for item in found:
        table.add(item.name, f"{100 * item.changed:.2f}%", f"{item.cost:+.1f}")
    return table


def _importance(options: argparse.Namespace) -> int:
    policy = load_action_policy(_policy_path(options.policy))
    tables = _tables(options.decisions, "burnish inliner decisions --tries N")
    found = permutation_importance(policy, tables, repeats=options.repeats, seed=options.seed)
    if options.plot:
        _draw(found, tables, options)
    if options.json:
        for item in found:
            print(json.dumps(asdict(item)))
        return 0
    form_of(options).show(features_table(found))
    return 0


def _draw(
    found: Sequence[FeatureImportance], tables: Sequence[Decisions], options: argparse.Namespace
) -> None:
    from burnish.evaluation.report.plots import features_plot, save_plot

    count = sum(int(one.tried.sum()) for one in tables)
    unit = load_task(TASK).objective(tables[0].objective).unit
    name = Path(options.policy).stem
    save_plot(
        features_plot(found, f"Features that {name} depends on, over {count:,} decisions", unit), options.plot
    )
