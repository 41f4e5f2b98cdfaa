"""Whole programs as one module, compared with single objects and with clang's own link-time optimization.

Each project is built from Debian's sources by clang -Oz, clang -Oz -flto, `burnish cc`, and `burnish cc
--whole-program` with a short and a long budget. All builds use -ffunction-sections -fdata-sections
-Wl,--gc-sections, lld and strip. Then the programs and the projects' own tests are run.

    python benchmarks/whole_programs.py
    python benchmarks/whole_programs.py --projects lua --out rows.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from shipped.compilers import Compiler, built_in, check, of_command
from shipped.projects import load_project, project_names
from shipped.rows import Bench, Row, measure, read_rows
from shipped.texts import write_inputs

from burnish.core.errors import BurnishError, UnknownName

PROJECTS = "lua,jsoncpp,expat"
SHORT, LONG = "20s", "60s"
COLUMNS = (
    "program",
    "built by",
    "loaded bytes",
    "",
    "code",
    "file",
    "build s",
    "run time",
    "outputs",
    "tests",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    own = ["burnish cc", *(f"burnish cc --whole-program --budget {budget}" for budget in options.budgets)]
    known = built_in()
    compilers = [known["clang -Oz"], known["clang -Oz -flto"], *map(of_command, own)]
    rows: list[Row] = []
    failures: list[str] = []
    try:
        for compiler in compilers:
            check(compiler)
        for name in options.projects.split(","):
            if name not in project_names():
                raise UnknownName.among("project", name, project_names())
            rows += _measured(options, name, compilers)
    except BurnishError as error:
        failures.append(str(error))
    console.print(_table(rows))
    failures += [f"{row['project']} by {row['compiler']}: {why}" for row in rows for why in _wrong(row)]
    for why in failures:
        console.print(why, markup=False, style="red")
    return 1 if failures else 0


def _measured(options: argparse.Namespace, name: str, compilers: Sequence[Compiler]) -> list[Row]:
    """Return the rows of one project; rows in --out are not measured again."""
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    inputs = write_inputs(folder / "inputs")
    bench = Bench(folder / "builds", inputs, compilers[0], options.rounds, options.jobs)
    known = read_rows(options.out) if options.out else {}
    rows = []
    for compiler in compilers:
        row = known.get((name, compiler.name, True))
        if row is None:
            row = measure(bench, load_project(name, folder), compiler, tables=True)
            if options.out:
                with options.out.open("a") as out:
                    out.write(json.dumps(row) + "\n")
        rows.append(row)
    return rows


def _table(rows: Sequence[Row]) -> Table:
    table = Table(title="whole programs, linked and stripped", title_justify="left")
    for number, name in enumerate(COLUMNS):
        table.add_column(name, justify="right" if 2 <= number <= 7 else "left")
    before: Row = {}
    for row in rows:
        if row["compiler"] == rows[0]["compiler"]:
            before = row
            table.add_section()
        for program, sizes in row["programs"].items():
            old = before["programs"][program]["loaded_bytes"]
            table.add_row(
                program,
                row["compiler"],
                f"{sizes['loaded_bytes']:,}",
                f"{100 * (sizes['loaded_bytes'] - old) / old:+.2f} %" if row is not before else "",
                f"{sizes['kinds']['code']:,}",
                f"{sizes['file_bytes']:,}",
                f"{row['build_seconds']['wall']:.0f}",
                f"{100 * (row['run_ratio'] - 1):+.1f} %" if row.get("run_ratio") else "",
                "same" if not row["outputs"] else "DIFFERENT",
                "none" if row["tests"] is None else "FAIL" if row["tests"] else "pass",
            )
    return table


def _wrong(row: Row) -> list[str]:
    said = {"prints something else": row["outputs"], "its tests fail": row["tests"]}
    return [f"{what}: {why}" for what, why in said.items() if why]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--projects", default=PROJECTS, help=f"of {', '.join(project_names())} (default: {PROJECTS})"
    )
    parser.add_argument(
        "--budgets",
        nargs="+",
        default=[SHORT, LONG],
        help=f"of each program's search (default: {SHORT} {LONG})",
    )
    parser.add_argument("--rounds", type=int, default=5, help="of timing (default: 5)")
    parser.add_argument("--jobs", type=int, default=1, help="compilers at a time (default: 1)")
    parser.add_argument("--out", type=Path, help="rows of JSON; those that are there are not measured again")
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(tempfile.gettempdir()) / "burnish-ships",
        help="of sources and builds (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
