"""burnish explore: a page in the browser that shows a compiler at work on one program."""

from __future__ import annotations

import secrets
import socket
import sys
import webbrowser
from collections.abc import Sequence
from typing import TYPE_CHECKING

from burnish.cli.jobs.arguments import (
    add_limits,
    add_task,
    given_settings,
    limits_of,
    programs_help,
    split_at_dashes,
)
from burnish.console.command_parser import CommandParser, whole_number
from burnish.core.errors import InputError, MissingTool, install
from burnish.core.registry import task_for

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOST = "127.0.0.1"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, compiler = split_at_dashes(arguments)
    options = _parser(words).parse(words)
    try:
        import uvicorn  # noqa: F401

        from burnish.explorer.exploration import Exploration
        from burnish.explorer.server import make_app
        from burnish.explorer.state_tree import StateTree
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise MissingTool(f"burnish explore needs {error.name}: {install('explore')}") from None
    task = task_for([options.file], options.task)
    task = task.configured(given_settings(options, task), options.objective)
    program = task.source().load(options.file, compiler).program
    with Exploration(task, program, limits=limits_of(options)) as exploration:
        tree = StateTree(exploration, options.objective)
        with _listening(options.port) as listener:
            port, token = listener.getsockname()[1], secrets.token_urlsafe(24)
            address = f"http://{HOST}:{port}/{token}/"
            print(f"{address}\nCtrl-C ends it.", flush=True)
            if not options.no_browser:
                webbrowser.open(address)
            _serve(make_app(tree, token, port), listener)
        tree.close()
    return 0


def _parser(words: Sequence[str]) -> CommandParser:
    parser = CommandParser(
        prog="burnish explore",
        compiler="burnish explore hot.c -- -Iinclude",
        description="Open a page in the browser that shows the states of a program, the legal actions in "
        "each state, and the changes that each action makes. Only this machine can open the page.",
        epilog="Example: burnish explore hot.c",
    )
    add = parser.add_argument
    add("file", metavar="PROGRAM", help=programs_help(words))
    add("--objective", help="the objective; default: the task's first one")
    add("--port", type=whole_number(0), default=0, metavar="PORT", help="default: a free port")
    add("--no-browser", action="store_true", help="only print the address")
    add_limits(parser)
    add_task(parser, words)
    return parser


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(f"--port {port}: {error}; expected a free port, or no --port") from None
    return listener


def _serve(app: Starlette, listener: socket.socket) -> None:
    """Serve until Ctrl-C."""
    import uvicorn

    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, lifespan="off")
    server = uvicorn.Server(config)
    app.state.ends = lambda: server.should_exit
    try:
        server.run([listener])
    except KeyboardInterrupt:
        print(file=sys.stderr)
