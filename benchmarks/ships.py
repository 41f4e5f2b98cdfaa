"""Sizes of whole third-party projects, linked and stripped, built by burnish and by other compilers.

    python benchmarks/ships.py --cc "burnish cc --budget 2s" [--projects lua,mawk] [--out ships.jsonl]

Each compiler builds Debian's sources (by apt, on Debian or Ubuntu) and the workloads of burnish.llvm.corpora
with the same options: -Oz, unused sections dropped by the linker, position-independent, lld, stripped; with
unwind tables, and again without. burnish begins each build with an empty memory. Five things are compared
with clang -Oz: loaded bytes, outputs on our inputs, the project's own tests, CPU time (in turns; the median
of the rounds' ratios) and build time. Rows in --out are not measured again. Exit codes: 0, all outputs are
equal and all tests pass; 1, an output differs, a test or a build fails (or, with --never-larger, a program of
a --cc is larger); 2, wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from shipped.compilers import Compiler, built_in, check, of_command
from shipped.projects import load_project, project_names
from shipped.rows import Bench, Row, measure, read_rows
from shipped.tables import detail_table, loaded_table
from shipped.texts import write_inputs

from burnish.core.errors import BurnishError, UnknownName

DEFAULT = "lua,mawk,expat,pcre2,jsoncpp,sqlite3,zopfli,lz4,cmarkgfm,brotli,pycosat,quickjs,bzip2"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    try:
        compilers = _columns(options.compilers, options.cc)
        projects = _chosen(options.projects)
    except BurnishError as error:
        console.print(str(error), markup=False, style="red")
        return 2
    baseline = next(iter(built_in().values()))
    options.folder.mkdir(parents=True, exist_ok=True)
    inputs = write_inputs(options.folder / "inputs")
    bench = Bench(
        folder=options.folder.resolve() / "builds",
        inputs=inputs.resolve(),
        baseline=baseline,
        rounds=options.rounds,
        jobs=options.jobs,
        configuring=tuple(map(of_command, options.cc)),
    )
    known = read_rows(options.out) if options.out else {}
    rows: list[Row] = []
    failures: list[str] = []
    for name in projects:
        for tables in _variants(options.tables):
            for compiler in compilers:
                row = known.get((name, compiler.name, tables))
                if row is None:
                    console.print(
                        f"{name}, {compiler.name}, {'with' if tables else 'without'} tables", style="dim"
                    )
                    try:
                        project = load_project(name, options.folder.resolve())
                        row = measure(bench, project, compiler, tables=tables)
                    except BurnishError as error:
                        failures.append(f"{name} by {compiler.name}: {error}")
                        continue
                    if options.out:
                        with options.out.open("a") as out:
                            out.write(json.dumps(row) + "\n")
                rows.append(row)
    _print(console, rows, [compiler.name for compiler in compilers], _variants(options.tables))
    failures += [why for row in rows for why in _wrong(row)]
    if options.never_larger:
        failures += _larger(rows, baseline.name, options.cc)
    for why in failures:
        console.print(why, markup=False, style="red")
    return 1 if failures else 0


def _columns(names: str | None, commands: Sequence[str]) -> list[Compiler]:
    known = built_in()
    baseline = next(iter(known))
    wanted = [name.strip() for name in names.split(";") if name.strip()] if names is not None else list(known)
    for name in wanted:
        if name not in known:
            raise UnknownName.among("compiler", name, known)
    # the baseline is always built, because the others are compared with it
    columns = [known[name] for name in dict.fromkeys([baseline, *wanted])]
    columns += [of_command(command) for command in commands]
    for compiler in columns:
        check(compiler)
    return columns


def _chosen(names: str) -> list[str]:
    wanted = names.split(",")
    for name in wanted:
        if name not in project_names():
            raise UnknownName.among("project", name, project_names())
    return wanted


def _variants(tables: str) -> list[bool]:
    return {"with": [True], "without": [False], "both": [True, False]}[tables]


def _print(console: Console, rows: Sequence[Row], compilers: Sequence[str], variants: Sequence[bool]) -> None:
    for tables in variants:
        for compiler in compilers[1:]:
            console.print(detail_table(rows, compilers[0], compiler, tables=tables))
    for tables in variants:
        console.print(loaded_table(rows, compilers, tables=tables))


def _wrong(row: Row) -> list[str]:
    where = f"{row['project']} by {row['compiler']}, {'with' if row['tables'] else 'without'} tables"
    said = {"prints something else": row["outputs"], "its tests fail": row["tests"]}
    return [f"{where}: {what}: {why}" for what, why in said.items() if why]


def _larger(rows: Sequence[Row], baseline: str, commands: Sequence[str]) -> list[str]:
    before = {(row["project"], row["tables"]): row["programs"] for row in rows if row["compiler"] == baseline}
    found = []
    for row in rows:
        if row["compiler"] in commands and (clang := before.get((row["project"], row["tables"]))):
            for name, sizes in row["programs"].items():
                if sizes["loaded_bytes"] > clang[name]["loaded_bytes"]:
                    more = sizes["loaded_bytes"] - clang[name]["loaded_bytes"]
                    found.append(f"{name} by {row['compiler']}: {more:,} loaded bytes more than {baseline}")
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--cc",
        action="append",
        default=[],
        help='a drop-in for clang, such as "burnish cc --budget 2s"; repeatable',
    )
    parser.add_argument(
        "--compilers", help=f"beside clang -Oz, separated by ';' (default: all): {'; '.join(built_in())}"
    )
    parser.add_argument(
        "--projects", default=DEFAULT, help=f"of {', '.join(project_names())} (default: {DEFAULT})"
    )
    parser.add_argument("--tables", choices=("with", "without", "both"), default="both", help="unwind tables")
    parser.add_argument(
        "--rounds", type=int, default=7, help="of timing, at least (default: 7); 0: no run is timed"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="compilers at a time (default: all cores)"
    )
    parser.add_argument("--out", type=Path, help="rows of JSON; those that are there are not measured again")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(tempfile.gettempdir()) / "burnish-ships",
        help="of sources and builds (default: %(default)s)",
    )
    parser.add_argument(
        "--never-larger", action="store_true", help="fail where a --cc makes a program larger"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
