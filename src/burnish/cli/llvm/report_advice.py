"""burnish report --advice: options that would make a linked program smaller, each measured."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.driver import build_log
from burnish.driver.advice import MeasuredAdvice, Measurements, measure_advice
from burnish.driver.build_summary import change_percent
from burnish.driver.linking import read_link_command

if TYPE_CHECKING:
    from rich.table import Table


def show_advice(words: list[str], log: Path | None, *, as_json: bool) -> int:
    """Measure what each option saves of a program, and print it; return the exit code.

    Raises:
        InputError: the words are no command that links, or it fails.
    """
    command = read_link_command(words, Path.cwd())
    # without a build log of the user's the linker's options can be measured all the same
    records = (
        build_log.read(log or build_log.default_log()) if log or build_log.default_log().is_file() else []
    )
    found = measure_advice(command, records)
    if as_json:
        sys.stdout.write(json.dumps(_as_json(found)) + "\n")
    else:
        _print(found)
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


def _print(found: Measurements) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    console.print(_table(found))
    for one in _saving(found):
        console.print(f"{one.advice.options} gives up: {one.advice.gives_up}", markup=False, soft_wrap=True)
    nothing = [one.advice.options for one in found.measured if one.linked and one.saved_bytes <= 0]
    if nothing:
        console.print(f"saved nothing: {'; '.join(nothing)}", markup=False, soft_wrap=True)
    for one in found.measured:
        if not one.linked:
            console.print(f"not measured: {one.advice.options}: {one.why_not}", markup=False, soft_wrap=True)
    console.print(f"{found.remade} objects were compiled again, with the same passes", markup=False)
    for why, count in Counter(found.kept.values()).most_common():
        console.print(f"{count} stay as they are in every row: {why}", markup=False, soft_wrap=True)


def _table(found: Measurements) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    base = found.base.loaded_bytes
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("options", overflow="fold")
    for name in ("loaded", "saved", ""):
        table.add_column(name, justify="right")

    def row(options: str, loaded: int, *, ends: bool = False) -> None:
        cells = (
            ["", ""] if loaded == base else [f"{base - loaded:,}", f"{change_percent(base, loaded):+.1f} %"]
        )
        table.add_row(*map(Text, (options, f"{loaded:,}", *cells)), end_section=ends)

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
