"""burnish inliner: tables of the inliner's decisions, and evaluation of policies against its heuristic."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from burnish.cli.llvm.modules import add_programs, chosen_programs, pattern_of, show_comparison
from burnish.console.command_parser import COUNT, SECONDS, SEED, CommandParser, whole_number
from burnish.console.table_forms import add_table_form, form_of
from burnish.console.tables import TextTable, figures, names
from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.registry import load_task
from burnish.evaluation.importance import FeatureImportance
from burnish.files import LineFile, read_json_lines
from burnish.policies.answer import answers_of
from burnish.policies.find import shipped
from burnish.policies.load import load_action_policy
from burnish.search.problem import Problem
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, Trying, decide
from burnish.tasks.llvm_inlining.policy.policies import against_heuristic, permutation_importance
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
    add_programs(one, "loaded-bytes")

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
    add_programs(one, "loaded-bytes")

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
    sites = pattern_of("--sites", options.sites).pattern
    trying = Trying(options.tries, options.seconds, options.workers, options.seed, sites)
    modules = tried = 0
    with closing(LineFile(options.out, keep=True)) as file:
        for program in chosen_programs(options):
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
    rows = list(against_heuristic(task, list(chosen_programs(options)), policy, objective))
    if options.json:
        for row in rows:
            print(json.dumps(asdict(row)))
        return 0
    show_comparison(rows, objective, options)
    return 0


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
