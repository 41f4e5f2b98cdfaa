"""burnish replay: a result, measured again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from burnish.core.errors import CompilerCrash, InputError, ReplayError
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.evaluation import replay_result
from burnish.programs import link_programs, load_program
from burnish.tasks import load_task
from burnish.tasks.llvm_passes import Options, make_task
from burnish.toolchain import C_SUFFIXES, CXX_SUFFIXES, IR_SUFFIXES


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser().parse_args(arguments)
    try:
        lines = options.result.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{options.result}: {error}") from None
    rows = [Result.from_json(line) for line in lines if line.strip()]
    if not rows:
        raise InputError(f"{options.result}: no result in it")
    if options.program and len(rows) > 1:
        raise InputError(f"--program is for a single result; {options.result} has {len(rows)}")
    good = True
    for row in rows:
        problem = _check(row, options.program)
        good = good and not problem
        if options.json:
            print(json.dumps({"program": row.program, "same": not problem, "problem": problem}))
        else:
            what = f"-{row.fallback} was kept" if row.fallback else f"{len(row.trace)} steps"
            print(f"{row.program}: {what}, {row.cost:.0f} {row.objective}: {problem or 'the same again'}")
    return 0 if good else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="burnish replay",
        description="Replay every result in a file in new processes: the same module, the same cost? "
        "Exit code 1 if one differs.",
    )
    parser.add_argument("result", type=Path, help="what burnish optimize wrote with --result or --json")
    parser.add_argument("--program", type=Path, help="the program, where it is not where the result says")
    parser.add_argument("--json", action="store_true", help="print one line of JSON for each result")
    return parser


def _check(row: Result, path: Path | None) -> str:
    """Return what is different from the result; "" for nothing."""
    task = load_task(row.task)
    if row.options:
        task = make_task(_options(row.options))
    program = load_program(path) if path else _load(row)
    if program.digest != row.digest:
        return f"the program is not the same: its digest is {program.digest}, the result's {row.digest}"
    try:
        session = replay_result(task, program, row)
        cost, state = session.measure(row.objective), session.digest()
        session.shutdown()
    except (CompilerCrash, ReplayError) as error:
        return str(error)
    if cost != row.cost:
        return f"{row.objective} is {cost:.0f}, the result's {row.cost:.0f}"
    same = row.fallback or state == row.state  # a baseline's state is not in the result
    return "" if same else "another module of the same cost"


def _load(row: Result) -> Program:
    if not row.source:
        raise InputError(f"{row.program}: the result does not say where the program is; give --program")
    known = C_SUFFIXES | CXX_SUFFIXES | IR_SUFFIXES
    files = [word for word in row.source if not word.startswith("-") and Path(word).suffix in known]
    clang = list(row.source[len(files) :])
    programs = [load_program(Path(file), clang) for file in files]
    return programs[0] if len(programs) == 1 else link_programs(programs)


def _options(named: Mapping[str, str]) -> Options:
    """Undo the text form of a task's options."""
    default = Options()
    return Options(
        level=named.get("level", default.level),
        always_inline=named.get("always_inline", "True") == "True",
        cpu=named.get("cpu", default.cpu),
    )
