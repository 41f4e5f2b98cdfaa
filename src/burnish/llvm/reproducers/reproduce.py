"""Reproducers: folders that show a failure without burnish, ready for LLVM's bug tracker."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from burnish import _native
from burnish.core.errors import CompileError, CompilerCrash, CompilerTimeout, MissingTool
from burnish.core.program import Run, Workload
from burnish.core.reduce import reduce_trace
from burnish.core.trace import Trace, split_entry
from burnish.core.validator import (
    BEHAVIOUR,
    CODE_GENERATION,
    CRASH,
    HANG,
    INVALID,
    Broken,
    Reproducer,
    Validator,
)
from burnish.llvm.reproducers.sanitize import SANITIZERS, check_program, check_state
from burnish.llvm.reproducers.stock_tools import (
    FindCommand,
    ToolCommand,
    find_llvm_tool,
    generate_code,
    only_functions,
)
from burnish.llvm.run import Execution, differences, link, run_all
from burnish.llvm.run.check import limits_after
from burnish.llvm.run.folder import temporary_folder

SHOWS = 1  # exit code of reproduce.sh if the bug shows
SECONDS = 60  # seconds until reproduce.sh calls a command a hang
NARROWING_SECONDS = 60.0
NOTE = "the installed tools of LLVM do not show the bug"

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
class _Case:
    """A module and the command that fails on it; None means that code generation alone fails."""

    content: bytes
    suffix: str  # ".ll", or ".bc" if the failure needs use-list orders, which the text omits
    command: ToolCommand | None
    functions: tuple[str, ...] = ()  # the functions that the pass needs to fail; () for all

    @property
    def source(self) -> str:
        """Return the name of the module's file."""
        return f"before{self.suffix}"

    def command_line(self, level: str) -> str:
        """Return the failing command as a shell command line."""
        if self.command is None:
            return f"clang -{level} -Xclang -disable-llvm-passes -c -x ir before.ll"
        return str(self.command)


def llvm_validator(level: str, find_command: FindCommand) -> Validator:
    """Return the validator of a task whose states have the observations `bitcode` and `ir`."""
    show = partial(reproduce, level=level, find_command=find_command)
    return Validator(SANITIZERS, check_program, check_state, show)


def reproduce(broken: Broken, *, level: str, find_command: FindCommand) -> Reproducer:
    """Find the smallest case that fails with LLVM's own tools, and return its reproducer.

    The module is the one before the last pass, so that one pass shows the failure: the trace is 1-minimal. If
    that pass works on functions, the functions that are not needed are marked optnone. If the installed tools
    do not show the failure, the folder has the module and the trace, and the report says so.
    """
    levels = ("O0", level) if broken.failure.kind == BEHAVIOUR else (level,)
    for case in _cases(broken, find_command):
        for each in levels:  # a failure at -O0 is hardly the back end's fault
            if not _shows(broken, case, each):
                continue
            least = _fewer_functions(broken, case, each)
            files = _files(broken, least, each)
            if _script_shows(files):
                return Reproducer(files, least.command_line(each), least.functions)
    before = _module(broken, broken.trace[:-1], ".bc")
    files = {"before.bc": before, "README.md": _readme(broken)} | _trace_file(broken.trace)
    return Reproducer(files, note=NOTE)


def _cases(broken: Broken, find_command: FindCommand) -> Iterator[_Case]:
    """Yield the cases that may show the failure, best first."""
    trace = broken.trace
    try:
        find_llvm_tool("opt")
    except MissingTool:
        return
    if broken.failure.kind == CODE_GENERATION:
        for suffix in (".ll", ".bc"):
            yield _Case(_module(broken, trace, suffix), suffix, None)
        return
    site, action = split_entry(trace[-1]) if trace else ("", "")
    for suffix in (".ll", ".bc"):
        if trace and (command := find_command([action])):
            content = _module(broken, trace[:-1], suffix)
            if site:
                try:
                    yield _Case(only_functions(content, suffix, [site]), ".ll", command, (site,))
                except CompilerCrash:
                    continue
            else:
                yield _Case(content, suffix, command)
    if len(trace) > 1 and (command := find_command(trace)):
        yield _Case(_module(broken, (), ".bc"), ".bc", command)


def _shows(broken: Broken, case: _Case, level: str) -> bool:
    """Return whether the installed tools fail in the same way."""
    kind = broken.failure.kind
    after = case.content
    if case.command:
        try:
            after = case.command.run(after, case.suffix, seconds=broken.deadline_seconds)
        except CompilerTimeout:
            return kind == HANG
        except CompilerCrash:
            return kind in (CRASH, INVALID)
    if kind not in (BEHAVIOUR, CODE_GENERATION):
        return False
    workload = broken.program.workload
    assert workload  # without one, there is no failure of these kinds
    try:
        code = generate_code(after, level, broken.deadline_seconds)
        with temporary_folder() as folder:
            executable = link(code, workload, folder / "program")
            seen = run_all(executable, workload, limits=limits_after(broken.expected))
    except (CompileError, CompilerTimeout):
        return kind == CODE_GENERATION
    return kind == BEHAVIOUR and bool(differences(workload, seen, broken.expected))


