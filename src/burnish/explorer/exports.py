"""A state in other forms: command lines that repeat it, the stored result, the task's files."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.explorer.exploration import Exploration, State

RESULT = ".jsonl"  # the suffix of results
REMEMBERED = ".remembered"  # the suffix of files for --remember


@dataclass(frozen=True)
class OpenedFile:
    """The file of a program, as the command line named it; "" if the program is from elsewhere."""

    name: str = ""
    compiler: tuple[str, ...] = ()  # the words after the double dash
    arguments: tuple[str, ...] = ()  # all arguments of the compiler, those of the build first

    @property
    def source(self) -> tuple[str, ...]:
        """The field `source` of results."""
        return (self.name, *self.compiler) if self.name else ()


ELSEWHERE = OpenedFile()


def texts_of(exploration: Exploration, trace: Trace, objective: str, opened: OpenedFile) -> dict[str, str]:
    """Return the texts of a state, by their labels."""
    texts = {"Trace": "".join(f"{text}\n" for text in trace)}
    if opened.name:
        texts["Repeat with burnish"] = apply_command(exploration.task, trace, objective, opened)
    if command := exploration.commandline(State(exploration.state(trace).digest, trace)):
        texts["Repeat without burnish"] = command
    return texts


def apply_command(task: Task, trace: Trace, objective: str, opened: OpenedFile) -> str:
    """Return the command line of burnish apply that repeats a trace step by step."""
    words = ["burnish", "apply", "--task", task.name, "--objective", objective]
    options = {setting.name: setting for setting in task.settings.settings}
    for name, value in task.options.items():
        setting = options[name]
        words += [f"--{setting.option}"] if setting.switch else [f"--{setting.option}", value]
    words += [opened.name, *trace]
    return shlex.join([*words, "--", *opened.compiler] if opened.compiler else words)


def suffixes(task: Task) -> list[str]:
    """Return the suffixes of the files that `file_of` makes."""
    return [RESULT, REMEMBERED, *task.files.emitters]


def file_of(exploration: Exploration, state: State, suffix: str, objective: str, opened: OpenedFile) -> bytes:
    """Return a state as a file: the result, remembered results, or one of the task's formats.

    Raises:
        InputError: the task does not write this format.
        CompilerCrash: the compiler fails.
    """
    if suffix == RESULT:
        row = exploration.result(state, objective, opened.source)
        return f"{row.to_json()}\n".encode()
    if suffix == REMEMBERED:
        return exploration.remembered(state, objective)
    return exploration.emitted(state, suffix, opened.arguments)
