"""burnish shell: a program and a compiler at a prompt, with completion and undo."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from burnish.cli.jobs.arguments import (
    add_limits,
    add_task,
    given_settings,
    limits_of,
    programs_help,
    split_at_dashes,
)
from burnish.console.command_parser import CommandParser
from burnish.core.errors import BurnishError, MissingTool, install
from burnish.core.registry import task_for
from burnish.explorer.exploration import Exploration
from burnish.explorer.shell import Shell


def main(arguments: Sequence[str]) -> int:
    """Run the command; it fails if the last line of a script fails."""
    words, compiler = split_at_dashes(arguments)
    options = _parser(words).parse(words)
    task = task_for([options.file], options.task)
    task = task.configured(given_settings(options, task), options.objective)
    loaded = task.source().load(options.file, compiler)
    failed = False
    with Exploration(task, loaded.program, limits=limits_of(options)) as exploration:
        shell = Shell(exploration, options.objective)
        print(shell.title())
        for line in typed_lines(shell) if sys.stdin.isatty() else _script():
            failed = False
            try:
                if answer := shell.run(line):
                    print(answer, flush=True)
            except EOFError:
                break
            except BurnishError as error:
                failed = True
                print(f"error: {error}", file=sys.stderr, flush=True)
    return int(failed and not sys.stdin.isatty())


def _parser(words: Sequence[str]) -> CommandParser:
    parser = CommandParser(
        prog="burnish shell",
        compiler="burnish shell hot.c -- -Iinclude",
        description="Apply actions to a program at a prompt: see each effect, undo, compare, search, save. "
        "Lines from a file or a pipe run as a script.",
        epilog="Example: burnish shell hot.c",
    )
    parser.add_argument("file", metavar="PROGRAM", help=programs_help(words))
    parser.add_argument("--objective", help="the objective; default: the task's first one")
    add_limits(parser)
    add_task(parser, words)
    return parser


def _script() -> Iterator[str]:
    for line in sys.stdin:
        print(f"> {line.strip()}")
        yield line


def typed_lines(shell: Shell) -> Iterator[str]:
    """Yield the lines that a person types, until Ctrl-D."""
    prompt = _prompt(shell)
    while True:
        try:
            yield prompt(f"{shell.here.digest[:6]}> ")
        except KeyboardInterrupt:  # Ctrl-C drops the line
            continue
        except EOFError:
            return


def _prompt(shell: Shell) -> Callable[[str], str]:
    """Return a function that reads a line, with history and completion."""
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import CompleteEvent, Completer, Completion
        from prompt_toolkit.document import Document
        from prompt_toolkit.shortcuts import CompleteStyle
    except ModuleNotFoundError:
        raise MissingTool(f"burnish shell needs prompt_toolkit: {install('explore')}") from None

    class Lines(Completer):
        def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
            text = document.text_before_cursor
            for line in shell.completions(text):
                yield Completion(line, -len(text))

    session: PromptSession[str] = PromptSession(completer=Lines(), complete_style=CompleteStyle.READLINE_LIKE)
    return session.prompt