def _fewer_functions(broken: Broken, case: _Case, level: str) -> _Case:
    """Reduce the functions that the pass runs on to a minimal set, by delta debugging."""
    if not (case.command and case.command.on_functions):
        return case

    def narrowed(functions: Trace) -> _Case:
        content = only_functions(case.content, case.suffix, functions)
        return replace(case, content=content, suffix=".ll", functions=functions)

    def still_shows(functions: Trace) -> bool:
        try:
            return _shows(broken, narrowed(functions), level)
        except CompilerCrash:  # some functions cannot be marked
            return False

    everything = case.functions or tuple(_native.Module(case.content).functions)
    if not still_shows(everything) or still_shows(()):  # some passes run even on optnone functions
        return replace(case, functions=())
    return narrowed(reduce_trace(everything, still_shows, seconds=NARROWING_SECONDS).trace)


def _files(broken: Broken, case: _Case, level: str) -> dict[str, bytes]:
    """Return the reproducer's files by name."""
    failure, workload = broken.failure, broken.program.workload
    files = {case.source: case.content, "README.md": _readme(broken, case, level)}
    files |= _trace_file(broken.trace)
    transform = ""
    if case.command:
        tool, *words, _ = case.command.command(case.source, "after.bc")
        transform = f'timeout {SECONDS} "${tool.upper()}" {shlex.join(words)} "$work/after.bc" || exit 1\n'
    if failure.kind != BEHAVIOUR or workload is None:
        code = _filled(_CODE, level=level) + f'code {case.source} "$work/after.o" || exit 1\n'
        return files | {"reproduce.sh": (_HEAD + (transform or code)).encode()}
    run, right, wrong = _first_difference(workload, failure.seen, broken.expected)
    files |= {f"files/{name}": content for name, content in workload.files}
    files |= {f"objects/{i}.o": content for i, content in enumerate(workload.objects)}
    files |= {"stdin": run.stdin, "expected": right.output, "actual": wrong.output}
    script = _filled(
        f"{_HEAD}{_CODE}{_RUN}{transform}{_COMPARE}",
        level=level,
        source=case.source,
        objects=" ".join(f"objects/{i}.o" for i in range(len(workload.objects))),
        link=shlex.join(workload.link_arguments),
        arguments=shlex.join(run.arguments),
        status=str(right.status),
    )
    return files | {"reproduce.sh": script.encode()}


def _filled(text: str, **words: str) -> str:
    """Replace each {word} by its value; the shell's own braces stay."""
    for name, value in {"seconds": str(SECONDS), **words}.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _readme(broken: Broken, case: _Case | None = None, level: str = "") -> bytes:
    """Return the text of the report; without a case, only burnish reproduces the failure."""
    lines = [f"# {broken.failure}", ""]
    if case:
        lines += [
            "`sh reproduce.sh` (OPT and CLANG name the tools) exits with 1 if the bug shows, with 0 if not.",
            "",
            f"    {case.command_line(level)}",
            "",
        ]
    else:
        lines += [
            "The tools of LLVM that are installed here do not show the bug; burnish does: it applies the",
            "last line of trace.txt to before.bc.",
            "",
        ]
    if case and case.functions:
        names = ", ".join(case.functions)
        lines += [f"The bug needs the pass on {names}; all other functions are optnone.", ""]
    lines += [f"The module is {broken.program.name} after all but the last of these passes:", ""]
    lines += [f"    {text}" for text in broken.trace]
    lines += ["", "Each of them is needed to show the bug."]
    if case:
        lines += [f"Code was generated at -{level}."]
    versions = ", ".join(f"{name} {version}" for name, version in broken.versions.items())
    lines += [
        "The bug shows after the last pass. The cause may be an earlier pass, which left a module that",
        "the verifier accepts but that means something else (a wrong nsw, noalias, range, ...).",
        "",
        f"Versions: {versions}.",
        "",
    ]
    return "\n".join(lines).encode()


def _first_difference(
    workload: Workload, seen: Sequence[Execution], reference: Sequence[Execution]
) -> tuple[Run, Execution, Execution]:
    for run, wrong, right in zip(workload.runs, seen, reference, strict=True):
        if differences(replace(workload, runs=(run,)), [wrong], [right]):
            return run, right, wrong
    raise AssertionError("a failure without a difference")


def _module(broken: Broken, trace: Trace, suffix: str) -> bytes:
    content = broken.session(trace).observe("ir" if suffix == ".ll" else "bitcode")
    return content.encode() if isinstance(content, str) else bytes(content)


def _trace_file(trace: Trace) -> dict[str, bytes]:
    return {"trace.txt": "".join(f"{text}\n" for text in trace).encode()}


def _script_shows(files: dict[str, bytes]) -> bool:
    """Run the script as a reader of the report does; return whether the bug shows."""
    tools = {"OPT": str(find_llvm_tool("opt")), "CLANG": str(find_llvm_tool("clang"))}
    with temporary_folder() as folder:
        Reproducer(files).write(folder)
        done = subprocess.run(
            [str(folder / "reproduce.sh")],
            env=os.environ | tools | {"TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    return done.returncode == SHOWS
