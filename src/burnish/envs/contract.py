"""The contract of tasks, as checks: `check_task` checks tasks as Gymnasium's `check_env` checks environments.

    burnish.check_task(TASK, [small_program, another_program])

Each check is a function of a Case. It raises BrokenContract, returns the reason why it does not apply to the
task, or returns None if the task passes.
"""

from __future__ import annotations

import contextlib
import copy
import math
import os
import pickle
import signal
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env, data_equivalence

from burnish.core.errors import (
    BrokenContract,
    BurnishError,
    CompilerCrash,
    IllegalAction,
    InputError,
    ProgramError,
    UnknownName,
)
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM, entry
from burnish.envs.env import Env
from burnish.envs.reward import rewards
from burnish.envs.state import EnvState
from burnish.envs.vector import VectorEnv
from burnish.envs.walks import NEAR, play, snapshot, wander
from burnish.workers.sandbox import Sandbox

EXACT = 1e-9  # largest difference of two sums of logarithms that are equal up to rounding
UNREADABLE = (b"\xff\x00 is not a program \x00", b"BC\xc0\xde", b"=")  # not programs in any language


@dataclass(frozen=True)
class Case:
    """A task and programs to check it with.

    Attributes:
        task: The task.
        programs: Two or more small programs with different costs.
        steps: The length of a random walk.
        noise: For noisy objectives, the relative difference that two measurements of one state may have.
    """

    task: Task
    programs: Sequence[Program]
    steps: int = 8
    noise: float = 0.0

    @property
    def objectives(self) -> list[Objective]:
        """The exact objectives; if the task has none, all objectives that the programs have."""
        runnable = all(program.workload for program in self.programs)
        every = self.task.objectives.values()
        found = [one for one in every if one.exact] or [
            one for one in every if runnable or not one.needs_workload
        ]
        require(bool(found), "no objective can be measured: give programs that run")
        return found

    def tolerance(self, objective: Objective) -> float:
        """Return the permitted difference between the logarithms of two costs of one state."""
        return math.log1p(self.noise) if objective.noisy else 0.0

    def same_cost(self, objective: Objective, one: float, other: float) -> bool:
        """Return whether two costs are equal within the tolerance."""
        return one == other or abs(math.log(one) - math.log(other)) <= self.tolerance(objective)

    def require_same(self, one: Session, other: Session, why: str) -> None:
        """Require that two sessions are in one state, with equal observations, masks and costs."""
        here, there = snapshot(self.task, one), snapshot(self.task, other)
        differing = [name for name in here if here[name] != there[name]]
        require(not differing, f"{why}: {', '.join(differing)} differ after {list(one.trace)}")
        for objective in self.objectives:
            costs = one.measure(objective.name), other.measure(objective.name)
            require(
                self.same_cost(objective, *costs), f"{why}: {objective.name} is {costs[0]} and {costs[1]}"
            )


@contextlib.contextmanager
def sandboxes() -> Iterator[Callable[[Task, Program], Sandbox]]:
    """Yield a function that opens programs in sandboxes; all are shut down at the end."""
    with ExitStack() as opened:

        def open_one(task: Task, program: Program) -> Sandbox:
            session = Sandbox(task.open, program)
            opened.callback(session.shutdown)
            return session

        yield open_one


def require(condition: bool, message: str) -> None:
    """Raise BrokenContract with a message unless the condition holds."""
    if not condition:
        raise BrokenContract(message)


def require_error(kind: type[Exception], call: Callable[[], object], what: str) -> None:
    """Require that a call raises an error of a class."""
    try:
        call()
    except kind:
        return
    except Exception as error:
        raise BrokenContract(
            f"{what} raised {type(error).__name__}, expected {kind.__name__}: {error}"
        ) from error
    raise BrokenContract(f"{what} raised nothing; expected {kind.__name__}")


