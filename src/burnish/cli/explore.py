"""burnish explore: a page in the browser that shows a compiler at work on one program, or a finished run."""

from __future__ import annotations

import argparse
import gc
import secrets
import socket
import sys
import webbrowser
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.cli.jobs.arguments import (
    add_limits,
    add_task,
    all_given,
    limits_of,
    load_configured,
    programs_help,
    split_at_dashes,
)
from burnish.cli.jobs.results import check_same, load_source
from burnish.console.command_parser import CommandParser, whole_number
from burnish.core.errors import InputError, MissingTool, install
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.policies import find as policies

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from burnish.explorer.exports import OpenedFile
    from burnish.explorer.runs import Entry, ResultFiles, TrainingRun
    from burnish.explorer.state_tree import StateTree

HOST = "127.0.0.1"
POLICY = (
    "whose predictions the page shows beside the actions: shipped (default), none, a name of burnish tasks, "
    "or a file of burnish train"
)


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    words, compiler = split_at_dashes(arguments)
    options = _parser(words).parse(words)
    try:
        import uvicorn  # noqa: F401

        from burnish.explorer.exports import OpenedFile
        from burnish.explorer.runs import run_at
        from burnish.explorer.server import make_app
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise MissingTool(f"burnish explore needs {error.name}: {install('explore')}") from None
    run = None if options.task else run_at(Path(options.file))
    if run:
        _check_for_run(options, compiler)
        _explore_run(options, run, compiler)
        return 0
    if options.program:
        raise InputError(f"--program is for results; {options.file} is a program itself")
    task, loaded = load_configured(options, compiler)
    opened = OpenedFile(options.file, compiler, loaded.arguments)
    with closing(_tree(options, task, loaded.program, options.objective, opened)) as tree:
        _serve(options, lambda token, port: make_app(tree, token, port))
    return 0


def _check_for_run(options: argparse.Namespace, compiler: Sequence[str]) -> None:
    """Check that no option is given that has no effect on a run."""
    given = [f"--{name}" for name in all_given(options)]
    if options.objective:
        given.append("--objective")
    if given:
        raise InputError(f"{given[0]} is for a program; {options.file} is a run, which has its own")
    if compiler and not options.program:
        raise InputError("options for the compiler need --program; results have their own")


def _explore_run(
    options: argparse.Namespace, run: TrainingRun | ResultFiles, compiler: Sequence[str]
) -> None:
    from burnish.explorer.runs import TrainingRun
    from burnish.explorer.runs_server import OpenedProgram, make_runs_app

    if options.program and isinstance(run, TrainingRun):
        raise InputError(f"--program is for results; {options.file} is a training")

    def open_tree(entry: Entry) -> StateTree:
        program = _program_of(entry, options.program, compiler)
        return _tree(options, entry.task(), program, entry.found.objective)

    with closing(OpenedProgram(open_tree)) as opened:
        _serve(options, lambda token, port: make_runs_app(run, opened, token, port))


def _program_of(entry: Entry, elsewhere: Path | None, compiler: Sequence[str]) -> Program:
    """Load a result's program from its source, or from another path."""
    found = entry.found
    if isinstance(found, Result):
        program = load_source(found, entry.file.parent, elsewhere, compiler)
    else:
        program = entry.task().source().load(str(elsewhere or found.program), compiler).program
    check_same(program, found)
    return program


def _tree(
    options: argparse.Namespace,
    task: Task,
    program: Program,
    objective: str | None,
    opened: OpenedFile | None = None,
) -> StateTree:
    from burnish.explorer.exploration import Exploration
    from burnish.explorer.exports import ELSEWHERE
    from burnish.explorer.state_tree import StateTree

    exploration = Exploration(task, program, limits=limits_of(options))
    try:
        return StateTree(exploration, objective, policy=options.policy, opened=opened or ELSEWHERE)
    except BaseException:
        exploration.close()
        raise


def _parser(words: Sequence[str]) -> CommandParser:
    parser = CommandParser(
        prog="burnish explore",
        compiler="burnish explore hot.c -- -Iinclude",
        description="Open a page in the browser that shows the states of a program, the legal actions in "
        "each state, and the changes that each action makes; or the curves of a training, or results. "
        "Only this machine can open the page.",
        epilog="Examples: burnish explore hot.c; burnish explore runs/ppo; burnish explore results.jsonl",
    )
    add = parser.add_argument
    run = (
        "; or a run: the folder of burnish train or burnish evaluate, or a file or folder of results (.jsonl)"
    )
    add("file", metavar="PROGRAM|RUN", help=programs_help(words) + run)
    add("--objective", help="the objective; default: the task's first one")
    where = "of results: path of their program, if their own path is wrong"
    add("--program", type=Path, metavar="PATH", help=where)
    add("--policy", default=policies.DEFAULT, metavar="POLICY", help=POLICY)
    add("--port", type=whole_number(0), default=0, metavar="PORT", help="default: a free port")
    add("--no-browser", action="store_true", help="only print the address")
    add_limits(parser)
    add_task(parser, words)
    return parser


def _listening(port: int) -> socket.socket:
    # asyncio turns off Nagle's algorithm, which holds back an answer's body for 40 ms, if TCP is named here
    listener = socket.socket(proto=socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen()  # before the address is printed: a request then waits for the server's start
    except (OSError, OverflowError) as error:
        listener.close()
        raise InputError(f"--port {port}: {error}; expected a free port, or no --port") from None
    return listener


def _serve(options: argparse.Namespace, make: Callable[[str, int], Starlette]) -> None:
    """Print the address of the application that `make` returns for a token and a port; serve until Ctrl-C."""
    import uvicorn

    with _listening(options.port) as listener:
        port, token = listener.getsockname()[1], secrets.token_urlsafe(24)
        app = make(token, port)
        address = f"http://{HOST}:{port}/{token}/"
        print(f"{address}\nCtrl-C ends it.", flush=True)
        if not options.no_browser:
            webbrowser.open(address)
        config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, lifespan="off")
        server = uvicorn.Server(config)
        app.state.ends = lambda: server.should_exit
        gc.freeze()  # or the collector looks at all modules again and again during a long comparison
        try:
            server.run([listener])
        except KeyboardInterrupt:
            print(file=sys.stderr)
