"""The job for one program: search, then write the files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from burnish.cli.jobs.outputs import make_folders
from burnish.cli.jobs.overwriting import note_written
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation import Callbacks, Strategy, optimize, replay_result
from burnish.evaluation.bundle import bundled
from burnish.evaluation.report.graph_files import writer_of
from burnish.evaluation.report.search_graph import Recorder, graph_of
from burnish.files import write_atomically
from burnish.policies import find as policies
from burnish.search import DEFAULT, Budget, Progress
from burnish.search.problem import Problem
from burnish.workers.worker import Limits


@dataclass(frozen=True)
class Job:
    """One program to optimize, and the path of its output."""

    program: Program
    source: tuple[str, ...]  # the files and the compiler's options
    output: Path
    arguments: tuple[str, ...] = ()  # all arguments of the compiler
    variants: dict[str, Program] = field(default_factory=dict)
    """Variants of the program, for baselines for which the front end emits other code."""
    top: Path | None = None  # top of the output's tree: folders are made below it


@dataclass(frozen=True)
class SearchSettings:
    """Settings of a search."""

    budget: Budget
    objective: str
    method: str = DEFAULT
    policy: str = policies.DEFAULT
    seed: int = 0
    workers: int | None = None  # None: one for each core
    memory: Path | None = None  # see burnish.search.memory
    limits: Limits = Limits()
    bundle: bool = False  # True: the result includes the program
    graph: Path | None = None  # file for a drawing of all evaluations


class Watcher(Protocol):
    """An observer of a search."""

    def reference(self, name: str, cost: float) -> None:
        """Receive the name and cost of the reference, when the search begins."""

    def note(self, text: str) -> None:
        """Receive a text on the current activity, before or after the search."""

    def __call__(self, progress: Progress) -> None:
        """Receive the progress after an evaluation."""


def search_job(task: Task, job: Job, settings: SearchSettings, watcher: Watcher) -> Result:
    """Optimize a program, and write the search's graph if the settings ask for it.

    Raises:
        InputError, CompilerCrash, ReplayError: see burnish.evaluation.optimization.
    """
    problem = Problem(task, job.program, settings.objective, job.variants, settings.limits)
    recorder = Recorder()

    def tell(progress: Progress) -> None:
        if settings.graph:
            recorder(progress.latest)
        watcher(progress)

    result = optimize(
        problem,
        replace(settings.budget, workers=settings.workers),
        strategy=Strategy(settings.method, settings.policy, settings.seed, settings.memory),
        callbacks=Callbacks(lambda name, cost: watcher.reference(task.label(name), cost), tell, watcher.note),
    )
    if settings.graph:
        watcher.note(f"drawing {settings.graph}")
        _write_graph(settings.graph, problem, recorder, result)
    bundle = bundled(job.program, job.variants) if settings.bundle else {}
    return replace(result, source=job.source, bundle=bundle)


def _write_graph(path: Path, problem: Problem, recorder: Recorder, result: Result) -> None:
    """Write all evaluations as a graph, in the format of the file's suffix.

    Raises:
        InputError: the file cannot be written.
        CompilerCrash: the compiler crashes on the program.
    """
    goal = problem.goal
    reference = result.baselines.get(problem.task.reference, result.cost)
    session = problem.open()
    try:
        graph = graph_of(session, recorder.evaluations.values(), goal, reference)
    finally:
        session.shutdown()
    write_atomically(path, writer_of(path)(graph).encode())


def write_output(task: Task, job: Job, result: Result, limits: Limits) -> str:
    """Write the optimized program, or the fallback, in the format of the output's suffix.

    Files that the task writes beside the output are overwritten if they exist.

    Return the task's description of that state; "" if it has none.

    Raises:
        InputError: the folder no longer exists, or the disk is full.
        CompilerCrash, ReplayError: the result cannot be repeated.
    """
    session = replay_result(Problem(task, job.program, limits=limits), result)
    try:
        suffixes = (job.output.suffix, *task.files.written_beside.get(job.output.suffix, ()))
        baseline = result.fallback or task.reference
        files = {
            job.output.with_suffix(one): task.files.emitters[one](session, job.arguments, baseline)
            for one in suffixes
        }
        described = task.shown.describe(job.program, session, result) if task.shown.describe else ""
    finally:
        session.shutdown()
    if job.top:
        make_folders(job.output, job.top)
    for path, data in files.items():
        write_atomically(path, data)
        note_written(data)
    return described
