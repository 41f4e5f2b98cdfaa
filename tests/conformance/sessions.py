"""What a task and its sessions must do."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import numpy as np
import pytest

from burnish.core.errors import CompilerCrash, IllegalAction, InputError, ProgramError, UnknownName
from burnish.core.objective import Objective
from burnish.core.program import Program
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM, entry
from burnish.envs.env import Env
from tests.conformance.claims import Claims
from tests.conftest import OpenSandbox
from tests.walks import NEAR, snapshot, wander


class SessionClaims(Claims):
    """The contract of tasks and sessions."""

    # The task itself.

    def test_action_texts_are_identities(self, task: Task) -> None:
        assert len(set(task.actions)) == len(task.actions) > 0
        assert not any(": " in action or not action.strip() for action in task.actions)

    def test_names_are_the_keys(self, task: Task) -> None:
        assert all(name == item.name for name, item in task.observations.items())
        assert all(name == item.name for name, item in task.objectives.items())
        assert task.reference in task.baselines
        assert task.observations and task.objectives

    def test_baselines_have_costs(
        self, task: Task, programs: Sequence[Program], objectives: Sequence[Objective]
    ) -> None:
        for opener in task.baselines.values():
            session = opener(programs[0])
            assert all(session.measure(objective.name) > 0 for objective in objectives)

    def test_starts_are_legal(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox
    ) -> None:
        if not task.initial_traces:
            pytest.skip("the task has no initial traces")
        for start in task.initial_traces:
            open_sandbox(task.open, programs[0]).replay(start)

    def test_another_language_is_refused(self, task: Task, programs: Sequence[Program]) -> None:
        with pytest.raises(InputError, match="Esperanto"):
            Env(task, Program("a", "Esperanto", programs[0].content))

    def test_unreadable_program_is_program_error(self, task: Task, open_sandbox: OpenSandbox) -> None:
        for content in (b"\xff\x00 is not a program \x00", b"BC\xc0\xde", b"="):
            with pytest.raises(ProgramError):
                task.open(Program("broken", task.language, content))
            with pytest.raises(ProgramError):
                open_sandbox(task.open, Program("broken", task.language, content))

    def test_unknown_names_are_errors(self, task: Task, programs: Sequence[Program]) -> None:
        session = task.open(programs[0])
        for call in (session.observe, session.measure, session.site_costs, session.index):
            with pytest.raises(UnknownName):
                call("no such name")

    # Sessions.

    def test_same_trace_gives_same_state(
        self,
        task: Task,
        programs: Sequence[Program],
        objectives: Sequence[Objective],
        open_sandbox: OpenSandbox,
    ) -> None:
        for seed, program in enumerate(programs):
            first = open_sandbox(task.open, program)
            wander(first, np.random.default_rng(seed), self.steps)
            assert first.trace
            second, here, again = open_sandbox(task.open, program), task.open(program), task.open(program)
            for session in (second, here, again):
                session.replay(first.trace)
                assert snapshot(task, session) == snapshot(task, first)
                self.assert_costs(objectives, session, first)

    def test_mask_is_honest(self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox) -> None:
        session = open_sandbox(task.open, programs[0])
        wander(session, np.random.default_rng(1), self.steps)
        before = snapshot(task, session)
        for site in (WHOLE_PROGRAM, *session.sites()[:NEAR], "no such site"):
            legal = session.legal(site)
            assert legal.dtype == bool
            assert legal.shape == (len(task.actions),)
            for action in (*np.flatnonzero(~legal), -1, len(task.actions)):
                with pytest.raises(IllegalAction):
                    session.apply(int(action), site)
        assert not session.legal("no such site").any()
        assert snapshot(task, session) == before

    def test_every_action_at_every_site_is_as_the_mask_says(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox
    ) -> None:
        root = open_sandbox(task.open, programs[0])
        tried = 0
        for site in (WHOLE_PROGRAM, *root.sites()[:1]):
            for action in np.flatnonzero(root.legal(site)):
                session = root.fork()
                with contextlib.suppress(CompilerCrash):  # which a mask does not exclude
                    session.apply(int(action), site)
                    tried += 1
                session.close()
        assert tried

    def test_costs_are_those_of_the_sites(
        self, task: Task, programs: Sequence[Program], objectives: Sequence[Objective]
    ) -> None:
        for objective in objectives:
            found = 0
            for program, trace in [(programs[0], task.first_trace), *((program, ()) for program in programs)]:
                session = task.open(program)
                session.replay(trace)
                costs = session.site_costs(objective.name)
                assert session.measure(objective.name) > 0
                found += len(costs)
                assert all(cost >= 0 for cost in costs.values())
                for site, cost in costs.items():
                    self.assert_cost(objective, session.measure(objective.name, site), cost)
            assert bool(found) == objective.by_site, "the objective says whether sites have costs"

    def test_fork_continues_as_the_original_would(
        self,
        task: Task,
        programs: Sequence[Program],
        objectives: Sequence[Objective],
        open_sandbox: OpenSandbox,
    ) -> None:
        original = open_sandbox(task.open, programs[-1])
        wander(original, np.random.default_rng(2), self.steps // 2)
        assert original.trace
        before, length = snapshot(task, original), len(original.trace)
        fork, other = original.fork(), original.fork()
        assert snapshot(task, fork) == before
        wander(fork, np.random.default_rng(3), self.steps)
        assert len(fork.trace) > length
        assert snapshot(task, original) == before
        wander(original, np.random.default_rng(3), self.steps)
        assert snapshot(task, original) == snapshot(task, fork)
        self.assert_costs(objectives, original, fork)
        assert snapshot(task, other) == before
        fork.close()
        assert snapshot(task, other) == before

    def test_actions_on_the_whole_program_answer_what_is_asked(
        self, task: Task, programs: Sequence[Program], open_sandbox: OpenSandbox
    ) -> None:
        session = open_sandbox(task.open, programs[0])
        if not session.question():
            pytest.skip("the compiler asks nothing")
        asked = []
        while site := session.question():
            assert site in session.sites()
            legal = session.legal(site)
            assert legal.any()
            assert not (legal & ~session.legal()).any()
            action = int(np.flatnonzero(legal)[len(session.trace) % legal.sum()])
            before = session.fork()
            session.apply(action)
            before.apply(action, site)
            assert session.trace[-1] == entry(task.actions[action], site)
            assert snapshot(task, session) == snapshot(task, before)
            asked.append(site)
            assert not any(session.legal(earlier).any() for earlier in asked)
