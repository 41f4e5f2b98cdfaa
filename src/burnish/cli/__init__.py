"""The command line: one file for each command, imported when the command is called.

show/ displays results and evaluations; jobs/ has the parts that commands share, from arguments to files.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Sequence

from burnish import __version__
from burnish.core.errors import BurnishError, InputError, MissingTool, UnknownName

COMMANDS = {
    "optimize": "make programs smaller or faster than the compiler does",
    "replay": "repeat an optimization from its result and check it",
    "validate": "check that results preserve the behaviour of their programs",
    "compare": "measure results once more, beside the compiler's own",
    "evaluate": "compare methods at equal time",
    "leaderboard": "verify a leaderboard",
    "train": "learn from a corpus: PPO, SAC, DQN, cloning, evolution and others",
    "cc": "a drop-in C compiler: CC='burnish cc' make",
    "c++": "a drop-in C++ compiler",
    "rustc": "a drop-in Rust compiler: RUSTC_WRAPPER=burnish-rustc cargo build --release",
    "link": "link a whole program as one module",
    "export": "a trained policy as ONNX or as a C header",
    "serve-inliner": "answer unmodified compilers' inliners and register allocators by policies",
    "improve": "search on for the objects of the last builds, in the background",
    "lock": "write down what builds found, for the same objects on every machine",
    "memory": "show and merge what builds remember",
    "report": "show the sizes of a build by the drop-in compilers",
    "apply": "apply actions by hand and see each one's effect",
    "explore": "watch a compiler work on a program, in the browser",
    "shell": "apply actions at a prompt, with completion and undo",
    "import-torch": "a module of torch as a program, and its weights",
    "mcp": "serve tasks to language models by the Model Context Protocol",
    "tasks": "list tasks, their actions, observations and objectives",
    "corpus": "make and look at corpora: pinned packages, your own files, random programs",
    "inliner": "show inlining decisions and their gains, and compare policies with the heuristic",
    "registers": "compare policies of evictions with the register allocator's own",
    "demo": "optimize a real project, fetched from the package index",
    "check-system": "report what the system lacks for compiling C",
    "targets": "list the machines to make code for, and what programs for them need",
}

ROOMS = {
    **dict.fromkeys(("improve", "link", "lock", "memory", "report"), "burnish.cc.commands"),
    **dict.fromkeys(
        ("corpus", "inliner", "registers", "demo", "check-system", "targets", "export", "serve-inliner"),
        "burnish.cli.llvm",
    ),
}
"""Packages of commands that are for one compiler."""

LAUNCHED = ("cc", "c++", "rustc")
"""The drop-in compilers: this process becomes their launcher."""

OK, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: success; failure; unusable input; Ctrl-C."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""Errors of a full or broken disk, which are not defects of burnish."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    try:
        code = _run(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()  # here, so that its errors are caught
        return code
    except (InputError, MissingTool) as error:
        print(f"burnish: error: {error}", file=sys.stderr)
        return BAD_INPUT
    except BurnishError as error:
        print(f"burnish: {type(error).__name__}: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # the reader of the output has ended, as in `| head`
        _drop_output()
        return OK
    except OSError as error:
        if error.errno not in FULL:
            raise
        where = f"{error.filename}: " if error.filename else ""
        print(f"burnish: error: {where}cannot write: {error.strerror}", file=sys.stderr)
        _drop_output()
        return FAILED


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        width = max(map(len, COMMANDS))
        lines = [f"  {name:{width}}  {line}" for name, line in COMMANDS.items()]
        print("\n".join(["usage: burnish COMMAND ...", "", *lines, "", "burnish COMMAND --help says more."]))
        return OK if words else BAD_INPUT
    if words[0] in ("-V", "--version"):
        print(f"burnish {__version__}")
        return OK
    try:
        return _command(words[0], words[1:])
    except SystemExit as ended:  # argparse, after --help
        return int(ended.code or OK)


def _drop_output() -> None:
    """Drop unwritten output; otherwise the interpreter tries again at its end, and prints the error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _command(name: str, arguments: list[str]) -> int:
    if name.startswith("-"):
        raise InputError(f"{name}: expected a command first: burnish COMMAND {name}; see burnish --help")
    if name not in COMMANDS:
        raise UnknownName.among("command", name, COMMANDS)
    if name in LAUNCHED:
        from burnish.cc.commands.launch import is_handed_over, launch

        if not is_handed_over(arguments):
            launch(name, arguments)
        from burnish.cc.commands import handed_over

        return handed_over.main([name, *arguments])
    module = importlib.import_module(f"{ROOMS.get(name, 'burnish.cli')}.{name.replace('-', '_')}")
    code: int = module.main(arguments)
    return code
