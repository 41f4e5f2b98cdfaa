"""burnish serve-inliner: a policy answers the inliner of an unmodified clang or opt."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from burnish.cli.jobs.arguments import split_at_dashes
from burnish.console.command_parser import CommandParser
from burnish.core.errors import InputError
from burnish.policies.choose import ActionPolicy
from burnish.policies.find import path_of
from burnish.policies.load import load_action_policy
from burnish.tasks.llvm_inlining.channel import Channel, serve

DESCRIPTION = """\
Answer the inliner of an unmodified clang or opt, 17 or newer, by a policy:

  burnish serve-inliner --policy P -- clang -Oz -c hot.c -o hot.o

runs the command with options that make its inliner ask. Without a command, it answers any compiler
that gets these options, until Ctrl-C:

  burnish serve-inliner --policy P --channel /tmp/inliner &
  clang -Oz -c hot.c -mllvm -enable-ml-inliner=release -mllvm -inliner-interactive-channel-base=/tmp/inliner

One compiler at a time: two on one channel (make -j) would read each other's answers."""
NAME = "burnish serve-inliner"
BASE_OPTION = "-inliner-interactive-channel-base"


def main(arguments: Sequence[str]) -> int:
    """Run the command; return the compiler's exit code."""
    words, command = split_at_dashes(arguments)
    if "--" in arguments and not command:
        raise InputError("expected a compiler's command after --")
    parser = CommandParser(
        prog=NAME,
        usage=f"{NAME} --policy POLICY [--channel BASE] [-- COMPILER ARGUMENT...]",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--policy", required=True, help="a file of burnish train, or a shipped policy")
    parser.add_argument(
        "--channel",
        type=Path,
        metavar="BASE",
        help="make the FIFOs BASE.in and BASE.out, and remove them at the end; default: in a new folder",
    )
    options = parser.parse(words)
    if not command and not options.channel:
        raise InputError("expected a compiler's command, or --channel BASE")
    policy = load_action_policy(path_of(options.policy))
    with tempfile.TemporaryDirectory(prefix="burnish-") as folder:
        base = (options.channel or Path(folder) / "inliner").absolute()
        with Channel(base) as channel:
            if command:
                return _run(policy, channel, _asking(command, base))
            print(f"answering at {base}.in and {base}.out, until Ctrl-C", file=sys.stderr, flush=True)
            serve(policy, channel, lambda: True)
            return 0


def _run(policy: ActionPolicy, channel: Channel, command: Sequence[str]) -> int:
    """Answer one compiler until it ends, and return its exit code."""
    try:
        compiler = subprocess.Popen(command)
    except OSError as error:
        raise InputError(f"{command[0]}: {error.strerror}") from None
    with compiler:
        try:
            served = serve(policy, channel, lambda: compiler.poll() is None)
        except BaseException:
            compiler.kill()  # otherwise it would wait for an answer for ever
            raise
    if served.compiles:
        print(f"{NAME}: {served.decisions:,} calls, {served.inlined:,} inlined", file=sys.stderr)
    elif compiler.returncode == 0:
        print(f"{NAME}: the compiler asked no questions; at -O0 it inlines nothing", file=sys.stderr)
    return compiler.returncode if compiler.returncode >= 0 else 128 - compiler.returncode


def _asking(command: Sequence[str], base: Path) -> Sequence[str]:
    """Return a compiler's command with the options for the channel, unless it already names a channel."""
    if any(BASE_OPTION in word for word in command):
        return command
    words = ["-enable-ml-inliner=release", f"{BASE_OPTION}={base}"]
    if not Path(command[0]).name.startswith("opt"):
        words = [word for option in words for word in ("-mllvm", option)]
    return [command[0], *words, *command[1:]]
