"""burnish improve: more search for what the last builds made; the next build takes what it finds."""

from __future__ import annotations

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.progress import BarColumn, TextColumn

from burnish.cc.build_summary import change_percent
from burnish.cc.improving import improve_all
from burnish.cc.improving_step import Improved
from burnish.cc.kept import ObjectMemory, Remembered
from burnish.cc.requests import default_memory
from burnish.console.command_parser import CommandParser
from burnish.console.numbers import change_text, duration_text
from burnish.console.progress import Bars
from burnish.console.table_forms import TableForm, add_table_form, form_of
from burnish.console.tables import TextTable, figures, names
from burnish.core.errors import CompilerKilled, InputError

LEAST_PRIORITY = 19  # of a process: nice(2)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def main(arguments: list[str]) -> int:
    """Run `burnish improve`; return its exit code.

    Raises:
        InputError: an option is wrong, or no build has compiled anything here.
        CompilerKilled: all processes have ended; see improve_all.
    """
    options = _parser().parse(arguments)
    seconds = _seconds(options.time)
    if options.jobs < 1:
        raise InputError(f"--jobs {options.jobs}: expected 1 or more processes")
    if not 0 <= options.nice <= LEAST_PRIORITY:
        raise InputError(f"--nice {options.nice}: expected 0 to {LEAST_PRIORITY}")
    memory, directory = options.remember.absolute(), Path(options.directory).resolve()
    if not memory.is_file():
        raise InputError(f"{memory}: no such memory; build something first: make CC=burnish-cc CFLAGS=-Oz")
    items = ObjectMemory(memory).compilations(directory)
    if not items:
        raise InputError(f"{memory}: no object that was built at or below {directory}")
    steps: list[Improved] = []
    killed: CompilerKilled | None = None
    try:
        with _Line(seconds) as line:

            def done(step: Improved) -> None:
                steps.append(step)
                line(step)

            improve_all(items, memory, seconds, options.jobs, options.nice, done, line.say)
    except KeyboardInterrupt:
        sys.stderr.write("burnish improve: stopped; what was found is kept\n")
    except CompilerKilled as error:
        killed = error
    found = ObjectMemory(memory).compilations(directory)  # also of the step that was stopped
    _show(items, found, steps, directory, form_of(options))
    if killed:
        raise killed
    return 0


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish improve",
        description="Search on for objects and whole programs that burnish cc, c++ and rustc remember. "
        "The next build takes what is found: make clean && make. It can be stopped at any time.",
    )
    parser.add_argument(
        "--for", dest="time", default="10m", metavar="TIME", help="30s, 10m (default), 1h: wall time"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="processes (default: all cores)"
    )
    parser.add_argument(
        "--nice",
        type=int,
        default=LEAST_PRIORITY,
        metavar="N",
        help="of the searches: 0 for the priority of this command, up to 19 for the least (default)",
    )
    parser.add_argument(
        "--directory", default=".", metavar="DIR", help="builds at or below it (default: here)"
    )
    parser.add_argument(
        "--remember",
        type=Path,
        default=default_memory(),
        metavar="FILE",
        help="the memory of these builds (default: the one of all builds)",
    )
    add_table_form(parser)
    return parser


def _seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9]+\.?[0-9]*)([smh])", text)
    if not found or not float(found[1]):
        raise InputError(f"--for {text}: expected 30s, 10m or 1h")
    return float(found[1]) * _UNITS[found[2]]


class _Line(Bars):
    """The live line: the time that is left, and the bytes saved so far."""

    def __init__(self, seconds: float) -> None:
        super().__init__(BarColumn(20), TextColumn("{task.description}", markup=False))
        self._seconds, self._count = seconds, 0
        self._saved = Counter[str]()  # bytes, by objective
        self._bar = self._bars.add_task("searching", total=seconds)

    def __call__(self, step: Improved) -> None:
        """Show that a step has ended."""
        self._saved[step.before.compilation.objective] += step.saved_bytes
        self._count += 1
        now = time.monotonic() - self._start
        saved = " and ".join(f"{size:,} {_words(name)}" for name, size in sorted(self._saved.items()))
        text = f"{self._count} searches, {saved} saved"
        left = f", {duration_text(max(0.0, self._seconds - now))} left"
        self._bars.update(self._bar, completed=now, description=text + left)
        self._log(text + left)


def _show(
    items: Sequence[Remembered],
    found: Sequence[Remembered],
    steps: Sequence[Improved],
    directory: Path,
    form: TableForm,
) -> None:
    """Print the objects that became smaller, and the sums for each objective; `found` is remembered now."""
    now = {item.key: item.cost for item in items} | {item.key: item.cost for item in found}
    objectives = sorted({item.compilation.objective for item in items})
    tables = []
    for objective in objectives:
        columns = (names("source"), *figures("compiler", "before", "now", "change"))
        table = TextTable(columns, title=_words(objective) if len(objectives) > 1 else "")
        tables.append(table)
        of_objective = [item for item in items if item.compilation.objective == objective]
        sums = [0, 0, 0]
        for item in sorted(of_objective, key=lambda item: item.compilation.source):
            made = item.compilation
            assert made.before  # see ObjectMemory.compilations
            sizes = made.before.bytes_of(objective), item.cost, now[item.key]
            sums = [total + size for total, size in zip(sums, sizes, strict=True)]
            if sizes[2] < sizes[1]:
                source = os.path.relpath(Path(made.directory, made.source), directory)
                table.add(source, *_cells(sizes))
        table.end_section()
        count = f"{len(of_objective)} file{'' if len(of_objective) == 1 else 's'}"
        table.add_total(count, *_cells(sums))
    form.show(*tables)
    reasons = Counter(step.reason for step in steps if step.reason)
    for reason, number in reasons.most_common():
        form.note(f"{number:4} {reason}")


def _cells(sizes: Sequence[int]) -> list[str]:
    return [*(f"{size:,}" for size in sizes), change_text(change_percent(sizes[1], sizes[2]))]


def _words(objective: str) -> str:
    return objective.replace("-", " ")
