"""burnish report --linked: the loaded bytes of a linked program, beside another build of the program."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from burnish.cc.build_summary import change_percent
from burnish.cc.linked import KINDS, Linked, read_linked
from burnish.console.numbers import change_text
from burnish.console.table_forms import TableForm
from burnish.console.tables import Column, TextTable, figures, texts


def show_linked(program: Path, against: Path | None, form: TableForm | None) -> int:
    """Print a program's allocated sections by kind, as JSON if `form` is None; return the exit code.

    Raises:
        InputError: one of the files is not a linked program.
    """
    found = read_linked(program)
    other = read_linked(against) if against else None
    if form:
        form.show(_table(program, found, against, other))
    else:
        sys.stdout.write(json.dumps(_as_json(program, found, against, other)) + "\n")
    return 0


def _as_json(program: Path, found: Linked, against: Path | None, other: Linked | None) -> dict[str, object]:
    row: dict[str, object] = {"program": _figures(program, found)}
    if not other or not against:
        return row
    change = change_percent(other.loaded_bytes, found.loaded_bytes)
    return row | {"against": _figures(against, other), "change_percent": change}


def _figures(path: Path, linked: Linked) -> dict[str, object]:
    sections: Counter[str] = Counter()  # a name may occur twice
    for section in linked.sections:
        sections[section.name] += section.size_bytes
    return {
        "path": str(path),
        "loaded_bytes": linked.loaded_bytes,
        "bss_bytes": linked.bss_bytes,
        "kinds": {kind: linked.of_kind(kind) for kind in KINDS},
        "sections": dict(sections),
    }


def _table(program: Path, found: Linked, against: Path | None, other: Linked | None) -> TextTable:
    columns = [texts("bytes")]
    if other:
        columns += [*figures(str(against), str(program)), Column("", label="difference"), *figures("change")]
    else:
        columns += [*figures(str(program)), texts("sections")]
    table = TextTable(tuple(columns))
    for kind in (*KINDS, "loaded", "bss"):
        sizes = [_size_of(linked, kind) for linked in (other, found) if linked]
        more = [_difference(*sizes), change_text(change_percent(*sizes))] if other else [_names(kind, found)]
        table.add(kind, *(f"{size:,}" for size in sizes), *more)
        if kind in (KINDS[-1], "loaded"):
            table.end_section()
    return table


def _size_of(linked: Linked, kind: str) -> int:
    return linked.loaded_bytes if kind == "loaded" else linked.of_kind(kind)


def _names(kind: str, linked: Linked) -> str:
    if kind == "loaded":
        return "all of the above: the bytes in the file that the program loads"
    return " ".join(dict.fromkeys(section.name for section in linked.sections if section.kind == kind))


def _difference(before: int, after: int) -> str:
    return f"{after - before:+,}" if after != before else "0"
