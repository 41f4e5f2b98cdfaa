"""burnish check-system: missing system parts for compiling C, and the commands that install them."""

from __future__ import annotations

from collections.abc import Sequence

from burnish.console.command_parser import CommandParser
from burnish.llvm.toolchain import clang_version, missing_system_parts


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    CommandParser(prog="burnish check-system", description=__doc__).parse(arguments)
    missing = missing_system_parts()
    for part in missing:
        print(f"missing: {part}")
    if not missing:
        print(f"clang {clang_version()} compiles and links C")
    return 1 if missing else 0
