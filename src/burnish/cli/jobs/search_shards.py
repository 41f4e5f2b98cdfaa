"""Searches as shards: a program is one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from burnish.cli.jobs.job import Job, SearchSettings, search_job
from burnish.cluster.policies import Contents, contents_of, path_here
from burnish.cluster.shards import failure_file, value_of
from burnish.core import errors
from burnish.core.errors import BurnishError
from burnish.core.result import Result
from burnish.core.task import Task
from burnish.evaluation import Callbacks
from burnish.evaluation.confirm import toolchain
from burnish.workers.executor import Shard, name_of


def shard_of(task: Task, job: Job, settings: SearchSettings, method: str) -> Shard:
    """Return the shard of a program; its name differs if anything differs that the result depends on.

    Args:
        task: The task.
        job: The program; its output is the caller's.
        settings: The settings of the search.
        method: The search's name with the digest of its policy, as `policies.named` returns it.
    """
    job, settings = replace(job, output=Path(), top=None), job.settings(settings)
    budget, strategy = settings.budget, settings.strategy
    programs = {name: program.key for name, program in job.variants.items()}
    parts: list[object] = [
        task.id,
        sorted(task.options.items()),
        sorted(toolchain(task).items()),
        settings.objective,
    ]
    parts += [method, strategy, budget.text, budget.workers, settings.limits, settings.bundle]
    parts += [job.program.name, job.program.key, job.source, job.arguments, sorted(programs.items())]
    contents = contents_of([strategy.policy], task)
    return Shard(name_of(*parts), search_or_error, (task, job, settings, contents))


def search_or_error(task: Task, job: Job, settings: SearchSettings, contents: Contents) -> tuple[str, str]:
    """Search; return ("Result", its JSON), or the class and the text of a BurnishError.

    `contents` has that of the policy, if it is a file.
    """
    for name, content in contents.items():
        strategy = replace(settings.strategy, policy=path_here(name, content))
        settings = replace(settings, strategy=strategy)
    try:
        return "Result", search_job(task, job, settings, Callbacks()).to_json()
    except BurnishError as error:
        kinds = (kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        return next(kinds), str(error)


def outcome_of(folder: Path, name: str, failure: str) -> Result | BurnishError:
    """Return the result of a shard that ended, or its error; `failure` is that of `run_shards`."""
    if failure:
        return BurnishError(f"{failure.strip().splitlines()[-1]}; see {failure_file(folder, name)}")
    kind, text = value_of(folder, name)
    error: BurnishError | None = None if kind == "Result" else getattr(errors, kind)(text)
    return error or Result.from_json(text)
