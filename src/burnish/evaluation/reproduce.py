"""A failure as a folder that shows it without burnish, ready for LLVM's bug tracker."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from burnish import _native
from burnish.core.errors import CompilerCrash, CompilerTimeout, MissingTool
from burnish.core.program import Run, Workload
from burnish.core.trace import Trace, split_entry
from burnish.evaluation.confirm import toolchain
from burnish.evaluation.llvm_tools import ToolCommand, find_llvm_tool, only_functions, tool_command
from burnish.evaluation.oracle import BEHAVIOUR, CODE_GENERATION, CRASH, HANG, INVALID, Failure, Oracle
from burnish.evaluation.reduce import reduce_trace
from burnish.evaluation.report import Running, Shown, command_line, readme, script
from burnish.execution import Execution, differences
from burnish.execution.folder import temporary_folder

SHOWS = 1  # the exit code of reproduce.sh
NARROWING_SECONDS = 60.0


@dataclass(frozen=True)
class Reproducer:
    """The files of such a folder."""

    files: dict[str, bytes] = field(repr=False)
    command: str  # of opt or clang, that shows it; "" where only burnish does
    functions: tuple[str, ...] = ()  # what it has to work on; () for all

    def write(self, folder: Path) -> None:
        """Write the folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            if path.suffix == ".sh":
                path.chmod(0o755)


@dataclass(frozen=True)
class _Case:
    """A module, and the command that goes wrong with it; None is code generation alone."""

    content: bytes
    suffix: str  # ".ll"; ".bc" where it takes the order of uses, which text has not
    command: ToolCommand | None
    functions: tuple[str, ...] = ()


def reproduce(oracle: Oracle, trace: Trace, failure: Failure) -> Reproducer:
    """Find the smallest case that LLVM's own tools show, and write it down.

    The module is that before the last pass, so that one pass shows it. Where that works on functions, those
    that have no part in it are marked optnone. Where nothing shows with the tools that are installed, there
    are the module and the trace, and the text says so.

    Args:
        oracle: Of the program.
        trace: A 1-minimal one that fails.
        failure: How it does.
    """
    levels = ("O0", oracle.task.reference) if failure.kind == BEHAVIOUR else (oracle.task.reference,)
    for case in _cases(oracle, trace, failure.kind):
        for level in levels:  # -O0 acquits the back end
            if not _shows(oracle, case, failure.kind, level):
                continue
            least = _fewer_functions(oracle, case, failure.kind, level)
            files = _files(oracle, trace, failure, least, level)
            if _script_shows(files):
                return Reproducer(files, command_line(least.command, level), least.functions)
    before = _module(oracle, trace[:-1], ".bc")
    shown = Shown(oracle.program.name, trace, str(failure), None, toolchain(oracle.task))
    return Reproducer({"before.bc": before, "README.md": readme(shown)} | _trace_file(trace), "")


def _cases(oracle: Oracle, trace: Trace, kind: str) -> Iterator[_Case]:
    """Yield what may show it, the best first."""
    try:
        find_llvm_tool("opt")
    except MissingTool:
        return
    if kind == CODE_GENERATION:
        for suffix in (".ll", ".bc"):
            yield _Case(_module(oracle, trace, suffix), suffix, None)
        return
    site, action = split_entry(trace[-1]) if trace else ("", "")
    for suffix in (".ll", ".bc"):
        if trace and (command := tool_command([action])):
            content = _module(oracle, trace[:-1], suffix)
            if site:
                try:
                    yield _Case(only_functions(content, suffix, [site]), ".ll", command, (site,))
                except CompilerCrash:
                    continue
            else:
                yield _Case(content, suffix, command)
    if len(trace) > 1 and (command := tool_command(trace)):
        yield _Case(_module(oracle, (), ".bc"), ".bc", command)


def _shows(oracle: Oracle, case: _Case, kind: str, level: str) -> bool:
    """Return whether the tools that are installed fail in the same way."""
    after = case.content
    if case.command:
        try:
            after = case.command.run(after, case.suffix, seconds=oracle.limits.deadline_seconds)
        except CompilerTimeout:
            return kind == HANG
        except CompilerCrash:
            return kind in (CRASH, INVALID)
    if kind not in (BEHAVIOUR, CODE_GENERATION):
        return False
    found = oracle.look_at(after, level)
    return found is not None and found.kind == kind


def _fewer_functions(oracle: Oracle, case: _Case, kind: str, level: str) -> _Case:
    """Leave the pass as few functions as it takes: delta debugging once more."""
    if not (case.command and case.command.on_functions):
        return case

    def narrowed(functions: Trace) -> _Case:
        content = only_functions(case.content, case.suffix, functions)
        return replace(case, content=content, suffix=".ll", functions=functions)

    def still_shows(functions: Trace) -> bool:
        try:
            return _shows(oracle, narrowed(functions), kind, level)
        except CompilerCrash:  # not all can be marked
            return False

    everything = case.functions or tuple(_native.Module(case.content).functions)
    if not still_shows(everything) or still_shows(()):  # some passes run on optnone functions, too
        return replace(case, functions=())
    return narrowed(reduce_trace(everything, still_shows, seconds=NARROWING_SECONDS).trace)


def _files(oracle: Oracle, trace: Trace, failure: Failure, case: _Case, level: str) -> dict[str, bytes]:
    """Return the files of the folder."""
    source = f"before{case.suffix}"
    shown = Shown(
        oracle.program.name, trace, str(failure), case.command, toolchain(oracle.task), level, case.functions
    )
    files = {source: case.content} | _trace_file(trace)
    workload = oracle.program.workload
    if failure.kind != BEHAVIOUR or workload is None:
        return files | {"README.md": readme(shown), "reproduce.sh": script(case.command, source, level)}
    run, right, wrong = _first_difference(workload, failure.seen, oracle.reference)
    files |= {f"files/{name}": content for name, content in workload.files}
    files |= {f"objects/{i}.o": content for i, content in enumerate(workload.objects)}
    files |= {"stdin": run.stdin, "expected": right.output, "actual": wrong.output}
    running = Running(run.arguments, right.status, workload.link_arguments, len(workload.objects))
    return files | {
        "README.md": readme(shown),
        "reproduce.sh": script(case.command, source, level, running),
    }


def _first_difference(
    workload: Workload, seen: Sequence[Execution], reference: Sequence[Execution]
) -> tuple[Run, Execution, Execution]:
    for run, wrong, right in zip(workload.runs, seen, reference, strict=True):
        if differences(replace(workload, runs=(run,)), [wrong], [right]):
            return run, right, wrong
    raise AssertionError("a failure without a difference")


def _module(oracle: Oracle, trace: Trace, suffix: str) -> bytes:
    content = oracle.states.session(trace).observe("ir" if suffix == ".ll" else "bitcode")
    return content.encode() if isinstance(content, str) else bytes(content)


def _trace_file(trace: Trace) -> dict[str, bytes]:
    return {"trace.txt": "".join(f"{text}\n" for text in trace).encode()}


def _script_shows(files: dict[str, bytes]) -> bool:
    """Run the script, as whoever reads the report will."""
    tools = {"OPT": str(find_llvm_tool("opt")), "CLANG": str(find_llvm_tool("clang"))}
    with temporary_folder() as folder:
        Reproducer(files, "").write(folder)
        done = subprocess.run(
            [str(folder / "reproduce.sh")],
            env=os.environ | tools | {"TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    return done.returncode == SHOWS
