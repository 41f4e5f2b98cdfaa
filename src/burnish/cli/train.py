"""burnish train: training on a corpus, which continues after an interruption."""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from burnish.cli.jobs.arguments import add_engine, add_settings, all_given, engine_options_of
from burnish.console.command_parser import COUNT, CommandParser
from burnish.console.numbers import duration_text
from burnish.console.table_forms import TableForm, add_table_form, form_of
from burnish.console.tables import TextTable, names, texts
from burnish.core.errors import InputError
from burnish.learning.training.algorithms import without_torch
from burnish.learning.training.config import Config, change_table, config_of, read_config, shipped
from burnish.learning.training.track import as_json

if TYPE_CHECKING:
    from burnish.learning.training.loop import IterationProgress, TrainingOutcome

LOG_SECONDS = 30.0  # between two lines of progress if there is no terminal
SCORE = "validation/ratio"
INTERRUPTED = "interrupted"
WHY = {
    "iterations": "all iterations are done",
    "steps": "all steps are done",
    "seconds": "the time is up",
    "patience": "validation did not improve for long enough",
    "finished": "the algorithm is complete",
}


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _parser(arguments).parse(arguments)
    options.set += [f"options.{name}={json.dumps(text)}" for name, text in all_given(options).items()]
    if options.list or not (options.config or options.resume):
        _list_configurations(form_of(options))
        return 0 if options.list else 2
    config, folder = _what(options)
    try:
        from burnish.cluster.batch_job import IN_JOB, LOG, submit
        from burnish.cluster.training import SLURM, is_ranked, train_many
        from burnish.learning.training.loop import STOP, Listener
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "torch":
            raise
        raise without_torch() from None
    engine = engine_options_of(options)
    in_job = IN_JOB in os.environ
    if options.on == SLURM and not in_job:
        tasks = (options.processes or 1) if is_ranked(config) else 1
        job = submit(folder, ["train", *arguments], tasks=tasks, name=config.name, options=engine)
        print(f"submitted job {job}, which logs to {folder / LOG}; touch {folder / STOP} ends it politely")
        return 0
    if not in_job:
        (folder / STOP).unlink(missing_ok=True)
    command = shlex.join(["burnish", "train", *arguments])
    progress = TrainProgress(config.name, quiet=options.quiet, json=options.json)
    with progress, _stop_politely(progress) as stop:
        listener = Listener(progress, progress.note, progress.say, stop, command)
        many: Any = {"on": options.on or "", "options": engine, "processes": options.processes}
        outcome = train_many(config, folder, listener, **many)
    if outcome is None:  # of a rank above 0
        return 0
    if outcome.why == INTERRUPTED:
        print(f"stopped after iteration {outcome.iteration}; to resume: {command}", file=sys.stderr)
        return 0 if in_job else 130  # the job's script knows that it asked
    (folder / STOP).unlink(missing_ok=True)
    if not (options.json or options.quiet):
        _report(outcome)
    return 0


def _parser(arguments: Sequence[str]) -> CommandParser:
    parser = CommandParser(
        prog="burnish train",
        description="Train a policy from a configuration. The same command resumes a run that was "
        "interrupted or killed. The best policy on the validation programs is exported "
        "with its card.",
        epilog="Ctrl-C finishes the iteration, saves and exports; Ctrl-C again stops at once.",
    )
    add = parser.add_argument
    add("config", nargs="?", metavar="CONFIG", help="a TOML file, or the name of one that is shipped")
    add("--list", action="store_true", help="list the shipped configurations")
    add("--out", type=Path, metavar="FOLDER", help="folder of the run; default: runs/NAME")
    add("--resume", type=Path, metavar="FOLDER", help="resume a run with the configuration in its folder")
    setting = "change a key, such as run.iterations=20; can be repeated"
    add("--set", action="append", default=[], metavar="KEY=VALUE", help=setting)
    many = "ranks of dd-ppo or actors of async-ppo; default: one for each core of the engine"
    add("--processes", type=COUNT, metavar="N", help=many)
    add_engine(parser, "this process, and actors on this machine; slurm submits a job")
    add_settings(parser, arguments)
    add_table_form(parser, json="print one line of JSON for each iteration")
    add("-q", "--quiet", action="store_true", help="show no progress")
    return parser


def _what(options: argparse.Namespace) -> tuple[Config, Path]:
    """Return the configuration and the folder of the run."""
    if not options.resume:
        config = read_config(options.config, options.set)
        return config, options.out or Path("runs") / config.name
    if options.config or options.out:
        raise InputError("--resume takes the configuration from its folder; leave out CONFIG and --out")
    path = options.resume / "config.json"
    try:
        table = json.loads(path.read_text())
    except (OSError, ValueError):
        raise InputError(f"{path}: there is no run to resume") from None
    for change in options.set:
        change_table(table, change)
    return config_of(table, str(options.resume / options.resume.name)), options.resume