def action_texts_are_identities(case: Case) -> None:
    """Check that action texts are unique and can be entries of a trace."""
    actions = case.task.actions
    require(len(actions) > 0, "the task has no actions")
    require(len(set(actions)) == len(actions), "two actions have the same text")
    wrong = [action for action in actions if ": " in action or not action.strip()]
    require(not wrong, f"actions with ': ' or without letters: {wrong}")


def names_are_the_keys(case: Case) -> None:
    """Check that observations and objectives are keyed by their names, and the reference is a baseline."""
    task = case.task
    require(bool(task.observations and task.objectives), "the task has no observations, or no objectives")
    for kept in (task.observations, task.objectives):
        for name, item in kept.items():
            require(name == item.name, f"{item.name!r} has the key {name!r}")
    require(task.reference in task.baselines, f"the reference {task.reference!r} is not among the baselines")


def baselines_have_costs(case: Case) -> None:
    """Check that each baseline opens and has a cost above 0."""
    for name, opener in case.task.baselines.items():
        session = opener(case.programs[0])
        for objective in case.objectives:
            cost = session.measure(objective.name)
            require(cost > 0, f"{objective.name} of the baseline {name} is {cost}; expected more than 0")


def initial_traces_are_legal(case: Case) -> str | None:
    """Check that the task's initial traces can be replayed."""
    if not case.task.hints.initial_traces:
        return "the task has no initial traces"
    with sandboxes() as open_one:
        for trace in case.task.hints.initial_traces:
            open_one(case.task, case.programs[0]).replay(trace)
    return None


def other_languages_are_refused(case: Case) -> None:
    """Check that a program in another language raises InputError."""
    other = Program("a", "Esperanto", case.programs[0].content)
    require_error(InputError, lambda: Env(case.task, other), "a program in Esperanto")


def unreadable_programs_are_refused(case: Case) -> None:
    """Check that an unreadable program raises ProgramError, in this process and in a sandbox."""
    with sandboxes() as open_one:
        for content in UNREADABLE:
            broken = Program("broken", case.task.language, content)
            require_error(ProgramError, partial(case.task.open, broken), f"the program {content!r}")
            require_error(
                ProgramError, partial(open_one, case.task, broken), f"the program {content!r} in a sandbox"
            )


def unknown_names_are_refused(case: Case) -> None:
    """Check that unknown observations, objectives and actions raise UnknownName."""
    session = case.task.open(case.programs[0])
    for call in (session.observe, session.measure, session.site_costs, session.index):
        require_error(UnknownName, partial(call, "no such name"), f"{call.__name__}('no such name')")


def a_trace_leads_to_one_state(case: Case) -> None:
    """Check that replaying a trace gives the same state: in this process, in another one, and twice."""
    with sandboxes() as open_one:
        for seed, program in enumerate(case.programs):
            first = open_one(case.task, program)
            wander(first, np.random.default_rng(seed), case.steps)
            require(bool(first.trace), f"a random walk through {program.name} applied nothing")
            for session in (open_one(case.task, program), case.task.open(program), case.task.open(program)):
                session.replay(first.trace)
                case.require_same(first, session, "a replayed trace reaches another state")


def masks_are_honest(case: Case) -> None:
    """Check that illegal actions raise IllegalAction and change nothing; unknown sites have no legal ones."""
    with sandboxes() as open_one:
        session = open_one(case.task, case.programs[0])
        wander(session, np.random.default_rng(1), case.steps)
        before = snapshot(case.task, session)
        for site in (WHOLE_PROGRAM, *session.sites()[:NEAR], "no such site"):
            legal = session.legal(site)
            expected = (len(case.task.actions),)
            require(
                legal.dtype == bool and legal.shape == expected,
                f"a mask is {legal.dtype}{legal.shape}; expected bool{expected}",
            )
            for action in (*np.flatnonzero(~legal), -1, len(case.task.actions)):
                what = f"the illegal action {action} at {site or 'the whole program'}"
                require_error(IllegalAction, partial(session.apply, int(action), site), what)
        require(not session.legal("no such site").any(), "an unknown site has legal actions")
        require(snapshot(case.task, session) == before, "an illegal action changed the state")


