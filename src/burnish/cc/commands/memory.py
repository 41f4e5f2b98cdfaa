"""burnish memory: the contents of the memory of builds, and those of others added to it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from burnish.cc.memory_file import contents, merge
from burnish.cc.requests import default_memory
from burnish.console.command_parser import CommandParser
from burnish.core.errors import InputError


def main(arguments: list[str]) -> int:
    """Run `burnish memory`; return its exit code.

    Raises:
        InputError: an option or a file is wrong.
    """
    options = _parser().parse(arguments)
    memory: Path = options.file or default_memory()
    for other in options.merge:
        if not other.is_file():
            raise InputError(f"--merge {other}: no such file; expected a memory of builds")
    if options.merge:
        memory.parent.mkdir(parents=True, exist_ok=True)
    elif not memory.is_file():
        raise InputError(f"{memory}: no such memory; build something first: make CC=burnish-cc CFLAGS=-Oz")
    for other in options.merge:
        merge(memory, other)
    found = contents(memory)
    if options.json:
        print(json.dumps({"file": str(memory)} | asdict(found)))
        return 0
    print(f"{memory}: {found.file_bytes:,} bytes")
    print(f"{found.objects:8,} objects and programs, {found.smaller:,} smaller than the compiler's")
    print(f"{found.compilations:8,} compilations and links")
    print(f"{found.units:8,} units of whole programs")
    print(f"{found.functions:8,} functions with traces that searches begin with")
    return 0


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish memory",
        description="Show what builds with burnish cc and c++ remember; with --merge, first add what others "
        "remember. Of two objects for the same file, the smaller one stays.",
    )
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="the memory (default: that of all builds)"
    )
    parser.add_argument(
        "--merge", action="append", default=[], type=Path, metavar="OTHER", help="another memory; repeatable"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser
