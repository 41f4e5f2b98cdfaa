"""Arguments that several commands share."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.console.command_parser import GIBIBYTES, SECONDS, CommandParser, asks_for_help
from burnish.core.errors import InputError
from burnish.core.program_source import Loaded
from burnish.core.registry import default_task, load_task, program_kinds, task_for, task_names
from burnish.core.task import Setting, Task
from burnish.policies import find as policies
from burnish.workers.executor import Executor, Processes, each_core
from burnish.workers.worker import GIB, Limits

if TYPE_CHECKING:
    from burnish.cluster.engine import Engine

TASK = "--task"
DEST = "setting "  # prefix of a setting's name in the parsed options


def split_at_dashes(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Split arguments at the first double dash: the command's own words, and the compiler's."""
    words = list(arguments)
    cut = words.index("--") if "--" in words else len(words)
    return words[:cut], tuple(words[cut + 1 :])


def task_asked_for(words: Sequence[str]) -> Task | None:
    """Return the task that --task names; other options depend on it."""
    for word, following in itertools.pairwise((*words, "")):
        if word == TASK or word.startswith(f"{TASK}="):
            return load_task(word.partition("=")[2] or following)
    return None


def programs_help(words: Sequence[str]) -> str:
    """Return the possible forms of a program's name, if the words ask for help; tasks are then imported."""
    if not asks_for_help(words):
        return ""
    task = task_asked_for(words)
    return task.source().kinds if task else program_kinds()


def add_task(parser: CommandParser, words: Sequence[str], *, goals: bool = False) -> None:
    """Add --task, and the settings of tasks; with `goals`, also those of objectives.

    `words` are those that the parser will parse.
    """
    text = "the task, a name of burnish tasks; default: the first one that takes the programs"
    parser.add_argument(TASK, metavar="TASK", help=text)
    add_settings(parser, words, goals=goals)


def add_settings(parser: CommandParser, words: Sequence[str], *, goals: bool = False) -> None:
    """Add the settings of the task that --task names; without --task, the default task's.

    The settings of the other tasks are added when they are needed: their import takes a fifth of a command's
    start.
    """
    known: set[str] = set()

    def add(tasks: Iterable[Task]) -> None:
        for one in tasks:
            settings = (*one.settings.settings, *(one.settings.goal_settings if goals else ()))
            group = parser.add_argument_group(f"of {one.name}") if settings else parser
            for setting in settings:
                if setting.option not in known:
                    known.add(setting.option)
                    _add_setting(group, setting)

    task = task_asked_for(words)
    add([task or default_task()])
    if not task:
        parser.add_when_needed(lambda: add(map(load_task, task_names())))


def _add_setting(parser: argparse._ActionsContainer, setting: Setting) -> None:
    option, dest = f"--{setting.option}", f"{DEST}{setting.name}"
    text = setting.description.replace("%", "%%")
    if setting.switch:
        parser.add_argument(option, dest=dest, action="store_const", const=setting.switch[1], help=text)
    elif setting.several:
        parser.add_argument(option, dest=dest, action="append", metavar=setting.metavar or None, help=text)
    else:
        metavar = setting.metavar or (None if setting.choices else setting.name.upper())
        parser.add_argument(option, dest=dest, choices=setting.choices or None, metavar=metavar, help=text)


def given_settings(options: argparse.Namespace, task: Task) -> dict[str, str]:
    """Return the given values of a task's settings; see Task.configured."""
    return _given(options, task, task.settings.settings)


def given_goals(options: argparse.Namespace, task: Task) -> dict[str, str]:
    """Return the given values of a task's settings of objectives; see Task.goal."""
    return _given(options, task, task.settings.goal_settings)


def load_configured(options: argparse.Namespace, compiler: Sequence[str]) -> tuple[Task, Loaded]:
    """Return the task of the options' `file` with its settings and `objective`, and the loaded program.

    Raises:
        InputError: the program cannot be read, or a setting is wrong.
    """
    task = task_for([options.file], options.task)
    task = task.configured(given_settings(options, task), options.objective)
    return task, task.source().load(options.file, compiler)


