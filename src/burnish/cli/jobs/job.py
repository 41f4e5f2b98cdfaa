"""The job for one program: search, then write the files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from burnish.cli.jobs.outputs import make_folders, note_written
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation import Callbacks, Strategy, optimize, replay_result
from burnish.evaluation.bundle import bundled
from burnish.evaluation.report.graph_files import writer_of
from burnish.evaluation.report.search_graph import Recorder, graph_of
from burnish.files import write_atomically
from burnish.search import Budget, Progress
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
    objective: str = ""  # of the program, whose machine may have limits of its own; "": see SearchSettings

    def settings(self, common: SearchSettings) -> SearchSettings:
        """Return the settings of this program's search; `common` are those for all programs."""
        return replace(common, objective=self.objective or common.objective)


@dataclass(frozen=True)
class SearchSettings:
    """Settings of the searches for all programs."""

    budget: Budget
    objective: str
    strategy: Strategy = field(default_factory=Strategy)
    limits: Limits = Limits()
    bundle: bool = False  # True: the result includes the program
    graph: Path | None = None  # file for a drawing of all evaluations


def search_job(task: Task, job: Job, settings: SearchSettings, callbacks: Callbacks) -> Result:
    """Optimize a program, and draw all evaluations as a graph if the settings ask for it.

    Raises:
        InputError, CompilerCrash, ReplayError: see burnish.evaluation.optimization.
    """
    settings = job.settings(settings)
    problem = Problem(task, job.program, settings.objective, job.variants, settings.limits)
    recorder = Recorder()

    def tell(progress: Progress) -> None:
        if settings.graph:
            recorder(progress.latest)
        if callbacks.progress:
            callbacks.progress(progress)

    def reference(name: str, cost: float) -> None:
        callbacks.reference(task.label(name), cost)

    told = Callbacks(reference, tell, callbacks.note)
    result = optimize(problem, settings.budget, strategy=settings.strategy, callbacks=told)
    if settings.graph:
        callbacks.note(f"drawing {settings.graph}")
        cost = result.baselines.get(task.reference, result.cost)
        session = problem.open()
        try:
            graph = graph_of(session, recorder.evaluations.values(), problem.goal, cost)
        finally:
            session.shutdown()
        write_atomically(settings.graph, writer_of(settings.graph)(graph).encode())
    bundle = bundled(job.program, job.variants) if settings.bundle else {}
    return replace(result, source=job.source, bundle=bundle)


def write_output(task: Task, job: Job, result: Result, limits: Limits) -> str:
    """Write the optimized program, or the fallback, and return the task's description of that state.

    The output's suffix is the format. Files that the task writes beside the output are overwritten.

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
