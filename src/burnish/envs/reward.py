"""Rewards: functions of the costs before and after a step.

`log` is log(before / after). The other forms are differences, before - after, in some unit, as in CompilerGym
(compiler_gym/envs/llvm/llvm_rewards.py there):

- `difference`: in units of the objective (CompilerGym's IrInstructionCount);
- `over-X`, where X is the task's first baseline, the unoptimized program: as a fraction of X's cost
  (CompilerGym's IrInstructionCountNorm);
- `over-X` for any other baseline: as a fraction of X's gain over the first baseline (CompilerGym's
  IrInstructionCountO3, IrInstructionCountOz). A return of 1 is as good as X. The gain is taken as at least 1
  unit or 1 % of the unoptimized cost, whichever is less. For counts of a hundred and more, this is
  CompilerGym's max(gain, 1); for seconds, gains are seldom as much as 1.

A function of the two costs is a form, too.

The named forms telescope: an episode's rewards add up to the reward of one step from its start to its end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real

from burnish.core.errors import CompilerCrash, InputError, UnknownName
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.envs.env_arguments import check_call

RewardFunction = Callable[[float, float], float]
"""From a step's cost before and its cost after to the reward."""
FailureReward = float | Mapping[str, float]
FAILURE_REWARD = -1.0  # the default


@dataclass(frozen=True)
class Reward:
    """One form of reward, with the baselines that it needs."""

    name: str
    baselines: tuple[str, ...] = ()  # `unit` takes their costs
    function: RewardFunction | None = None  # a user's own form

    def unit(self, costs: Sequence[float]) -> float:
        """Return the cost difference with a reward of 1, from the program's costs under `baselines`."""
        match costs:
            case []:
                return 1.0
            case [unoptimized]:
                return unoptimized
        unoptimized, baseline = costs
        return max(unoptimized - baseline, min(1.0, unoptimized / 100))

    def of(self, before: float, after: float, unit: float) -> float:
        """Return the reward of a step; `unit` is the value of `unit()` for its program.

        Raises:
            InputError: a user's function does not return a number.
        """
        if self.function is None:
            return math.log(before / after) if self.name == "log" else (before - after) / unit
        reward = self.function(before, after)
        if not isinstance(reward, Real) or not math.isfinite(reward):
            raise InputError(f"{self.name}({before:g}, {after:g}) returned {reward!r:.60}; expected a number")
        return float(reward)


def rewards(task: Task) -> dict[str, Reward]:
    """Return the forms of a task's rewards, by name."""
    unoptimized, *others = task.baselines
    forms = [
        Reward("log"),
        Reward("difference"),
        Reward(f"over-{unoptimized}", (unoptimized,)),
        *(Reward(f"over-{name}", (unoptimized, name)) for name in others),
    ]
    return {form.name: form for form in forms}


def reward_of(task: Task, given: str | RewardFunction) -> Reward:
    """Return a form by its name, or the form of a function of the costs before and after a step.

    Raises:
        InputError: the function takes other arguments.
        UnknownName: the task has no such reward.
    """
    if callable(given):
        check_call(f"reward={given!r}", given, (1.0, 1.0), "a function: lambda before, after: before - after")
        return Reward(getattr(given, "__name__", type(given).__name__), function=given)
    known = rewards(task)
    if not isinstance(given, str) or given not in known:
        raise UnknownName.among("reward", given, known)
    return known[given]


def failure_rewards(given: FailureReward) -> Callable[[CompilerCrash], float]:
    """Return a function from a failure to its reward: the number of its class or of the nearest base class.

    Args:
        given: One number for all failures, or numbers by the names of CompilerCrash's classes, such as
            {"CompilerCrash": -5, "Miscompiled": -20}; a task may have classes of its own.

    Raises:
        InputError: `given` is neither a number nor a mapping.
        UnknownName: the class of failures is unknown.
    """
    if not isinstance(given, Mapping):
        if not isinstance(given, int | float):
            raise InputError(f"failure_reward={given!r}: expected a number, or numbers by class of failure")
        return partial(_failure_reward, {CompilerCrash.__name__: given})
    names = [kind.__name__ for kind in _failures(CompilerCrash)]
    for name in given:
        if name not in names:
            raise UnknownName.among("failure", name, names)
    return partial(_failure_reward, {CompilerCrash.__name__: FAILURE_REWARD, **given})


def _failure_reward(known: Mapping[str, float], error: CompilerCrash) -> float:
    return next(known[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in known)


def _failures(kind: type[CompilerCrash]) -> Iterator[type[CompilerCrash]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _failures(below)


def baseline_cost(opener: Callable[[Program], Session], program: Program, objective: str) -> float:
    """Return a program's cost in a baseline's state."""
    session = opener(program)
    cost = session.measure(objective)
    session.close()
    return cost
