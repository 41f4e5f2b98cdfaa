"""check_task finds tasks that break the contract, each by the check that says so."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from burnish import check_task
from burnish.core.errors import BrokenContract, IllegalAction, UnknownName
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.task import SearchHints, Task
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Observed
from burnish.envs.contract import CHECKS
from tests.core.counting_task import OBJECTIVES, TASK, CountingSession, counters

PROGRAMS = (counters("a=64 b=7"), counters("a=100 b=10 c=51"))


class Lenient(CountingSession):
    """Opens anything, as a program with one counter."""

    def __init__(self, program: Program) -> None:
        readable = program.content.startswith(b"a=")
        super().__init__(program if readable else counters("a=3"))
        self._reopen = partial(type(self), program)


class Guessing(CountingSession):
    """Observes something for any name."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self._reopen = partial(type(self), program)

    def observe(self, space: str) -> Observed:
        return super().observe(space if space in TASK.observations else "values")


class Forgetful(Guessing):
    """Has another digest every time."""

    def digest(self) -> str:
        return str(np.random.default_rng().random())


class Obliging(Guessing):
    """Does nothing by what its mask excludes, and does not say so."""

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        if action not in range(len(TASK.actions)) or not self.legal(site)[action]:
            return False
        return super().apply(action, site)


class Refusing(Guessing):
    """Refuses an action that its mask has."""

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        if action == 0:
            raise IllegalAction("halve is illegal here")
        return super().apply(action, site)


class Sharing(Guessing):
    """Is its own fork."""

    def fork(self) -> Session:
        return self


class Free(Guessing):
    """Costs nothing."""

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        return 0.0 * super().cost(objective, site)


class Drifting(Guessing):
    """Costs more each time that it is measured."""

    measured = 0

    def cost(self, objective: str, site: str = WHOLE_PROGRAM) -> float:
        Drifting.measured += 1
        return super().cost(objective, site) + Drifting.measured


def opened_by(kind: type[CountingSession]) -> Task:
    return replace(TASK, open=kind)


BROKEN = {
    "action_texts_are_identities": replace(TASK, actions=("halve", "halve", "subtract(3)", "add(1)")),
    "names_are_the_keys": replace(TASK, reference="nothing"),
    "baselines_have_costs": replace(TASK, baselines={"start": Free, "halved": Free}),
    "initial_traces_are_legal": replace(TASK, hints=SearchHints((("halve",) * 50,))),
    "unreadable_programs_are_refused": opened_by(Lenient),
    "unknown_names_are_refused": opened_by(Guessing),
    "a_trace_leads_to_one_state": opened_by(Forgetful),
    "masks_are_honest": opened_by(Obliging),
    "legal_actions_apply": opened_by(Refusing),
    "sites_have_costs": replace(
        TASK, objectives={name: replace(one, by_site=not one.by_site) for name, one in OBJECTIVES.items()}
    ),
    "forks_are_independent": opened_by(Sharing),
    "sessions_survive_a_kill": opened_by(Forgetful),
    "returns_telescope": opened_by(Drifting),
    "trade_offs_telescope": opened_by(Drifting),
}


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("check", BROKEN)
def test_a_broken_task_is_found(check: str) -> None:
    with pytest.raises(BrokenContract, match=rf"^counting-v4: {check}: "):
        check_task(BROKEN[check], PROGRAMS, checks=[check])


@pytest.mark.usefixtures("nothing_left")
def test_a_task_that_keeps_the_contract_passes_every_check() -> None:
    found = check_task(TASK, PROGRAMS)
    assert found.keys() == CHECKS.keys()
    assert {name: why for name, why in found.items() if why != "passed"} == {
        "questions_are_answered": "the compiler asks no questions"
    }


def test_noise_is_allowed_where_it_is_declared() -> None:
    noisy = {name: replace(one, noisy=True) for name, one in OBJECTIVES.items()}
    task = replace(opened_by(Drifting), objectives=noisy)
    assert check_task(task, PROGRAMS, checks=["returns_telescope"], noise=math.inf) == {
        "returns_telescope": "passed"
    }


def test_checks_have_names() -> None:
    with pytest.raises(UnknownName, match="no check named 'masks'"):
        check_task(TASK, PROGRAMS, checks=["masks"])
