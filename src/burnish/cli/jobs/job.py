"""One program from the search to the file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from burnish.cli.jobs.outputs import make_folders
from burnish.cli.jobs.overwriting import note_written
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation import Audience, Strategy, optimize, replay_result
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
    """One program to optimize, and where it goes."""

    program: Program
    source: tuple[str, ...]  # the files and the compiler's options
    output: Path
    arguments: tuple[str, ...] = ()  # all that the compiler was told
    variants: dict[str, Program] = field(default_factory=dict)
    """By baseline: the program where the front end makes another one for it."""
    top: Path | None = None  # of the tree that the output is in: folders are made below it


@dataclass(frozen=True)
class SearchSettings:
    """How to search."""

    budget: Budget
    objective: str
    method: str = DEFAULT
    policy: str = policies.DEFAULT
    seed: int = 0
    workers: int | None = None  # None: one for each core
    memory: Path | None = None  # see burnish.search.memory
    limits: Limits = Limits()
    bundle: bool = False  # the program goes into its result
    graph: Path | None = None  # where what was evaluated is drawn


class Watcher(Protocol):
    """Who is told how a search goes on."""

    def reference(self, name: str, cost: float) -> None:
        """Begin the search; what the result is compared with is called so, and costs so much."""

    def note(self, text: str) -> None:
        """Tell what happens now, before or after the search."""

    def __call__(self, progress: Progress) -> None:
        """Tell that something was evaluated."""


def search_job(task: Task, job: Job, settings: SearchSettings, watcher: Watcher) -> Result:
    """Optimize a program; nothing is written but the search's graph, if it is wanted.

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
        audience=Audience(lambda name, cost: watcher.reference(task.label(name), cost), tell, watcher.note),
    )
    if settings.graph:
        watcher.note(f"drawing {settings.graph}")
        _write_graph(settings.graph, problem, recorder, result)
    bundle = bundled(job.program, job.variants) if settings.bundle else {}
    return replace(result, source=job.source, bundle=bundle)


def _write_graph(path: Path, problem: Problem, recorder: Recorder, result: Result) -> None:
    """Write what was evaluated as a graph, in the form that the file's name asks for.

    Raises:
        InputError: it cannot be written there.
        CompilerCrash: the compiler does not survive the program.
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
    """Write the optimized program, or the fallback, in the form that the output's name asks for.

    What the task writes beside it is written over, if it is there.

    Return what the task says of that state; "" where it says nothing.

    Raises:
        InputError: the folder is not there any more, or the disk is full.
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
