"""burnish serve-inliner: policies answer the inliner and the register allocator of unmodified compilers."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from burnish.cli.jobs.arguments import split_at_dashes
from burnish.console.command_parser import CommandParser
from burnish.core.errors import InputError
from burnish.llvm.channel import Channel, Questions, Served, serve
from burnish.llvm.launchers import Launchers, installed, is_compiler
from burnish.policies.find import path_of
from burnish.policies.load import load_action_policy
from burnish.tasks.llvm_codegen.policy.channel import eviction_questions
from burnish.tasks.llvm_codegen.policy.scorer import load_scorer
from burnish.tasks.llvm_inlining.actions import INLINE
from burnish.tasks.llvm_inlining.channel import inliner_questions

DESCRIPTION = """\
Answer the inliner of an unmodified clang or opt, 17 or newer, by a policy:

  burnish serve-inliner --policy P -- clang -Oz -c hot.c -o hot.o

and of all compilers of a build, several at once. The command finds launchers of clang, clang++, opt and llc
first in its PATH:

  burnish serve-inliner --policy P -- make -j8 CC=clang CXX=clang++

Without a command, the launchers are in a folder of yours, until Ctrl-C:

  burnish serve-inliner --policy P --launchers /tmp/asking &
  make -j8 CC=/tmp/asking/clang

Or there is one channel, for one compiler at a time that gets LLVM's options:

  burnish serve-inliner --policy P --channel /tmp/inliner &
  clang -Oz -c hot.c -mllvm -enable-ml-inliner=release -mllvm -inliner-interactive-channel-base=/tmp/inliner

With --evict-policy, the register allocator of clang or llc asks, too, or alone."""
NAME = "burnish serve-inliner"


def main(arguments: Sequence[str]) -> int:
    """Run the command; return the exit code of the user's command."""
    words, command = split_at_dashes(arguments)
    if "--" in arguments and not command:
        raise InputError("expected a compiler's or a build's command after --")
    options = _parser().parse(words)
    asked = _questions(options)
    if options.channel:
        return _one_channel(asked, options.channel.absolute(), command)
    if not command and not options.launchers:
        raise InputError("expected a command after --, or --launchers FOLDER, or --channel BASE")
    with _folder(options.launchers) as folder:
        launchers = Launchers(folder, asked)
        with launchers, _written(launchers, command):  # before a command starts launchers
            if command:
                return _run(launchers, command)
            print(f"compile with {folder}/clang, until Ctrl-C", file=sys.stderr, flush=True)
            launchers.serve(lambda: True)
            return 0


def _parser() -> CommandParser:
    parser = CommandParser(
        prog=NAME,
        usage=f"{NAME} [--policy POLICY] [--evict-policy POLICY] [--launchers FOLDER | --channel BASE] "
        "[-- COMMAND ARGUMENT...]",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--policy", help="for the inliner: a file of burnish train, or a shipped policy")
    parser.add_argument(
        "--evict-policy", type=Path, metavar="POLICY", help="for evictions: a file of burnish train"
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--launchers",
        type=Path,
        metavar="FOLDER",
        help="make the launchers there, and remove them at the end; default: in a new folder",
    )
    place.add_argument(
        "--channel",
        type=Path,
        metavar="BASE",
        help="make the FIFOs BASE.in and BASE.out for one compiler at a time, and remove them at the end",
    )
    return parser


def _questions(options: argparse.Namespace) -> list[Questions]:
    asked = []
    if options.policy:
        asked.append(inliner_questions(load_action_policy(path_of(options.policy))))
    if options.evict_policy:
        asked.append(eviction_questions(load_scorer(options.evict_policy)))
    if not asked:
        raise InputError(f"expected --policy, --evict-policy, or both; see {NAME} --help")
    if options.channel and len(asked) > 1:
        raise InputError("--channel serves one policy; expected --launchers, or a command, for both")
    return asked


@contextmanager
def _folder(chosen: Path | None) -> Iterator[Path]:
    """Yield the user's folder, or a temporary one."""
    with ExitStack() as stack:
        if chosen is None:
            yield Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="burnish-")))
            return
        try:
            chosen.mkdir(exist_ok=True)
        except OSError as error:
            raise InputError(f"--launchers {chosen}: {error.strerror}; expected a folder") from None
        yield chosen.absolute()


