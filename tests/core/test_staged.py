"""Several tasks are one task, and keep the contract together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from burnish.core.errors import IllegalAction
from burnish.core.session import Session
from burnish.core.staged import Stage, staged
from burnish.core.task import Files
from tests.conformance import TaskConformance
from tests.conftest import OpenSandbox
from tests.core import asking_task, counting_task
from tests.core.asking_task import calls
from tests.core.staged_task import COUNTING, TASK, open_sizes

PROGRAM = calls("main 5: f f g; f 2: h; g 6: h; h 5:")  # by the heuristic 18, 9 and 5 units
LEFT = "main > g #1: leave"
BEGIN = "begin(counting)"


class TestStaged(TaskConformance):
    tested = TASK
    examples = (PROGRAM, calls("main 1: f; f 9: g g; g 2:"))


def opened(*trace: str) -> Session:
    session = TASK.open(PROGRAM)
    session.replay(trace)
    return session


def legal(session: Session, site: str = "") -> set[str]:
    return {session.actions[i] for i in np.flatnonzero(session.legal(site))}


def test_actions_of_a_stage_are_legal_in_it_only() -> None:
    assert legal(opened()) == {"leave", "inline", BEGIN}
    assert legal(opened(LEFT, BEGIN)) == {"halve", "subtract(1)", "subtract(3)", "add(1)"}
    with pytest.raises(IllegalAction, match="'leave' is illegal"):
        opened(BEGIN, "leave")
    with pytest.raises(IllegalAction, match="'halve' is illegal"):
        opened("halve")


def test_sites_are_the_stage_s_own() -> None:
    assert "main > g #1" in opened().sites()
    assert set(opened(BEGIN).sites()) == set(opened(BEGIN).site_costs("total")) == {"main", "g", "h"}
    assert legal(opened(BEGIN), "main > g #1") == set()


def test_an_answer_is_in_the_trace_at_its_question() -> None:
    session = opened()
    session.apply(session.index("leave"))
    assert session.trace == ["main > f #1: leave"]


def test_cost_is_what_the_last_stage_makes_of_the_state() -> None:
    """By the heuristic: main 5+2+3+2+3+3, g 6+3, h 5; with g inlined, main 5+2+3+2+3+6+3, and h."""
    assert opened().measure("total") == opened(BEGIN).measure("total") == 1 + 18 + 9 + 5
    assert opened().site_costs("total") == {}
    assert opened("main > g #1: inline").measure("total") == 1 + 24 + 5
    assert opened(BEGIN, "main: subtract(1)").measure("total") == 32


def test_initial_traces_go_through_all_stages() -> None:
    assert TASK.hints.initial_traces == ((BEGIN, "halve"), (BEGIN,))


def test_what_all_see_alike_is_seen() -> None:
    assert set(TASK.observations) == {"stage", "text"}
    assert [opened(*trace).observe("stage").tolist() for trace in ((), (BEGIN,))] == [[1, 0], [0, 1]]  # type: ignore[union-attr]
    assert opened(BEGIN).observe("text") == "g=9 h=5 main=18"


def test_a_fork_goes_its_own_way() -> None:
    session = opened(LEFT)
    fork = session.fork()
    fork.replay([BEGIN, "main: subtract(1)"])
    assert session.trace == [LEFT]
    assert legal(session, "main > f #1") == {"leave", "inline"}
    assert fork.measure("total") == session.measure("total") - 1


def test_files_are_of_the_last_stage_in_any_process(open_sandbox: OpenSandbox) -> None:
    def write(session: Session, _arguments: tuple[str, ...], _baseline: str) -> bytes:
        return bytes(session.observe("bytes"))  # type: ignore[arg-type]  # it is of bytes

    last = replace(counting_task.TASK, files=Files(emitters={".txt": write}))
    task = staged("written", asking_task.TASK, Stage(last, open_sizes))
    for session in (task.open(PROGRAM), open_sandbox(TASK.open, PROGRAM)):
        assert task.files.emitters[".txt"](session, (), "") == b"g=9 h=5 main=18"
        assert not session.trace
        session.replay([BEGIN, "g: subtract(1)"])
        assert task.files.emitters[".txt"](session, (), "") == b"g=8 h=5 main=18"


def test_three_stages_follow_on_each_other() -> None:
    """The pieces of the counters are one counter each again."""
    again = Stage(replace(counting_task.TASK, name="again"), lambda session: session.fork())
    task = staged("three", asking_task.TASK, COUNTING, again)
    session = task.open(PROGRAM)
    assert legal(session) & {BEGIN, "begin(again)"} == {BEGIN}
    session.replay([BEGIN, "main: subtract(1)", "begin(again)", "main: subtract(1)"])
    assert session.measure("total") == 31
    assert task.hints.max_trace == 2 * counting_task.TASK.hints.max_trace + 2
    assert task.max_steps is None


def test_a_stage_in_which_nothing_is_applied_has_its_default() -> None:
    first = Stage(replace(counting_task.TASK, name="again"), lambda session: session.fork())
    task = staged("by_default", asking_task.TASK, replace(COUNTING, default=("halve",)), first)
    halved = opened(BEGIN, "halve").measure("total")
    session = task.open(PROGRAM)
    assert session.measure("total") == halved
    begun = session.fork()
    begun.replay([BEGIN])
    assert begun.measure("total") == halved
    begun.replay(["begin(again)"])
    assert begun.measure("total") == halved
    assert begun.trace == [BEGIN, "begin(again)"]
    session.replay([BEGIN, "main: subtract(1)"])
    assert session.measure("total") == 32  # and not halved
    baseline = task.baselines[asking_task.TASK.reference](PROGRAM)
    assert baseline.measure("total") == opened().measure("total")  # as it is


def test_stages_share_a_budget() -> None:
    task = staged("shared", asking_task.TASK, replace(COUNTING, share=0.5), replace(COUNTING, share=0.2))
    assert task.shares == pytest.approx((0.3, 0.5, 0.2))
