"""What earlier searches found is where later ones begin."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cc import optimizer as driver
from burnish.cc.requests import KeptReference
from burnish.core.database import opened
from burnish.core.errors import InputError
from burnish.core.guide import Guide, InitialTraces
from burnish.core.program import Program, Run, Workload
from burnish.core.task import Task
from burnish.core.trace import Trace
from burnish.evaluation import Strategy, optimize
from burnish.llvm.programs import load_program
from burnish.search import Budget, search
from burnish.search.memory import TRACES, Memory, merge_traces
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes import make_task
from tests.cc.requests import asking, request_of
from tests.core.counting_task import OPTIMUM, TASK, counters
from tests.processes import call_at_once
from tests.sources import DATA, program

WAY: Trace = ("halve", "a: subtract(1)", "b: subtract(3)", "a: halve")


def told(path: Path, told_of: Program, trace: Trace, cost: float = 5.0, objective: str = "total") -> None:
    memory = Memory(path, TASK, told_of, objective)
    memory(TASK.open(told_of))
    memory.keep(trace, cost)


def recalled(path: Path, asked_of: Program, objective: str = "total", task: Task = TASK) -> list[Trace]:
    return Memory(path, task, asked_of, objective).recall(TASK.open(asked_of).identities())


def test_same_program_begins_with_its_own_trace(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    told(path, counters("a=12 b=7"), WAY)
    assert recalled(path, counters("a=12 b=7")) == [WAY]
    assert recalled(path, counters("a=12 b=7"), "largest") == []
    assert recalled(path, counters("a=12 b=7"), task=replace(TASK, options={"level": "O3"})) == []
    assert recalled(tmp_path / "other", counters("a=12 b=7")) == []


def test_what_costs_less_on_one_input_says_nothing_of_another(tmp_path: Path) -> None:
    path, other = tmp_path / "memory", ("b: halve",)
    counting = counters("a=12 b=7")
    small, large = (replace(counting, workload=Workload((Run(size),))) for size in ("small", "large"))
    told(path, small, WAY, cost=1.0)
    told(path, large, other, cost=2.0)
    assert recalled(path, small)[0] == WAY
    assert recalled(path, large)[0] == other


def test_sites_are_known_under_other_names(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    told(path, counters("a=12 b=7"), WAY)
    assert recalled(path, counters("y=7 x=12")) == [("halve", "y: subtract(3)", "x: subtract(1)", "x: halve")]


def test_program_with_few_sites_in_common_is_another(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    told(path, counters("a=12 b=7"), WAY)
    assert recalled(path, counters("c=12 d=1")) == [("halve", "c: subtract(1)", "c: halve")]
    assert recalled(path, counters("c=12 d=1 e=2")) == []


def test_sites_come_from_several_programs_of_the_same_sequence(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    told(path, counters("a=12 b=7"), WAY)
    told(path, counters("c=3"), ("halve", "c: add(1)"))
    told(path, counters("d=4"), ("halve", "halve", "d: add(1)"))
    told(path, counters("e=7"), ("halve", "e: halve"))
    (first, *_) = recalled(path, counters("p=12 q=7 r=3 s=4"))
    # as in the first program at 12 and 7, as in the second at 3; the third's sequence is another
    assert first == ("halve", "p: subtract(1)", "p: halve", "q: subtract(3)", "r: add(1)")


def test_actions_stay_in_their_stage(tmp_path: Path) -> None:
    """Another stage may have begun before a site's actions: they are proposed in that stage."""
    path = tmp_path / "memory"
    told(path, counters("a=12 b=7"), ("halve", "a: add(1)", "begin(code)", "a: halve", "b: subtract(3)"))
    told(path, counters("c=3"), ("halve", "begin(code)", "c: add(1)"))
    (first, *_) = recalled(path, counters("p=12 q=7 r=3"))
    assert first == ("halve", "p: add(1)", "begin(code)", "p: halve", "q: subtract(3)", "r: add(1)")


def test_what_is_cheaper_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    counted = counters("a=12 b=7")
    for trace, cost in ((("halve",), 4.0), (("add(1)",), 9.0), (("subtract(1)",), 3.0)):
        told(path, counted, trace, cost)
    assert recalled(path, counted) == [("subtract(1)",)]


