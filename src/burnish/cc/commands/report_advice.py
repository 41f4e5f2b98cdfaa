"""burnish report --advice: options that make a linked program smaller, each measured."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from burnish.cc import build_log
from burnish.cc.advice import MeasuredAdvice, Measurements, measure_advice
from burnish.cc.build_summary import change_percent
from burnish.cc.remaking import read_link_command
from burnish.console.table_forms import TableForm
from burnish.console.tables import Column, TextTable, figures, texts


def show_advice(words: list[str], log: Path | None, form: TableForm | None) -> int:
    """Measure and print the bytes that each option saves, as JSON if `form` is None; return the exit code.

    Raises:
        InputError: the words are not a command that links, or the command fails.
    """
    command = read_link_command(words, Path.cwd())
    # the build log may be missing: options of the linker can be measured without it
    records = (
        build_log.read(log or build_log.default_log()) if log or build_log.default_log().is_file() else []
    )
    found = measure_advice(command, records)
    if form:
        _print(found, form)
    else:
        sys.stdout.write(json.dumps(_as_json(found)) + "\n")
    return 0


def _as_json(found: Measurements) -> dict[str, object]:
    return {
        "loaded_bytes": found.as_linked.loaded_bytes,
        "base_bytes": found.base.loaded_bytes,
        "advice": [
            {
                "options": one.advice.options,
                "saved_bytes": one.saved_bytes if one.linked else None,
                "gives_up": one.advice.gives_up,
                "why_not": one.why_not,
            }
            for one in found.measured
        ],
        "together_bytes": found.together.loaded_bytes if found.together else None,
        "objects_compiled_again": found.remade,
        "objects_kept": {str(path): why for path, why in found.kept.items()},
    }


def _print(found: Measurements, form: TableForm) -> None:
    form.show(_table(found))
    for one in _saving(found):
        form.note(f"{one.advice.options} gives up: {one.advice.gives_up}")
    nothing = [one.advice.options for one in found.measured if one.linked and one.saved_bytes <= 0]
    if nothing:
        form.note(f"saved nothing: {'; '.join(nothing)}")
    for one in found.measured:
        if not one.linked:
            form.note(f"not measured: {one.advice.options}: {one.why_not}")
    form.note(f"{found.remade} objects were compiled again, with the same passes")
    for why, count in Counter(found.kept.values()).most_common():
        form.note(f"{count} stay as they are in every row: {why}")


def _table(found: Measurements) -> TextTable:
    base = found.base.loaded_bytes
    table = TextTable((texts("options"), *figures("loaded", "saved"), Column("", label="change")))

    def row(options: str, loaded: int, *, ends: bool = False) -> None:
        saved = "" if loaded == base else f"{base - loaded:,}"
        change = "" if loaded == base else f"{change_percent(base, loaded):+.1f} %"
        table.add(options, f"{loaded:,}", saved, change)
        if ends:
            table.end_section()

    if found.as_linked.loaded_bytes == base:
        row("as it is linked", base, ends=True)
    else:
        row("as it is linked", found.as_linked.loaded_bytes)
        row("the same by lld, which the rest is compared with", base, ends=True)
    saving = _saving(found)
    for one in saving:
        assert one.linked
        row(one.advice.options, one.linked.loaded_bytes, ends=one is saving[-1])
    if found.together:
        row("all of these", found.together.loaded_bytes)
    return table


def _saving(found: Measurements) -> list[MeasuredAdvice]:
    return [one for one in found.measured if one.linked and one.saved_bytes > 0]
