"""A program to optimize, with its task, its objective and the limits of compiler processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from burnish.core.argument_checks import check_class
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits, Worker, check_limits


@dataclass(frozen=True)
class Problem:
    """The input of searches, confirmations and evaluations."""

    task: Task
    program: Program
    objective: str | None = None  # to minimise; the task's first by default
    variants: Mapping[str, Program] = field(default_factory=dict, repr=False)
    """By baseline: its program, if the front end makes a different one for it."""
    limits: Limits = Limits()  # of each compiler process

    def __post_init__(self) -> None:
        check_class("task", self.task, Task, "a Task, as load_task(NAME) returns it")
        check_class("program", self.program, Program, "a Program, as load_program('hot.c') returns it")
        check_limits(self.limits)

    @property
    def goal(self) -> Objective:
        """The objective.

        Raises:
            UnknownName: the task has no such objective.
        """
        return self.task.objective(self.objective)

    def from_baseline(self, name: str) -> Problem:
        """Return the problem of the same program, opened in the state of a baseline.

        Raises:
            UnknownName: the task has no such baseline.
        """
        return replace(self, task=replace(self.task, open=self.task.baseline(name)))

    def open(self, worker: Worker | None = None) -> Sandbox:
        """Open the program in a worker process, by default a new one.

        Raises:
            ProgramError: the program cannot be read.
        """
        return Sandbox(self.task.open, self.program, limits=self.limits, worker=worker)

    def open_baseline(self, name: str, worker: Worker | None = None) -> Sandbox:
        """Open a baseline's program (see `variants`) in the state of the baseline.

        Raises:
            UnknownName: the task has no such baseline.
            ProgramError: the program cannot be read.
        """
        opener = self.task.baseline(name)
        # The variant is run like the program.
        variant = replace(self.variants.get(name, self.program), workload=self.program.workload)
        return Sandbox(opener, variant, limits=self.limits, worker=worker)
