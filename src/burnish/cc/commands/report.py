"""burnish report: the results of builds with burnish cc, file by file."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

from burnish.cc import build_log
from burnish.cc.build_log import Record
from burnish.cc.build_summary import (
    BuildSummary,
    change_percent,
    reason_kind,
    reason_of,
    summarise,
    summary_of,
)
from burnish.console.command_parser import CommandParser
from burnish.console.numbers import change_text
from burnish.console.table_forms import TableForm, add_table_form, form_of
from burnish.console.tables import TextTable, figures, names, texts
from burnish.core.errors import InputError


def main(arguments: list[str]) -> int:
    """Run `burnish report`; return its exit code.

    Raises:
        InputError: an option or a file is wrong, or nothing is left to show.
    """
    at = arguments.index("--") if "--" in arguments else len(arguments)
    link = arguments[at + 1 :]
    options = _parser().parse(arguments[:at])
    form = None if options.json else form_of(options)
    if options.advice:
        from burnish.cc.commands.report_advice import show_advice

        return show_advice(link, options.file, form)
    if link:
        raise InputError(f"{' '.join(link[:3])} ...: only --advice takes a command after --")
    if options.against and not options.linked:
        raise InputError(f"--against {options.against}: expected the program, too: --linked PROGRAM")
    if options.linked:
        from burnish.cc.commands.report_linked import show_linked

        return show_linked(options.linked, options.against, form)
    log = options.file or build_log.default_log()
    directory = Path(options.directory).resolve()
    records = build_log.read(log)
    if cause := build_log.why_not_writable(log):
        sys.stderr.write(f"burnish: the build log cannot be written: {cause}; it lacks later builds\n")
    summary = summarise(records, directory, gone_too=options.all)
    if not summary.records:
        gone = f"; {summary.gone} were deleted since (--all shows them)" if summary.gone else ""
        raise InputError(f"{log}: no object at or below {directory}{gone}")
    if options.files is not None:
        summary = _of_reason(summary, options.files)
    if form:
        _print(summary, directory, form, reasons=options.files is not None)
    else:
        sys.stdout.write(json.dumps(_as_json(summary)) + "\n")
    return 0


def _of_reason(summary: BuildSummary, words: str) -> BuildSummary:
    """Return a summary of the files whose reason, or action if there is none, contains some words."""

    def said(record: Record) -> bool:
        reason = reason_of(record) or record.action
        return any(words.casefold() in text.casefold() for text in (reason, reason_kind(reason)))

    found = [record for record in summary.records if said(record)]
    if not found:
        known = "; ".join(reason for reason, _ in summary.reasons) or "none"
        raise InputError(f"--files {words}: no file has such a reason; reasons: {known}")
    return summary_of(found)


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish report",
        description="Show, for the objects that burnish cc and c++ last wrote, the bytes that a linked "
        "program loads before and after, the change of .text, and why some are unchanged. With --linked, "
        "show the bytes that a linked program loads.",
    )
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="the build log (default: the user's)"
    )
    parser.add_argument(
        "--directory", default=".", metavar="DIR", help="objects at or below it (default: here)"
    )
    parser.add_argument("--all", action="store_true", help="include objects that were deleted since")
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
        help="compare with another build of it, such as clang's",
    )
    parser.add_argument(
        "--advice",
        action="store_true",
        help="try other options and show their savings: burnish report --advice -- clang -o a.out a.o",
    )
    parser.add_argument("--files", metavar="REASON", help="only files whose outcome or reason has this text")
    add_table_form(parser, json="one JSON object instead of a table")
    return parser


def _as_json(summary: BuildSummary) -> dict[str, object]:
    total = {
        "files": len(summary.records),
        "gone": summary.gone,
        "unmeasured": summary.unmeasured,
        "crashes": summary.crashes,
        "recalled": summary.recalled,
        "loaded_bytes_before": summary.loaded_bytes_before,
        "loaded_bytes": summary.loaded_bytes,
        "change_percent": change_percent(summary.loaded_bytes_before, summary.loaded_bytes),
        "saved_once_linked": summary.saved_once_linked,
        "text_bytes_before": summary.text_bytes_before,
        "text_bytes": summary.text_bytes,
        "text_change_percent": change_percent(summary.text_bytes_before, summary.text_bytes),
    }
    reasons = [{"reason": reason, "files": count} for reason, count in summary.reasons]
    return {"total": total, "reasons": reasons, "files": [asdict(record) for record in summary.records]}


def _print(summary: BuildSummary, directory: Path, form: TableForm, *, reasons: bool) -> None:
    form.show(_table(summary, directory, reasons=reasons))
    if reasons:
        return
    if saved := _saved_once_linked(summary):
        form.note(saved)
    for why, count in summary.reasons:
        form.note(f"{count:4} {why}")
    if summary.reasons:
        form.note("     --files REASON lists the files of a reason")
    if summary.recalled:
        form.note(f"{summary.recalled:4} as an earlier build found them, without a search")
    for why, count in summary.memory_errors:
        form.note(f"{count:4} of which nothing is remembered: {why}")
    if summary.unmeasured:
        form.note(
            f"{summary.unmeasured:4} without a size: these are not objects, or temporary objects "
            "that were linked at once"
        )
    if summary.crashes:
        crashes = "crash" if summary.crashes == 1 else "crashes"
        form.note(f"{summary.crashes:4} {crashes} of the compiler while searching: no harm to the build")
    if summary.gone:
        form.note(f"{summary.gone:4} left out: objects that were deleted since; --all shows them")


def _table(summary: BuildSummary, directory: Path, *, reasons: bool) -> TextTable:
    count = len(summary.records)
    figures_of = (summary.loaded_bytes_before, summary.loaded_bytes)
    columns = (
        names("output"),
        names("source", spare=True),
        names("level"),
        *figures("loaded", "now", "change", ".text"),
        texts("reason") if reasons else texts("", label="action"),
    )
    table = TextTable(columns)
    for record in summary.records:
        sizes = record.loaded_bytes_before, record.loaded_bytes
        table.add(
            os.path.relpath(record.output_path, directory),
            record.source,
            f"-{record.level}" if record.level else "",
            *map(_bytes, sizes),
            change_text(change_percent(*sizes)),
            change_text(change_percent(record.text_bytes_before, record.text_bytes)),
            reason_of(record) if reasons else record.action,
        )
    table.end_section()
    table.add_total(
        f"{count} file{'' if count == 1 else 's'}",
        "",
        "",
        *map(_bytes, figures_of),
        change_text(change_percent(*figures_of)),
        change_text(change_percent(summary.text_bytes_before, summary.text_bytes)),
        "",
    )
    return table


def _saved_once_linked(summary: BuildSummary) -> str:
    """Return a note on the bytes saved in a linked program, if they differ from the table's total, or ""."""
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
