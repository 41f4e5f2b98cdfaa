"""burnish report: what builds with burnish cc came to, file by file."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cli.show.numbers import change_text
from burnish.core.errors import BurnishError, InputError
from burnish.driver import build_log
from burnish.driver.build_summary import BuildSummary, change_percent, summarise

if TYPE_CHECKING:
    from rich.table import Table

MOST_REASONS = 10


def main(arguments: list[str]) -> int:
    """Run `burnish report`; return its exit code."""
    own, link = _divide(arguments)
    options = _parser().parse_args(own)
    try:
        if options.advice:
            from burnish.cli.llvm.report_advice import show_advice

            return show_advice(link, options.file, as_json=options.json)
        if link:
            raise InputError(f"{' '.join(link[:3])} ...: a command after -- is for --advice")
        if options.against and not options.linked:
            raise InputError(f"--against {options.against}: of which program? --linked PROGRAM names it")
        if options.linked:
            from burnish.cli.llvm.report_linked import show_linked

            return show_linked(options.linked, options.against, as_json=options.json)
        log = options.file or build_log.default_log()
        directory = Path(options.directory).resolve()
        summary = summarise(build_log.read(log), directory, gone_too=options.all)
        if not summary.records:
            raise InputError(f"{log}: no object at or below {directory}{_of_those_gone(summary)}")
    except BurnishError as error:
        sys.stderr.write(f"burnish report: {error}\n")
        return 2
    if options.json:
        sys.stdout.write(json.dumps(_as_json(summary)) + "\n")
    else:
        _print(summary, directory)
    return 0


def _divide(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Return the arguments before and after the first --."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="burnish report",
        description="Show the bytes that a linked program loads, before and after, and the change of .text, "
        "for the objects that burnish cc and c++ last wrote, and why some are as clang made them; "
        "or, with --linked, what a linked program loads.",
    )
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="the build log (default: the user's)"
    )
    parser.add_argument(
        "--directory", default=".", metavar="DIR", help="objects at or below it (default: here)"
    )
    parser.add_argument("--all", action="store_true", help="with objects that were deleted since")
    parser.add_argument(
        "--linked",
        type=Path,
        metavar="PROGRAM",
        help="the bytes that a linked program or shared library loads, by kind of section",
    )
    parser.add_argument(
        "--against",
        type=Path,
        metavar="PROGRAM",
        help="beside what another build of it loads, such as clang's",
    )
    parser.add_argument(
        "--advice",
        action="store_true",
        help="what other options would save, each tried: burnish report --advice -- clang -o a.out a.o",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    return parser


def _as_json(summary: BuildSummary) -> dict[str, object]:
    total = {
        "files": len(summary.records),
        "gone": summary.gone,
        "unmeasured": summary.unmeasured,
        "loaded_bytes_before": summary.loaded_bytes_before,
        "loaded_bytes": summary.loaded_bytes,
        "change_percent": change_percent(summary.loaded_bytes_before, summary.loaded_bytes),
        "saved_once_linked": summary.saved_once_linked,
        "text_bytes_before": summary.text_bytes_before,
        "text_bytes": summary.text_bytes,
        "text_change_percent": change_percent(summary.text_bytes_before, summary.text_bytes),
    }
    return {"total": total, "files": [asdict(record) for record in summary.records]}


def _print(summary: BuildSummary, directory: Path) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_table(summary, directory))
    if saved := _saved_once_linked(summary):
        console.print(saved, soft_wrap=True)
    for why, count in summary.reasons[:MOST_REASONS]:
        console.print(f"{count:4} {why}", markup=False, soft_wrap=True)
    if len(summary.reasons) > MOST_REASONS:
        console.print(f"     and {len(summary.reasons) - MOST_REASONS} reasons more: --json has all")
    if summary.unmeasured:
        console.print(f"{summary.unmeasured:4} without a size: clang's temporary objects, linked at once")
    if summary.gone:
        console.print(f"{summary.gone:4} left out: objects that were deleted since; --all shows them")


def _table(summary: BuildSummary, directory: Path) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    count = len(summary.records)
    table = Table(box=box.SIMPLE_HEAD, show_footer=True)
    table.add_column("output", f"{count} file{'' if count == 1 else 's'}", overflow="fold")
    table.add_column("source", overflow="fold")
    table.add_column("level")
    table.add_column("loaded", f"{summary.loaded_bytes_before:,}", justify="right")
    table.add_column("now", f"{summary.loaded_bytes:,}", justify="right")
    table.add_column(
        "change",
        change_text(change_percent(summary.loaded_bytes_before, summary.loaded_bytes)),
        justify="right",
    )
    table.add_column(
        ".text", change_text(change_percent(summary.text_bytes_before, summary.text_bytes)), justify="right"
    )
    table.add_column("")
    for record in summary.records:
        sizes = record.loaded_bytes_before, record.loaded_bytes
        output = os.path.relpath(record.output_path, directory)
        row = [
            output,
            record.source,
            f"-{record.level}",
            *map(_bytes, sizes),
            change_text(change_percent(*sizes)),
            change_text(change_percent(record.text_bytes_before, record.text_bytes)),
            record.action,
        ]
        table.add_row(*map(Text, row))
    return table


def _saved_once_linked(summary: BuildSummary) -> str:
    """Say what reaches a program, where that is not what the table adds up to."""
    saved = summary.loaded_bytes_before - summary.loaded_bytes
    linked = summary.saved_once_linked
    if linked is None or linked == saved:
        return ""
    reached = (
        f"Of {saved:,} bytes saved, about {linked:,} reach a program of all these objects"
        if linked >= 0
        else f"A program of all these objects loads about {-linked:,} bytes more, though they save {saved:,}"
    )
    return (
        f"{reached}: several define the same inline functions, and a linker keeps one copy. "
        "--linked PROGRAM shows what a program loads."
    )


def _bytes(size: int | None) -> str:
    return "" if size is None else f"{size:,}"


def _of_those_gone(summary: BuildSummary) -> str:
    return f"; {summary.gone} were deleted since (--all shows them)" if summary.gone else ""
