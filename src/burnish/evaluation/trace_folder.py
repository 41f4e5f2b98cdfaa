"""Folders with a failing program, its inputs and trace, for tasks that make no reproducers."""

from __future__ import annotations

import shlex
from pathlib import Path

from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.core.validator import Broken, Reproducer

NOTE = "the task cannot show this without burnish; the folder has the program and the trace"


def trace_folder(task: Task, broken: Broken) -> Reproducer:
    """Return a folder with the failing program and trace, and the task's command line for them, if any."""
    program = broken.program
    name = f"program/{Path(program.name).name or 'program'}"
    files = {name: program.content, "trace.txt": "".join(f"{text}\n" for text in broken.trace).encode()}
    files |= _inputs(program)
    command = _command(task, broken.trace)
    files["README.md"] = _readme(task, broken, command, name).encode()
    return Reproducer(files, command, note=NOTE)


def _command(task: Task, trace: Trace) -> str:
    try:
        return task.checks.commandline(trace) if task.checks.commandline else ""
    except InputError:  # an entry has no equivalent in the other tool
        return ""


def _inputs(program: Program) -> dict[str, bytes]:
    workload = program.workload
    if not workload:
        return {}
    files = {f"files/{name}": content for name, content in workload.files}
    files |= {f"objects/{i}.o": content for i, content in enumerate(workload.objects)}
    return files | {f"stdin/{i}": run.stdin for i, run in enumerate(workload.runs) if run.stdin}


def _readme(task: Task, broken: Broken, command: str, name: str) -> str:
    lines = [f"# {broken.failure}", ""]
    lines += [f"The program is {name}, as {task.id} opens it, after these actions:", ""]
    lines += [f"    {text}" for text in broken.trace or ["(none)"]]
    lines += [""]
    if command:
        lines += ["Without burnish, this does the same:", "", f"    {command}", ""]
    else:
        lines += ["The task has no command that does the same without burnish.", ""]
    if broken.program.workload:
        lines += ["The program is run with these arguments and inputs, in a folder with files/:", ""]
        for number, run in enumerate(broken.program.workload.runs):
            given = f" < stdin/{number}" if run.stdin else ""
            lines += [f"    program {shlex.join(run.arguments)}".rstrip() + given]
        link = shlex.join(broken.program.workload.link_arguments)
        lines += ["", *([f"The program is linked with objects/ and {link}.", ""] if link else [])]
    versions = ", ".join(f"{name} {version}" for name, version in broken.versions.items())
    return "\n".join([*lines, f"Versions: {versions}.", ""])
