"""burnish targets: the machines that burnish makes code for, and what programs for them need."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from burnish.console.command_parser import CommandParser
from burnish.llvm.targets import TARGETS


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = CommandParser(prog="burnish targets", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print a line of JSON for each machine")
    options = parser.parse(arguments)
    for target in TARGETS:
        found = [(need, need.found()) for need in target.needs]
        if options.json:
            needs = [{"what": need.what, "found": there, "install": need.install} for need, there in found]
            row = {"name": target.name, "description": target.description, "flags": target.flags}
            print(json.dumps(row | {"needs": needs}))
            continue
        print(f"{target.name}: {target.description}\n  such as {shlex.join(target.flags)}")
        for need, there in found:
            print(f"  {need.what:20} {'there' if there else need.install}")
    return 0