def test_another_guide_is_asked_after_that(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    counted = counters("a=12 b=7")
    told(path, counted, ("halve",))
    heard: list[float | None] = []

    def initial_traces() -> InitialTraces:
        heard.append((yield ("add(1)",)))

    guide = Memory(path, TASK, counted, "total", lambda _: Guide(initial_traces(), suffixes=(("halve",),)))(
        TASK.open(counted)
    )
    assert next(guide.initial_traces) == ("halve",)
    assert guide.initial_traces.send(10.0) == ("add(1)",)
    with pytest.raises(StopIteration):
        guide.initial_traces.send(22.0)
    assert heard == [22.0] and guide.suffixes == (("halve",),)


@pytest.mark.usefixtures("nothing_left")
def test_search_ends_where_the_last_one_did(tmp_path: Path) -> None:
    counted = counters("a=24 b=7")
    memory = Memory(tmp_path / "memory", TASK, counted, "total")
    found = search(Problem(TASK, counted), Budget(evaluations=400, workers=1), guide_for=memory)
    assert found.cost == OPTIMUM
    memory.keep(found.trace, found.cost)
    few = Budget(evaluations=1 + len(TASK.hints.initial_traces), workers=1)
    again = search(Problem(TASK, counted), few, guide_for=memory)
    assert again.cost == OPTIMUM


def test_file_of_something_else_is_named(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    path.write_text("no database, and long enough to be taken for one" * 50)
    with pytest.raises(InputError, match=r"memory: .*expected a file that burnish made"):
        recalled(path, counters("a=1"))
    assert path.read_text().startswith("no database")
    with pytest.raises(InputError, match="unable to open"):
        recalled(tmp_path / "nowhere" / "memory", counters("a=1"))


def _tell_many(path: Path, first: int) -> None:
    for number in range(first, first + 20):
        told(path, counters(f"a={number}"), ("halve",))


def test_processes_share_it(tmp_path: Path) -> None:
    path = tmp_path / "memory"
    call_at_once(_tell_many, [(path, 1 + 20 * number) for number in range(3)])
    for number in range(1, 61):
        assert recalled(path, counters(f"z={number}")) == [("halve",)]


@pytest.mark.usefixtures("nothing_left")
def test_changed_file_begins_with_what_its_last_version_came_to(tmp_path: Path) -> None:
    task, remembering = make_task(), Strategy(policy="none", memory=tmp_path / "memory")
    problem = Problem(task, program("matrix.c"))
    found = optimize(problem, Budget(evaluations=200, workers=1), strategy=remembering)
    assert found.ratio("Oz") > 1
    changed = tmp_path / "other_name.c"
    changed.write_text((DATA / "matrix.c").read_text() + "int added(int x) { return x * x + 1; }\n")
    least = Budget(evaluations=2, workers=1)  # -Oz, and what is remembered
    problem = Problem(task, load_program(changed))
    again = optimize(problem, least, strategy=remembering)
    assert again.trace == found.trace
    assert again.ratio("Oz") > 1
    assert optimize(problem, least, strategy=Strategy(policy="none")).ratio("Oz") == 1


@pytest.mark.usefixtures("nothing_left")
def test_build_begins_with_what_the_last_one_came_to(tmp_path: Path) -> None:
    options = {"objective": "ir-instructions", "policy": "none", "memory": tmp_path / "memory"}
    request = replace(request_of("m.c", **options), seconds=2.0)
    first = driver.optimize(program("machine.c").content, request)
    again = driver.optimize(program("machine.c").content, replace(request, seconds=1e-9))
    assert again.bitcode == first.bitcode
    with pytest.raises(KeptReference, match="nothing smaller was found"):
        driver.optimize(program("machine.c").content, replace(asking(request, memory=None), seconds=1e-9))


def test_traces_of_two_memories_are_merged(tmp_path: Path) -> None:
    ours, theirs, better = tmp_path / "ours", tmp_path / "theirs", ("halve", "a: halve")
    told(ours, counters("a=12 b=7"), WAY, cost=5.0)
    told(ours, counters("c=1"), ("c: halve",), cost=1.0)
    told(theirs, counters("a=12 b=7"), better, cost=4.0)
    told(theirs, counters("c=1"), ("c: subtract(1)",), cost=2.0)
    told(theirs, counters("d=9"), ("d: halve",))
    with opened(ours, TRACES) as database:
        database.execute("ATTACH DATABASE ? AS other", (str(theirs),))
        merge_traces(database)
    assert recalled(ours, counters("a=12 b=7"))[0] == better
    assert recalled(ours, counters("c=1"))[0] == ("c: halve",)
    assert recalled(ours, counters("e=9")) == [("e: halve",)]