@contextmanager
def _written(launchers: Launchers, command: Sequence[str]) -> Iterator[None]:
    """Write launchers: of the command if it is a compiler, else of all installed compilers."""
    compilers = (
        {Path(command[0]).name: Path(command[0])} if command and is_compiler(command[0]) else installed()
    )
    with ExitStack() as stack:
        for name, compiler in compilers.items():
            launchers.write(name, compiler)
            stack.callback(launchers.path(name).unlink, missing_ok=True)
        yield


def _run(launchers: Launchers, command: Sequence[str]) -> int:
    """Answer the compilers of a command until it ends, and return its exit code."""
    words, environment = list(command), dict(os.environ)
    if is_compiler(command[0]):
        words[0] = str(launchers.path(Path(command[0]).name))
    else:
        environment["PATH"] = f"{launchers.folder}:{environment.get('PATH', os.defpath)}"
    code = _until_end(words, launchers.serve, environment)
    for failure in launchers.failures:
        print(f"{NAME}: a compiler was stopped: {failure}", file=sys.stderr)
    for questions, served in zip(launchers.asked, launchers.served, strict=True):
        _report(questions, served, code)
    return code or (2 if launchers.failures else 0)


def _one_channel(asked: Sequence[Questions], base: Path, command: Sequence[str]) -> int:
    """Answer over one channel: a compiler's command until it ends, or any compiler."""
    (questions,) = asked
    served = Served()

    def answer(going: Callable[[], bool]) -> None:
        served.add(serve(questions, channel, going))

    with Channel(base) as channel:
        if not command:
            print(f"LLVM's options: {' '.join(questions.options(base))}", file=sys.stderr)
            print(f"answering at {base}.in and {base}.out, until Ctrl-C", file=sys.stderr, flush=True)
            answer(lambda: True)
            return 0
        code = _until_end(_asking(command, questions, base), answer, None)
    _report(questions, served, code)
    return code


def _until_end(
    command: Sequence[str],
    answer: Callable[[Callable[[], bool]], None],
    environment: Mapping[str, str] | None,
) -> int:
    """Start a command, answer its compilers until it ends, and return its exit code."""
    try:
        started = subprocess.Popen(command, env=environment)
    except OSError as error:
        raise InputError(f"{command[0]}: {error.strerror}") from None
    with started:
        try:
            answer(lambda: started.poll() is None)
        except BaseException:
            started.kill()  # otherwise it would wait for an answer for ever
            raise
    return started.returncode if started.returncode >= 0 else 128 - started.returncode


def _report(questions: Questions, served: Served, code: int) -> None:
    if questions.tool == "opt":
        what, rest = "calls", f", {served.answers[INLINE]:,} inlined"
        silent = "the inliner asked no questions; at -O0 it inlines nothing"
    else:
        what, rest = "evictions", ""
        silent = "the register allocator asked no questions; at -O0 it evicts nothing"
    if served.compiles:
        print(f"{NAME}: {served.decisions:,} {what}{rest}", file=sys.stderr)
    elif code == 0:
        print(f"{NAME}: {silent}", file=sys.stderr)


def _asking(command: Sequence[str], questions: Questions, base: Path) -> Sequence[str]:
    """Return a compiler's command with the options for the channel, unless it already names a channel."""
    if any(questions.channel_option in word for word in command):
        return command
    words: Sequence[str] = questions.options(base)
    if "clang" in Path(command[0]).name:
        words = [word for option in words for word in ("-mllvm", option)]
    return [command[0], *words, *command[1:]]