def _list_configurations(form: TableForm) -> None:
    form.note("burnish train CONFIG, with a TOML file or one of")
    table = TextTable((names("configuration"), texts("purpose")))
    for name in shipped():
        table.add(name, read_config(name).description)
    form.show(table)


@contextmanager
def _stop_politely(progress: TrainProgress) -> Iterator[Callable[[], bool]]:
    """Handle Ctrl-C, SIGTERM, SIGUSR1: the first one ends the run after its iteration, the second at once.

    Before the first iteration is done there is nothing to lose, and the first one ends the run at once.
    """
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked or not progress.begun:
            raise KeyboardInterrupt
        asked = True
        progress.say("stopping after this iteration; Ctrl-C again stops at once")

    def ignore(number: int, frame: FrameType | None) -> None:
        """Do nothing: rank 0 says when this rank ends."""

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    follows = os.environ.get("RANK", "0") != "0"
    before = {number: signal.signal(number, ignore if follows else ask) for number in numbers}
    try:
        yield lambda: asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _report(outcome: TrainingOutcome) -> None:
    """Print why the run ended, and the paths of its files."""
    from burnish.learning.training.card import card_path
    from burnish.learning.training.loop import CURVES

    print(f"{WHY[outcome.why]}, after iteration {outcome.iteration}")
    if outcome.best and outcome.policy:
        score, iteration = outcome.best.metrics[SCORE], outcome.best.iteration
        first = "" if iteration else " (the first one: no later one is better)"
        print(f"best policy: of iteration {iteration}{first}, {score:.4f} on the validation programs")
        files = [str(outcome.policy), card_path(outcome.policy).name]
        files += [CURVES] if (outcome.folder / CURVES).exists() else []
        print(f"wrote {', '.join(files)}")
    print(f"curves: tensorboard --logdir {outcome.folder}")


class TrainProgress:
    """Rate, return, validation and time left: a bar on a terminal, lines otherwise, or lines of JSON."""

    def __init__(self, name: str, *, quiet: bool, json: bool) -> None:
        self._console = Console(stderr=True)
        self._json = json
        self._quiet = quiet
        self._terminal = self._console.is_terminal and not (quiet or json)
        self._lines = not (quiet or json or self._terminal)
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=24))
        self._bar = Bars(*columns, TextColumn("{task.fields[now]}"), TimeElapsedColumn())
        self._task = self._bar.add_task(name, total=1.0, now="")
        self._text = Text(overflow="ellipsis", no_wrap=True)
        self._live = Live(Group(self._bar, self._text), console=self._console, transient=True)
        self._name = name
        self._last: dict[str, float] = {}  # metrics that are not in every row
        self._noted = self._logged = -LOG_SECONDS
        self.begun = False
        """True after the first iteration; from then on, an interruption would lose work."""

    def __enter__(self) -> Self:
        if self._terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def note(self, text: str) -> None:
        """Show the current activity."""
        self._bar.update(self._task, now=text)
        if self._lines and time.monotonic() - self._noted > LOG_SECONDS:
            self._noted = time.monotonic()
            self._console.print(f"{self._name}  {text}", highlight=False)

    def say(self, text: str) -> None:
        """Print a message that stays."""
        if not self._quiet:
            self._console.print(f"{self._name}  {text}", highlight=False)

    def __call__(self, progress: IterationProgress) -> None:
        """Show an iteration."""
        self.begun = True
        if self._json:
            print(as_json(progress.row), flush=True)
            return
        self._last |= progress.row
        left = progress.seconds_left
        told = "" if left is None else f"{duration_text(left)} left"
        done = progress.row["seconds"] / (progress.row["seconds"] + left) if left is not None else 0.0
        self._bar.update(self._task, completed=done, now=told)
        text = _describe(self._last, progress)
        self._text.plain = f"  {text}"
        now = time.monotonic()
        if self._lines and (SCORE in progress.row or now - self._logged > LOG_SECONDS):
            self._logged = now
            words = filter(None, [self._name, text, told])
            self._console.print("  ".join(words), highlight=False, soft_wrap=True)


def _describe(metrics: dict[str, float], progress: IterationProgress) -> str:
    """Return the most important of the available metrics as one line."""
    words = [f"iteration {int(metrics['iteration'])}"]
    if "steps" in metrics:
        words.append(f"{int(metrics['steps']):,} steps, {metrics['steps_per_second']:,.0f}/s")
    if "return" in metrics and not math.isnan(metrics["return"]):
        words.append(f"return {metrics['return']:+.3f}")
    if SCORE in metrics and progress.best:
        best = progress.best.metrics[SCORE]
        words.append(f"{progress.reference} / policy {metrics[SCORE]:.4f}, best {best:.4f}")
    return "  ".join(words)
