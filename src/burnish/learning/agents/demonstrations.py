"""Conversion of traces that a search found to steps to imitate: observation, mask and action."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from burnish.core.errors import BurnishError, CompilerCrash, InputError, ReplayError, UnknownName
from burnish.core.program import Program
from burnish.core.trace import Trace, split_entry
from burnish.core.view import Mask
from burnish.envs.env import Env

EQUAL = 1e-9  # relative difference up to which two costs are equal


@dataclass(frozen=True)
class Demonstration:
    """A trace to imitate, with its cost and a reference."""

    program: Program | str
    """A program, or the name of one of the environments' programs, which a corpus opens when needed."""
    trace: Trace
    cost: float  # at the end of the trace
    reference: float  # cost that it is compared with, such as that at -Oz
    expert: str = ""  # name of the expert that found it
    idle: tuple[str, ...] = ()
    """Actions without effect for the rest of an episode, from which a policy learns when to stop."""

    @property
    def name(self) -> str:
        """The program's name."""
        return self.program if isinstance(self.program, str) else self.program.name

    @property
    def key(self) -> str:
        """Identity of the program: its digest, or its name if only that is given."""
        return self.program if isinstance(self.program, str) else self.program.key

    @property
    def gain(self) -> float:
        """log(reference / cost): above 0 if the trace is better."""
        return math.log(self.reference / self.cost)


@dataclass(frozen=True)
class DemonstrationStep:
    """One step of a demonstration."""

    program: str  # Demonstration.key
    observation: Any
    mask: Mask  # bool[n]
    action: int  # legal
    to_go: float  # return from here on: log(cost here / cost at the end of the trace)
    gain: float  # of the demonstration


@dataclass(frozen=True)
class Recording:
    """The steps of some demonstrations, in order, and the demonstrations that could not be replayed."""

    steps: tuple[DemonstrationStep, ...] = field(repr=False)
    failures: dict[str, str]  # reasons, by names of programs


def best_demonstrations(demonstrations: Iterable[Demonstration]) -> tuple[Demonstration, ...]:
    """Return each program's best demonstration: the cheapest, then the shortest, then the first by alphabet.

    No expert is the best on every program, so the policy imitates the best expert on each program: BC-Max
    (Marinov et al. 2024, arXiv:2403.19462).
    """
    best: dict[str, Demonstration] = {}
    for demonstration in demonstrations:
        known = best.setdefault(demonstration.key, demonstration)
        best[demonstration.key] = min(
            known, demonstration, key=lambda item: (item.cost, len(item.trace), item.trace)
        )
    return tuple(best.values())


def demonstrate(env: Env, demonstration: Demonstration) -> tuple[DemonstrationStep, ...]:
    """Replay a demonstration in an environment and record the observation and mask before each action.

    Raises:
        UnknownName: an entry has an action or a site that the environment does not offer.
        IllegalAction: an entry is illegal at its position.
        InputError: the trace is longer than an episode.
        CompilerCrash: the compiler died.
        ReplayError: the objective is exact, and the final cost differs from the demonstration's.
    """
    if env.max_steps is not None and len(demonstration.trace) > env.max_steps:
        raise InputError(
            f"{demonstration.name}: a trace of {len(demonstration.trace)} entries does not fit into an "
            f"episode of {env.max_steps} steps; shorten it, or give the environments a larger max_steps"
        )
    observation, info = env.reset(options={"program": demonstration.program})
    seen: list[tuple[Any, Mask, int]] = []
    costs: list[float] = []
    for action in _actions(env, demonstration):
        seen.append((observation, info["mask"], action))
        costs.append(env.cost)  # the last measured cost
        observation, _, _, _, info = env.step(action)
        if "error" in info:
            raise CompilerCrash(f"{demonstration.name}: {info['error']}")
    final = env.session.measure(env.objective.name)
    if env.objective.exact and not math.isclose(final, demonstration.cost, rel_tol=EQUAL):
        raise ReplayError(
            f"{demonstration.name}: the trace ends at {final:g} {env.objective.unit}, not at the "
            f"demonstration's {demonstration.cost:g}; was it found with another toolchain or for "
            "another objective?"
        )
    return tuple(
        DemonstrationStep(demonstration.key, *step, to_go=math.log(cost / final), gain=demonstration.gain)
        for step, cost in zip(seen, costs, strict=True)
    )


def record(
    envs: Sequence[Env],
    demonstrations: Sequence[Demonstration],
    progress: Callable[[int], None] | None = None,
) -> Recording:
    """Replay demonstrations in parallel, one per environment; a demonstration that fails is left out.

    Args:
        envs: The environments, whose current episodes end. Each is used by one thread at a time.
        demonstrations: The demonstrations.
        progress: Called with the number of demonstrations that are done.

    Raises:
        InputError: there is no step to imitate; the message has the first reason.
    """
    free: SimpleQueue[Env] = SimpleQueue()
    for env in envs:
        free.put(env)

    def replay(demonstration: Demonstration) -> tuple[DemonstrationStep, ...] | BurnishError:
        env = free.get()
        try:
            return demonstrate(env, demonstration)
        except BurnishError as error:
            return error
        finally:
            free.put(env)

    steps: list[DemonstrationStep] = []
    failures: dict[str, str] = {}
    with ThreadPoolExecutor(len(envs)) as pool:
        for done, (demonstration, found) in enumerate(
            zip(demonstrations, pool.map(replay, demonstrations), strict=True), 1
        ):
            if isinstance(found, BurnishError):
                failures[demonstration.name] = str(found)
            else:
                steps += found
            if progress:
                progress(done)
    if not steps:
        reason = next(
            iter(failures.values()), "all traces are empty" if demonstrations else "there is no demonstration"
        )
        raise InputError(f"nothing to imitate in {len(demonstrations)} demonstrations: {reason}")
    return Recording(tuple(steps), failures)


def _actions(env: Env, demonstration: Demonstration) -> Iterator[int]:
    """Yield the number of each entry of a trace in its state, then those of legal idle actions in turn."""
    for entry in demonstration.trace:
        yield _number_of(env, entry)
    idle = deque(_number_of(env, entry) for entry in demonstration.idle)
    for _ in range(len(demonstration.trace), env.max_steps or 0):
        legal = [action for action in idle if env.action_masks()[action]]
        if not legal:
            return
        yield legal[0]
        idle.remove(legal[0])  # move it to the end, so that the other idle actions come first
        idle.append(legal[0])


def _number_of(env: Env, entry: str) -> int:
    """Return the action number of a trace's entry in the current state."""
    site, action = split_entry(entry)
    if action not in env.actions:
        raise UnknownName.among("action", action, env.actions)
    places = (env.question, *env.sites[1:])  # an answer to a question is an action on the whole program
    if site not in places:
        raise UnknownName.among("site", site, places)
    return places.index(site) * len(env.actions) + env.actions.index(action)
