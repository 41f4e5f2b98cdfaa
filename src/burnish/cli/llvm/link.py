"""burnish link: one program of objects that have units, of sources and of bitcode, as one module."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from burnish.cli.llvm import cc
from burnish.cli.llvm.launch import find_launcher
from burnish.cli.show.numbers import change_text
from burnish.core.errors import BurnishError, InputError
from burnish.driver import build_log
from burnish.driver.build_log import Record
from burnish.driver.build_summary import change_percent
from burnish.driver.jobs import make_plan
from burnish.driver.linked import read_linked
from burnish.driver.requests import Unimproved
from burnish.toolchain import CXX_SUFFIXES, find_tool
from burnish.whole_program.inputs import linked_files
from burnish.whole_program.link_job import LinkJob, link_job_of

HELP = """\
usage: burnish link [OPTION]... FILE... -o PROGRAM [CLANG-ARGUMENT]...

Link objects and static libraries that `burnish cc --whole-program` made, C and C++ sources, and bitcode
from before any pass (.bc, .ll) to a program or, with -shared, a library: all that have bitcode as one module.
That is what `burnish cc --whole-program` does where it links, and prints what it came to.
  burnish link --budget 60s main.o libparts.a -lm -o program -Wl,--gc-sections

Options come before the first file:
  --against-lto      link by clang's own link-time optimization, too, and say what that program loads
  --budget, --objective, --speed-limit, --search, --policy, --code-generation, --remember, --seed, --report
                     as of burnish cc
  --help             this text
"""
_LTO = "--against-lto"
_DEADLINE_SECONDS = 3600.0


def main(arguments: list[str]) -> int:
    """Run `burnish link`; return its exit code.

    Raises:
        InputError: an option is wrong, or there is nothing to link.
    """
    words = [word for word in arguments if word != _LTO]
    against_lto = len(words) < len(arguments)
    options, rest = cc.parse(words, switches=(_LTO,))
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
        command = [find_launcher(f"burnish-{name}"), "--whole-program", *own, "--report", str(log)]
        code = subprocess.run([*command, "--", "-Oz", *rest], check=False).returncode
        for record in build_log.read(log) if log.is_file() else []:
            build_log.append(options.log or build_log.default_log(), record)
            if record.source.endswith(" units"):
                _print(record)
        if against_lto and not code:
            _print_lto(name, rest, Path(folder))
    return code if code >= 0 else 128 - code


def _is_cxx(words: list[str]) -> bool:
    """Say whether a source or a unit is C++."""
    if any(Path(word).suffix in CXX_SUFFIXES for word in words):
        return True
    try:
        files = linked_files(["ld", *words])
    except Unimproved:
        return False
    units = [found.unit for file in files for _, found in file.parts if found]
    return any(unit.job.language.startswith("c++") for unit in units)


def _print(record: Record) -> None:
    print(f"{record.output}: {record.source} in one module, {record.evaluations} evaluations")
    if record.reason:
        print(f"  {record.reason}")
    for what, before, after in (
        ("loaded", record.loaded_bytes_before, record.loaded_bytes),
        ("code", record.text_bytes_before, record.text_bytes),
    ):
        change = change_percent(before, after)
        if change is not None:
            print(f"  {what}: {before:,} -> {after:,} bytes ({change_text(change)})")


def _print_lto(name: str, rest: list[str], folder: Path) -> None:
    """Print what clang's own link-time optimization makes of it.

    Raises:
        InputError: it does not link.
    """
    from burnish.whole_program.clang_lto import link_by_clang_lto

    plan = make_plan(find_tool("clang++" if name == "c++" else "clang"), rest)
    linker: LinkJob | None = link_job_of(plan.jobs) if plan and not plan.compilations else None
    if not linker:
        raise InputError(f"{_LTO}: expected objects alone, and one program of them")
    try:
        lto = link_by_clang_lto(linker, folder, _DEADLINE_SECONDS)
    except (Unimproved, BurnishError, OSError) as why:
        raise InputError(f"{_LTO}: {why}") from None
    ours = read_linked(linker.output).loaded_bytes
    print(
        f"  by clang's link-time optimization: {lto.loaded_bytes:,} bytes ({ours - lto.loaded_bytes:+,} here)"
    )