def legal_actions_apply(case: Case) -> None:
    """Check that every legal action applies or crashes, on the whole program and at the first site."""
    with sandboxes() as open_one:
        root = open_one(case.task, case.programs[0])
        applied = 0
        for site in (WHOLE_PROGRAM, *root.sites()[:1]):
            for action in np.flatnonzero(root.legal(site)):
                session = root.fork()
                with contextlib.suppress(CompilerCrash):  # masks may allow actions that crash the compiler
                    session.apply(int(action), site)
                    applied += 1
                session.close()
    require(applied > 0, "no legal action can be applied")


def sites_have_costs(case: Case) -> None:
    """Check that `site_costs` equals the measured costs of the sites, for objectives with `by_site`."""
    for objective in case.objectives:
        found = 0
        opened = [
            (case.programs[0], case.task.hints.first_trace),
            *((program, ()) for program in case.programs),
        ]
        for program, trace in opened:
            session = case.task.open(program)
            session.replay(trace)
            require(session.measure(objective.name) > 0, f"{objective.name} of {program.name} is not above 0")
            costs = session.site_costs(objective.name)
            found += len(costs)
            for site, cost in costs.items():
                require(cost >= 0, f"{objective.name} at {site} is {cost}")
                same = case.same_cost(objective, session.measure(objective.name, site), cost)
                require(same, f"{objective.name} at {site} differs between measure() and site_costs()")
        require(
            bool(found) == objective.by_site,
            f"{objective.name}.by_site is {objective.by_site}; expected {bool(found)}",
        )


