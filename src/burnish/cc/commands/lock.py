"""burnish lock: a file with what was found for a project, for the same objects and programs everywhere."""

from __future__ import annotations

from pathlib import Path

from burnish.cc import build_log
from burnish.cc.build_summary import summarise
from burnish.cc.lock import NAME, write_lock
from burnish.console.command_parser import CommandParser
from burnish.core.errors import InputError


def main(arguments: list[str]) -> int:
    """Run `burnish lock`; return its exit code.

    Raises:
        InputError: an option or a file is wrong, or no object was searched here.
    """
    options = _parser().parse(arguments)
    log = options.file or build_log.default_log()
    directory = Path(options.directory).resolve()
    records = summarise(build_log.read(log), directory).records
    output = (options.output or directory / NAME).absolute()
    if not (count := write_lock(output, records)):
        output.unlink()
        raise InputError(f"{log}: no object at or below {directory} was searched; build it first")
    objects = "object or program" if count == 1 else "objects and programs"
    print(f'{output}: {count} {objects}; CC="burnish-cc --lock {output}" makes the same')
    return 0


def _parser() -> CommandParser:
    parser = CommandParser(
        prog="burnish lock",
        description="Write what the last builds with burnish cc and c++ found to a file. With --lock FILE, "
        "the compilers search nothing and make the same objects and programs on every machine.",
    )
    parser.add_argument(
        "file", nargs="?", type=Path, metavar="FILE", help="the build log (default: the user's)"
    )
    parser.add_argument(
        "--directory", default=".", metavar="DIR", help="objects at or below it (default: here)"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help=f"the lock (default: {NAME} in that directory)"
    )
    return parser
