"""burnish link: objects with units, sources and bitcode linked into one program, as one module."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from burnish.cc import build_log, processes
from burnish.cc.build_log import Record
from burnish.cc.build_summary import change_percent
from burnish.cc.commands import cc
from burnish.cc.commands.launch import find_launcher
from burnish.cc.jobs import make_plan
from burnish.cc.link.inputs import linked_files, taken_units
from burnish.cc.link.link_job import link_job_of
from burnish.cc.link.merging import replaced, without_units
from burnish.cc.linked import Linked, read_linked
from burnish.cc.requests import DriverOptions, KeptReference
from burnish.console.numbers import change_text
from burnish.console.table_forms import FORMS, TABLE, TableForm
from burnish.console.tables import TextTable, figures, texts
from burnish.core.errors import BurnishError, InputError, UnknownName
from burnish.llvm.toolchain import CXX_SUFFIXES, find_tool

HELP = """\
usage: burnish link [OPTION]... FILE... -o PROGRAM [CLANG-ARGUMENT]...

Link objects and static libraries that `burnish cc --whole-program` made, C and C++ sources, and bitcode
from before any pass (.bc, .ll) to a program or, with -shared, a library: all that have bitcode as one module.
That is what `burnish cc --whole-program` does where it links, and prints what it came to.
  burnish link --budget 60s main.o libparts.a -lm -o program -Wl,--gc-sections

Options come before the first file:
  --against-lto      link by clang's own link-time optimization, too, and say what that program loads
  --format FORM      of the table: table (default, for reading), markdown or csv
  --budget, --objective, --speed-limit, --stack-limit, --ram-limit, --search, --policy, --code-generation,
  --remember, --seed, --report: as of burnish cc
  --help             this text
"""
_LTO, _FORMAT = "--against-lto", "--format"
_DEADLINE_SECONDS = 3600.0


def main(arguments: list[str]) -> int:
    """Run `burnish link`; return its exit code.

    Raises:
        InputError: an option is wrong, or there is nothing to link.
    """
    words = [word for word in arguments if word != _LTO]
    against_lto = len(words) < len(arguments)
    forms = [TABLE]

    def read_form(options: DriverOptions, value: str) -> DriverOptions:
        if value not in FORMS:
            raise UnknownName.among("format", value, FORMS)
        forms.append(value)
        return options

    options, rest = cc.parse(words, {_FORMAT: read_form}, (_LTO,))
    if options is None:
        sys.stdout.write(HELP)
        return 0
    if not rest:
        raise InputError("nothing to link; expected burnish link FILE... -o PROGRAM")
    own = words[: len(words) - len(rest)]
    own = own[:-1] if own[-1:] == ["--"] else own
    with tempfile.TemporaryDirectory(prefix="burnish-link-") as folder:
        log = Path(folder, "log.jsonl")
        name = "c++" if _is_cxx(rest) else "cc"
        launcher = find_launcher(f"burnish-{name}")
        command = [launcher, "--whole-program", *_without_form(own), "--report", str(log)]
        code = subprocess.run([*command, "--", "-Oz", *rest], check=False).returncode
        records = build_log.read(log) if log.is_file() else []
        for record in records:
            build_log.append(options.log or build_log.default_log(), record)
        programs = [record for record in records if record.source.endswith(" units")]
        why: InputError | None = None
        lto: Linked | None = None
        if against_lto and not code:
            try:
                lto = _by_lto(name, rest, Path(folder))
            except InputError as error:
                why = error
        for record in programs:
            _print(record, lto, TableForm(forms[-1]))
        if why:
            raise why
    return code if code >= 0 else 128 - code


def _without_form(own: list[str]) -> list[str]:
    """Return the options without --format, which the drop-in compilers lack."""
    words = list(own)
    while _FORMAT in words:
        at = words.index(_FORMAT)
        del words[at : at + 2]
    return [word for word in words if not word.startswith(f"{_FORMAT}=")]


def _is_cxx(words: list[str]) -> bool:
    """Return whether a source or a unit is C++."""
    if any(Path(word).suffix in CXX_SUFFIXES for word in words):
        return True
    try:
        files = linked_files(["ld", *words])
    except KeptReference:
        return False
    units = [part.found.unit for file in files for part in file.parts if part.found]
    return any(unit.job.language.startswith("c++") for unit in units)


def _print(record: Record, lto: Linked | None, form: TableForm) -> None:
    """Print the sizes of a program, beside those of clang's link-time optimization."""
    columns = (texts("bytes"), *figures("linked", "now", "change"))
    more = figures("clang -flto", "against it") if lto else ()
    about = f"{record.output}: {record.source} in one module, {record.evaluations} evaluations"
    table = TextTable((*columns, *more), title=about)
    for what, before, after in (
        ("loaded", record.loaded_bytes_before, record.loaded_bytes),
        ("code", record.text_bytes_before, record.text_bytes),
    ):
        if before is None or after is None:
            continue
        beside = []
        if lto:
            other = lto.loaded_bytes if what == "loaded" else lto.of_kind("code")
            beside = [f"{other:,}", change_text(change_percent(other, after))]
        table.add(what, f"{before:,}", f"{after:,}", change_text(change_percent(before, after)), *beside)
    if table.rows:
        form.show(table)
    else:
        form.note(about)
    if record.reason:
        form.note(record.reason)


def _by_lto(name: str, rest: list[str], folder: Path) -> Linked:
    """Return the sizes of the program that clang's own link-time optimization links.

    lld links as if all units had been compiled with -flto at their own levels.
    """
    plan = make_plan(find_tool("clang++" if name == "c++" else "clang"), rest)
    job = link_job_of(plan.jobs) if plan and not plan.compilations else None
    if not job:
        raise InputError(f"{_LTO}: expected only objects, and one program as their output")
    try:
        files = linked_files(job.command)
        units = taken_units(job, files, folder, _DEADLINE_SECONDS)
        words = without_units(files, units, folder)
        objects = [folder / f"lto-{number}.o" for number in range(len(units))]
        for unit, made in zip(units, objects, strict=True):
            source = made.with_suffix(".bc")
            source.write_bytes(unit.bitcode)
            prelink = unit.job.silenced().instead(["-flto=full", "-emit-llvm-bc"], made, source)
            processes.run_quietly(prelink.command, _DEADLINE_SECONDS)
        output = folder / "by-clang-lto"
        job.changed(replaced(words, *objects), output).by_lld().run(_DEADLINE_SECONDS)
        return read_linked(output)
    except (KeptReference, BurnishError, OSError) as why:
        raise InputError(f"{_LTO}: {why}") from None
