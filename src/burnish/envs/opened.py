"""The open program of an environment, which each episode forks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from burnish.core.errors import CompilerCrash, CompilerTimeout, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.session import Session
from burnish.core.task import Opener, Task
from burnish.core.view import Start, View
from burnish.envs.reward import baseline_cost
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Worker

KNOWN_BASELINES = 10_000  # most programs whose baselines' costs are cached


def check_language(task: Task, program: Program) -> None:
    """Check that a program is in the task's language.

    Raises:
        InputError: the program is in another language.
    """
    if program.language != task.language:
        raise InputError(f"{program.name}: {task.id} opens {task.language!r}, not {program.language!r}")


@dataclass
class _Kept:
    """Open programs and cached costs of environments that share a worker."""

    most: int = 1  # most open programs: the number of environments
    roots: OrderedDict[str, Session] = field(default_factory=OrderedDict)  # by Program.key
    costs: Recent[str, dict[str, float]] = field(default_factory=lambda: Recent(KNOWN_BASELINES))
    """The costs of baselines by name, by Program.key."""


class OpenProgram:
    """Begins episodes, in a worker or in this process; an open program is not read again."""

    def __init__(
        self,
        task: Task,
        worker: Worker | None,
        view: View,
    ) -> None:
        self._task = task
        self._worker = worker
        self._view = view
        self.baselines: Mapping[str, Opener] = {}  # whose costs each episode begins with, by name
        self._kept = _Kept()

    def begin(self, program: Program) -> Callable[[], tuple[Session, Start]]:
        """Begin an episode and return the function that waits for it.

        The returned function raises:
            ProgramError: the program cannot be opened, or the compiler dies while opening it.
        """
        missing = [name for name in self.baselines if name not in self._known(program)]
        begun = self._begin(program, missing)

        def finish() -> tuple[Session, Start]:
            try:
                try:
                    session, start = begun()
                except CompilerTimeout:
                    raise
                except CompilerCrash:  # retry once, because the worker may have died before this call
                    session, start = self._begin(program, missing)()
            except CompilerCrash as error:
                raise ProgramError(f"{program.name}: the compiler failed on this input: {error}") from None
            self._known(program).update(zip(missing, start.baselines, strict=True))
            return session, start

        return finish

    def baseline_costs(self, program: Program) -> dict[str, float]:
        """Return the baselines' costs on a program of an earlier `begin`, by name."""
        known = self._known(program)
        return {name: known[name] for name in self.baselines}

    def cost(self, program: Program, objective: str, baseline: str | None = None) -> float:
        """Measure the program, or a baseline's state, by any objective.

        Raises:
            CompilerCrash: the compiler fails.
            NotMeasurable: the program does not have this cost.
            UnknownName: the task has no such baseline.
        """
        if baseline is None:
            return self._open(program).measure(objective)
        return baseline_cost(partial(self._session, self._task.baseline(baseline)), program, objective)

    def share(self, other: OpenProgram) -> None:
        """Use another's worker; share its programs and costs if task and view are the same."""
        self._worker, self._kept = other._worker, _Kept()
        if self._task is other._task and self._view == other._view:
            self._kept = other._kept
            self._kept.most += 1

    def close(self) -> None:
        """Forget the open programs; cached costs stay."""
        self._kept = _Kept(costs=self._kept.costs)

    def _begin(self, program: Program, baselines: Sequence[str]) -> Callable[[], tuple[Session, Start]]:
        objective = self._view.objective
        assert objective is not None
        costs = [
            partial(baseline_cost, self.baselines[name], program.remembered(), objective)
            for name in baselines
        ]
        if self._worker is None:  # open the program in the returned function, which raises the errors
            return lambda: self._open(program).begin_fork(self._view, costs)()
        return self._open(program).begin_fork(self._view, costs)

    def _open(self, program: Program) -> Session:
        roots = self._kept.roots
        if program.key not in roots:
            while len(roots) >= self._kept.most:
                roots.popitem(last=False)[1].close()
            roots[program.key] = self._session(self._task.open, program)
        roots.move_to_end(program.key)
        return roots[program.key]

    def _session(self, opener: Opener, program: Program) -> Session:
        if self._worker is None:
            return opener(program.remembered())
        return Sandbox(opener, program.remembered(), worker=self._worker, actions=self._task.actions)

    def _known(self, program: Program) -> dict[str, float]:
        """Return the cached costs of a program's baselines, to read and to add to."""
        if (known := self._kept.costs.get(program.key)) is None:
            self._kept.costs.put(program.key, known := {})
        return known
