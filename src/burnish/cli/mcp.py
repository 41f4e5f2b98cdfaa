"""burnish mcp: explorations for language models, by the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from burnish.console.command_parser import CommandParser


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    parser = CommandParser(
        prog="burnish mcp",
        description="Serve burnish's tasks to language models by the Model Context Protocol, on standard "
        "input and output. Only files of the given folders are opened and written.",
        epilog="Example: burnish mcp --folder ~/project",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        action="append",
        metavar="F",
        help="folder for programs and outputs; may be repeated; default: here",
    )
    parser.add_argument(
        "--unconfined",
        action="store_true",
        help="do without Landlock, by which Linux keeps compilers from files elsewhere: for trusted programs",
    )
    options = parser.parse(arguments)
    from burnish.explorer.mcp_server import serve

    serve(options.folder or [Path()], confined=not options.unconfined)
    return 0