def forks_are_independent(case: Case) -> None:
    """Check that a fork continues as its original would, and neither changes the other."""
    with sandboxes() as open_one:
        original = open_one(case.task, case.programs[-1])
        wander(original, np.random.default_rng(2), case.steps // 2)
        before, length = snapshot(case.task, original), len(original.trace)
        fork, other = original.fork(), original.fork()
        require(snapshot(case.task, fork) == before, "the state of a fork differs from its original's")
        wander(fork, np.random.default_rng(3), case.steps)
        require(len(fork.trace) > length, "a random walk of a fork applied nothing")
        require(snapshot(case.task, original) == before, "a step of a fork changed its original")
        wander(original, np.random.default_rng(3), case.steps)
        case.require_same(original, fork, "a fork and its original differ after the same steps")
        require(snapshot(case.task, other) == before, "a step of a session changed a fork")
        fork.close()
        require(snapshot(case.task, other) == before, "closing a fork changed another one")


def questions_are_answered(case: Case) -> str | None:
    """Check that an action on the whole program answers the compiler's question, which is not repeated."""
    with sandboxes() as open_one:
        session = open_one(case.task, case.programs[0])
        if not session.question():
            return "the compiler asks no questions"
        asked: list[str] = []
        while site := session.question():
            require(site in session.sites(), f"the question at {site} is at no site")
            legal = session.legal(site)
            require(bool(legal.any()), f"the question at {site} has no answer")
            require(
                not (legal & ~session.legal()).any(), f"an answer at {site} is illegal on the whole program"
            )
            action = int(np.flatnonzero(legal)[len(session.trace) % legal.sum()])
            before = session.fork()
            session.apply(action)
            before.apply(action, site)
            require(
                session.trace[-1] == entry(case.task.actions[action], site),
                "an answer is recorded without its site",
            )
            case.require_same(
                session, before, f"the answer at {site} differs from the one on the whole program"
            )
            asked.append(site)
            require(
                not any(session.legal(one).any() for one in asked), f"{site} was answered and is asked again"
            )
    return None


def sessions_survive_a_kill(case: Case) -> None:
    """Check that a sandbox replays its trace to the same state after its process was killed."""
    with sandboxes() as open_one:
        session = open_one(case.task, case.programs[0])
        wander(session, np.random.default_rng(6), 3)
        before = snapshot(case.task, session)
        if session.pid is None:
            raise BrokenContract("a sandbox has no process")
        os.kill(session.pid, signal.SIGKILL)
        require_error(CompilerCrash, session.digest, "the first call after a kill")
        require(snapshot(case.task, session) == before, "a replayed sandbox reaches another state")


def gymnasium_accepts_the_environment(case: Case) -> None:
    """Check the environment by Gymnasium's own checker, with the first and with all observations."""
    for observation in (None, tuple(case.task.observations)):
        env = _Unmasked(case.task, case.programs, observation=observation, sites=1, render_mode="ansi")
        with warnings.catch_warnings(), contextlib.closing(env):
            warnings.simplefilter("ignore")
            try:
                check_env(env, skip_close_check=True)
            except (AssertionError, TypeError, ValueError) as error:
                raise BrokenContract(f"gymnasium's check_env: {error}") from error


def seeds_repeat_episodes(case: Case) -> None:
    """Check that the same seed gives the same programs and observations."""
    with contextlib.closing(Env(case.task, case.programs, sites=1)) as env:
        first = [env.reset(seed=5), env.reset()]
        again = [env.reset(seed=5), env.reset()]
    for (one, info), (other, other_info) in zip(first, again, strict=True):
        require(info["program"] == other_info["program"], "the same seed gives two different programs")
        require(data_equivalence(one, other), "the same seed gives two different observations")


def returns_telescope(case: Case) -> None:
    """Check that the rewards of an episode add up to log(first cost / last cost), dense or sparse."""
    for objective in case.objectives:
        for dense in (True, False):
            options: dict[str, Any] = {"dense": dense, "max_steps": case.steps, "sites": 1}
            with contextlib.closing(
                Env(case.task, case.programs, objective=objective.name, **options)
            ) as env:
                start = env.reset()[1]["cost"]
                seen = [reward for _, reward, _ in play(env, np.random.default_rng(7))]
                expected = math.log(start / env.session.measure(objective.name))
            tolerance = EXACT + case.tolerance(objective)
            require(len(seen) > 1, "a random episode has fewer than two steps")
            require(
                abs(sum(seen) - expected) <= tolerance,
                f"{objective.name}: rewards {sum(seen)}, costs {expected}",
            )
            require(
                dense or not any(seen[:-1]), f"{objective.name}: a reward before the end, with dense=False"
            )


def every_reward_telescopes(case: Case) -> None:
    """Check that the rewards of each form add up to its reward for one step from start to end."""
    for name, form in rewards(case.task).items():
        options: dict[str, Any] = {"reward": name, "max_steps": case.steps, "sites": 1}
        with contextlib.closing(Env(case.task, case.programs[0], **options)) as env:
            info = env.reset()[1]
            start, costs = info["cost"], info.get("baselines", {})
            total = sum(reward for _, reward, _ in play(env, np.random.default_rng(9)))
            expected = form.of(start, env.cost, form.unit([costs[item] for item in form.baselines]))
            if not env.objective.noisy:
                require(abs(total - env.reward()) <= EXACT, f"reward={name!r}: reward() is {env.reward()}")
        require(abs(total - expected) <= EXACT, f"reward={name!r}: rewards {total}, costs {expected}")


def vectors_equal_single_environments(case: Case) -> None:
    """Check that a vector of environments behaves like as many single environments."""
    objective = case.objectives[0]
    options: dict[str, Any] = {"max_steps": 3, "sites": 1, "objective": objective.name}
    single = [Env(case.task, case.programs, limits=None, **options) for _ in range(2)]
    rng = np.random.default_rng(10)
    with contextlib.closing(VectorEnv(partial(Env, case.task, case.programs, **options), 2)) as several:
        observed, _ = several.reset(seed=0)
        for i, env in enumerate(single):
            require(
                data_equivalence(observed[i], env.reset(seed=i)[0]),
                f"environment {i} of a vector starts with another observation than a single one",
            )
        for _ in range(3):
            actions = [int(rng.choice(np.flatnonzero(mask))) for mask in several.action_masks()]
            observed, seen, *_ = several.step(np.array(actions))
            for i, env in enumerate(single):
                own, reward, *_ = env.step(actions[i])
                require(
                    data_equivalence(observed[i], own),
                    f"environment {i} of a vector has another observation than a single one after a step",
                )
                near = abs(seen[i] - reward) <= EXACT + 2 * case.tolerance(objective)
                require(near, f"environment {i} has the reward {seen[i]} in a vector and {reward} by itself")


def trade_offs_telescope(case: Case) -> None:
    """Check that the rewards of a weighted objective add up to the weighted sum of the logarithms."""
    first, second = case.objectives[0], case.objectives[:2][-1]
    weights = {first: 1.0} if first is second else {first: 0.75, second: 0.25}
    text = "*".join(f"{objective.name}^{weight:g}" for objective, weight in weights.items())
    with contextlib.closing(
        Env(case.task, case.programs, objective=text, max_steps=case.steps, sites=1)
    ) as env:
        env.reset()
        start = {objective: env.session.measure(objective.name) for objective in weights}
        total = sum(reward for _, reward, _ in play(env, np.random.default_rng(9)))
        ends = {objective: env.session.measure(objective.name) for objective in weights}
        costs, sites = env.session.site_costs(text), env.session.sites()
        measured = {site: env.session.measure(text, site) for site in costs}
    expected = math.fsum(weight * math.log(start[one] / ends[one]) for one, weight in weights.items())
    tolerance = EXACT + 2 * max(map(case.tolerance, weights))
    require(abs(total - expected) <= tolerance, f"{text}: rewards {total}, costs {expected}")
    for site, cost in costs.items():
        require(case.same_cost(case.task.objective(text), measured[site], cost), f"{text} at {site} differs")
    by_site = all(objective.by_site for objective in weights)
    require(bool(costs) or not (by_site and sites), f"{text} has no costs by site, but its parts have")


def states_are_restored(case: Case) -> None:
    """Check that a state from JSON, a pickled and a deep-copied environment continue as the original does."""
    options: dict[str, Any] = {"objective": case.objectives[0].name, "max_steps": case.steps, "sites": NEAR}
    with ExitStack() as opened:
        original = opened.enter_context(contextlib.closing(Env(case.task, case.programs, **options)))
        original.reset()
        steps = play(original, np.random.default_rng(12))
        for _ in range(case.steps // 2):
            next(steps)
        fresh = opened.enter_context(contextlib.closing(Env(case.task, case.programs, **options)))
        fresh.restore(EnvState.from_json(original.state.to_json()))
        pickled: Env = pickle.loads(pickle.dumps(original))
        copies = [("restored", fresh), ("pickled", pickled), ("copied", copy.deepcopy(original))]
        for _, twin in copies[1:]:
            opened.enter_context(contextlib.closing(twin))
        action = int(np.flatnonzero(original.action_masks())[-1])
        for how, twin in copies:
            case.require_same(original.session, twin.session, f"a {how} environment")
            require(twin.sites == original.sites, f"a {how} environment has its sites in other places")
            require(twin.cost == original.cost or original.objective.noisy, f"a {how} environment: cost")
        after = [env.step(action) for env in (original, *(twin for _, twin in copies))]
        tolerance = EXACT + 2 * case.tolerance(original.objective)
        for (how, _), (_, reward, *over, _) in zip(copies, after[1:], strict=True):
            same = over == list(after[0][2:4]) and abs(reward - after[0][1]) <= tolerance
            require(same, f"a {how} environment has another step after the same state")


def step_limits_truncate(case: Case) -> None:
    """Check that an episode is truncated at max_steps."""
    with contextlib.closing(Env(case.task, case.programs, max_steps=2, sites=1)) as env:
        env.reset()
        seen = [truncated for *_, truncated in play(env, np.random.default_rng(8))]
    require(seen == [False, True], f"max_steps=2: truncated is {seen}")


def illegal_steps_change_nothing(case: Case) -> None:
    """Check that a step by an illegal action raises IllegalAction and leaves the state unchanged."""
    env = Env(case.task, case.programs, sites=50, limits=None)
    mask = env.reset()[1]["mask"]
    before = env.session.digest()
    for action in (*np.flatnonzero(~mask)[-3:], -1, len(mask)):
        require_error(IllegalAction, partial(env.step, int(action)), f"the illegal step {action}")
    require(env.session.digest() == before and not env.trace, "an illegal step changed the state")


CHECKS: dict[str, Callable[[Case], str | None]] = {
    check.__name__: check
    for check in (
        action_texts_are_identities,
        names_are_the_keys,
        baselines_have_costs,
        initial_traces_are_legal,
        other_languages_are_refused,
        unreadable_programs_are_refused,
        unknown_names_are_refused,
        a_trace_leads_to_one_state,
        masks_are_honest,
        legal_actions_apply,
        sites_have_costs,
        forks_are_independent,
        questions_are_answered,
        sessions_survive_a_kill,
        gymnasium_accepts_the_environment,
        seeds_repeat_episodes,
        returns_telescope,
        every_reward_telescopes,
        vectors_equal_single_environments,
        trade_offs_telescope,
        states_are_restored,
        step_limits_truncate,
        illegal_steps_change_nothing,
    )
}
"""The checks of `check_task`, by their names."""


def check_task(
    task: Task,
    programs: Sequence[Program],
    *,
    checks: Iterable[str] = CHECKS,
    steps: int = 8,
    noise: float = 0.0,
) -> dict[str, str]:
    """Check that a task keeps the contract that searches, environments and results rely on.

    Args:
        task: The task.
        programs: Two or more small programs with different costs.
        checks: Names of CHECKS; by default all.
        steps: The length of a random walk.
        noise: For noisy objectives, the relative difference that two measurements of one state may have.

    Returns:
        For each check "passed", or the reason why it does not apply.

    Raises:
        BrokenContract: a check failed; the message names the task, the check and the difference.
        UnknownName: the check is unknown.
    """
    case = Case(task, programs, steps, noise)
    found: dict[str, str] = {}
    for name in checks:
        if name not in CHECKS:
            raise UnknownName.among("check", name, CHECKS)
        try:
            found[name] = CHECKS[name](case) or "passed"
        except BurnishError as error:
            kind = "" if isinstance(error, BrokenContract) else f"{type(error).__name__}: "
            raise BrokenContract(f"{task.id}: {name}: {kind}{error}") from error
    return found


class _Unmasked(Env):
    """An environment for Gymnasium's checker, which supports neither masks nor noisy measurements.

    Every action is legal (mapped to a legal one), and noisy observations and rewards are 0.
    """

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        observed, info = super().reset(seed=seed, options=options)
        return self._exact(observed), self._without_measured(info)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        legal = np.flatnonzero(self.action_masks())
        observed, reward, *over, info = super().step(int(legal[int(action) % len(legal)]))
        reward = 0.0 if self.objective.noisy else reward
        return self._exact(observed), reward, *over, self._without_measured(info)

    def _exact(self, observed: Any) -> Any:
        if isinstance(self.observation_space, gymnasium.spaces.Dict):
            return {name: self._zero_if_noisy(name, value) for name, value in observed.items()}
        return self._zero_if_noisy(self._observations.names[0], observed)

    def _zero_if_noisy(self, name: str, value: Any) -> Any:
        return np.zeros_like(value) if self.task.observations[name].noisy else value

    def _without_measured(self, info: dict[str, Any]) -> dict[str, Any]:
        measured = ("cost",) if self.objective.noisy else ()
        return {name: value for name, value in info.items() if name not in measured}
