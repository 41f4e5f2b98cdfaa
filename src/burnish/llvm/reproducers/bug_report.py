"""Texts of a reproducer: a report for LLVM's bug tracker, and the script that shows the bug."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from burnish.core.trace import Trace
from burnish.llvm.reproducers.stock_tools import ToolCommand

SECONDS = 60  # seconds until the script calls a command a hang

_HEAD = """#!/bin/sh
# Exit code 1: the bug shows. 0: it does not. 2: this machine cannot try it.
cd "$(dirname "$0")" || exit 2
OPT=${OPT:-opt}
CLANG=${CLANG:-clang}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
"""

_CODE = """
code() {
    timeout {seconds} "$CLANG" -{level} -w -Xclang -disable-llvm-passes -c -x ir "$1" -o "$2"
}
"""

_RUN = """
libraries=$(dirname "$("$CLANG" -print-file-name=libunwind.so.1)")
run() {
    code "$1" "$work/$2.o" || return 1
    "$CLANG" "$work/$2.o" {objects} -o "$work/$2" "-Wl,-rpath,$libraries" {link} || return 1
    mkdir "$work/$2.folder"
    if [ -d files ]; then cp -R files/. "$work/$2.folder"; fi
    (cd "$work/$2.folder" && exec env -i timeout {seconds} "$work/$2" {arguments}) \\
        <stdin >"$work/$2.out" 2>"$work/$2.err"
    echo $? >"$work/$2.status"
}
as_expected() {
    [ "$(cat "$work/$1.status")" = {status} ] && cmp -s expected "$work/$1.out"
}

run {source} before || exit 2
as_expected before || { echo "{source} already gives wrong results here"; exit 2; }
"""

_COMPARE = """run "$work/after.bc" after || { echo "the result does not build"; exit 1; }
if as_expected after; then echo "as expected"; exit 0; fi
echo "exit code $(cat "$work/after.status"), expected {status}"
cat "$work/after.err"
diff expected "$work/after.out"
exit 1
"""


@dataclass(frozen=True)
class Running:
    """Arguments for linking and running the program, and its correct exit code."""

    arguments: tuple[str, ...]
    status: int
    link_arguments: tuple[str, ...]
    objects: int  # number of object files in the reproducer's folder


@dataclass(frozen=True)
class Shown:
    """Contents of a report."""

    program: str
    trace: Trace  # the shortest that fails
    failure: str
    command: ToolCommand | None
    versions: Mapping[str, str]
    level: str = ""  # of code generation; "" if only burnish reproduces the failure
    functions: tuple[str, ...] = ()  # the functions that the pass needs to fail; () for all


def command_line(command: ToolCommand | None, level: str, source: str = "before.ll") -> str:
    """Return the failing command as a shell command line."""
    if command is None:
        return f"clang -{level} -Xclang -disable-llvm-passes -c -x ir {source}"
    return shlex.join(command.command(source, "after.bc"))


def script(command: ToolCommand | None, source: str, level: str, running: Running | None = None) -> bytes:
    """Return the script that reproduces the failure.

    Args:
        command: The command that transforms the module; None if code generation alone fails.
        source: The module's file.
        level: clang's optimization level, for code generation.
        running: Arguments for running the program; None if the compiler fails.
    """
    text = _HEAD
    if running:
        words = {
            "objects": " ".join(f"objects/{i}.o" for i in range(running.objects)),
            "link": shlex.join(running.link_arguments),
            "arguments": shlex.join(running.arguments),
            "status": str(running.status),
        }
        text += _filled(_CODE + _RUN, level=level, source=source, **words)
        text += _transformed(command, source)
        text += _filled(_COMPARE, **words)
    elif command is None:
        text += _filled(_CODE, level=level) + f'code {source} "$work/after.o" || exit 1\n'
    else:
        text += _transformed(command, source)
    return text.encode()


def _transformed(command: ToolCommand | None, source: str) -> str:
    if command is None:
        return ""
    tool, *words, _ = command.command(source, "after.bc")
    return f'timeout {SECONDS} "${tool.upper()}" {shlex.join(words)} "$work/after.bc" || exit 1\n'


def readme(shown: Shown) -> bytes:
    """Return the text of the report."""
    versions = ", ".join(f"{name} {version}" for name, version in shown.versions.items())
    lines = [f"# {shown.failure}", ""]
    if shown.level:
        lines += [
            "`sh reproduce.sh` (OPT and CLANG name the tools) exits with 1 if the bug shows, with 0 if not."
        ]
        lines += ["", f"    {command_line(shown.command, shown.level)}", ""]
    else:
        lines += [
            "The tools of LLVM that are installed here do not show the bug; burnish does: it applies the"
        ]
        lines += ["last line of trace.txt to before.bc.", ""]
    if shown.functions:
        lines += [
            f"The bug needs the pass on {', '.join(shown.functions)}; all other functions are optnone.",
            "",
        ]
    lines += [f"The module is {shown.program} after all but the last of these passes:", ""]
    lines += [f"    {text}" for text in shown.trace]
    lines += ["", "Each of them is needed to show the bug."]
    if shown.level:
        lines += [f"Code was generated at -{shown.level}."]
    lines += ["The bug shows after the last pass. The cause may be an earlier pass, which left a module that"]
    lines += ["the verifier accepts but that means something else (a wrong nsw, noalias, range, ...).", ""]
    lines += [f"Versions: {versions}.", ""]
    return "\n".join(lines).encode()


def _filled(text: str, **words: str) -> str:
    """Replace each {word} by its value; the shell's own braces stay."""
    for name, value in {"seconds": str(SECONDS), **words}.items():
        text = text.replace(f"{{{name}}}", value)
    return text