def all_given(options: argparse.Namespace) -> dict[str, str]:
    """Return all given settings, of any task."""
    return {
        key.removeprefix(DEST): value if isinstance(value, str) else ",".join(value)
        for key, value in vars(options).items()
        if key.startswith(DEST) and value is not None
    }


def _given(options: argparse.Namespace, task: Task, wanted: Iterable[Setting]) -> dict[str, str]:
    every = all_given(options)
    own = {setting.name for setting in (*task.settings.settings, *task.settings.goal_settings)}
    if strange := sorted(every.keys() - own):
        raise InputError(
            f"--{strange[0].replace('_', '-')} is not for {task.name}; see {TASK} {task.name} --help"
        )
    return {setting.name: every[setting.name] for setting in wanted if setting.name in every}


def add_engine(parser: CommandParser, default: str = "--jobs processes here") -> None:
    """Add the engine on which many programs are worked on, and the file with its options."""
    on = f"local, slurm, submitit, ray or ray://HOST:PORT: see docs/cluster.md; default: {default}"
    parser.add_argument("--on", metavar="ENGINE", help=on)
    text = "TOML file with a table of the engine's options: slots, partition, time, memory"
    parser.add_argument("--engine-options", type=Path, metavar="FILE", help=text)


def engine_options_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the engine that --on names.

    Raises:
        InputError: the file cannot be read, or --on is missing.
    """
    from burnish.cluster.engines import read_options

    if options.engine_options is None:
        return {}
    if options.on is None:
        raise InputError("--engine-options: expected --on ENGINE, too")
    return read_options(options.engine_options, options.on)


def check_engine(options: argparse.Namespace) -> None:
    """Check that --on and --engine-options exclude no other option, and have an effect.

    Raises:
        InputError: --engine-options without --on, or --on with --jobs.
    """
    if options.engine_options and not options.on:
        raise InputError("--engine-options: expected --on ENGINE, too")
    if options.on and options.jobs != 1:
        raise InputError(
            f"--jobs {options.jobs} is not for --on {options.on}: the engine decides; to limit it, write "
            f"slots = {options.jobs} into the table of --engine-options FILE"
        )


def engine_of(options: argparse.Namespace, folder: Path) -> Engine:
    """Return the engine that --on names, for the shards of a folder.

    Raises:
        UnknownName: there is no such engine.
        MissingTool: its package is not installed.
        InputError: an option is wrong.
    """
    from burnish.cluster.engines import open_engine

    return open_engine(options.on, folder, engine_options_of(options))


def executor_of(options: argparse.Namespace, folder: Path) -> Executor:
    """Return the executor of --on, whose shards are in a folder; without --on, of --jobs processes here."""
    if not options.on:
        return Processes(options.jobs) if options.jobs else each_core()
    from burnish.cluster.executor import OnEngine

    return OnEngine(partial(engine_of, options), folder)


def add_limits(parser: CommandParser, unit: str = "action") -> None:
    """Add the limits of worker processes; `unit` is the work that the deadline is for, as users call it."""
    add, text = parser.add_argument, f"for one {unit}; default: 60"
    add("--deadline", type=SECONDS, default=60.0, metavar="SECONDS", help=text)
    add("--memory", type=GIBIBYTES, default=4.0, metavar="GIB", help="of a worker; default: 4")


def limits_of(options: argparse.Namespace) -> Limits:
    """Return the limits of worker processes that the options give."""
    return Limits(options.deadline, int(options.memory * GIB))


def announce_policy(name: str, task: Task, objective: str) -> None:
    """Print a note on standard error if the policy that guides a search was made for another objective."""
    if other := policies.made_for(name, task, objective):
        text = f"burnish: the policy that guides the search was trained for {other}, not for {objective}"
        print(text, file=sys.stderr)
