"""What is minimised is what clang writes and what the program does."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from burnish import _native
from burnish.core.errors import InputError, MissingTool, ProgramError, UnknownName
from burnish.core.program import Program, Workload
from burnish.envs.env import Env
from burnish.llvm.modules import module as modules
from burnish.llvm.modules import session as sessions
from burnish.llvm.modules.objectives import OBJECTIVES, level_for
from burnish.llvm.modules.session import ModuleSession, open_baseline, open_session
from burnish.llvm.toolchain import find_tool
from burnish.tasks.llvm_passes import TASK
from burnish.workers.sandbox import Sandbox
from tests.llvm.run.programs import run
from tests.sources import DATA, program

pytestmark = pytest.mark.usefixtures("nothing_left")


def runnable(*rounds: str) -> Program:
    """Return behave.c, which works for so many rounds."""
    plain = program("behave.c", "O3")
    runs = tuple(run("work", number) for number in rounds or ("1000",))
    return Program(plain.name, plain.language, plain.content, Workload(runs))


@pytest.mark.parametrize("level", ["Oz", "O3"])
@pytest.mark.parametrize("name", ["hash_table.c", "floating.c", "classes.cpp"])
def test_object_bytes_are_those_of_the_file_that_clang_writes(tmp_path: Path, name: str, level: str) -> None:
    driver = "clang++" if name.endswith("cpp") else "clang"
    command = [str(find_tool(driver)), f"-{level}", "-c", str(DATA / name), "-o", str(tmp_path / "a.o")]
    subprocess.run(command, check=True)
    session = open_baseline(program(name, level), level)
    assert session.measure("object-bytes") == (tmp_path / "a.o").stat().st_size


def test_exact_objectives_are_those_that_any_program_has() -> None:
    sizes = ("ir-instructions", "loaded-bytes", "text-bytes", "object-bytes")
    growth = ("slowdown", "code-growth", "linked-growth")
    memory = ("ram-bytes", "ram-growth", "stack-bytes", "stack-growth")
    assert TASK.exact_objectives == (*sizes, *growth, *memory)


@pytest.mark.parametrize("objective", ["seconds", "cycles", "instructions", "text-bytes^0.5*seconds^0.5"])
def test_program_that_cannot_be_run_is_told(objective: str) -> None:
    session = open_session(program("matrix.c"))
    with pytest.raises(InputError, match="this program has no workload, so it cannot be run"):
        session.measure(objective)
    with pytest.raises(InputError, match="this program has no workload, so it cannot be run"):
        Sandbox(TASK.open, program("matrix.c")).measure(objective)


@pytest.mark.parametrize("objective", ["cycles", "instructions"])
def test_counters_count_or_say_why_not(objective: str) -> None:
    session = open_session(runnable())
    try:
        assert session.measure(objective) > 1000
    except MissingTool as error:
        assert "counter" in str(error)


def test_code_is_generated_once_for_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    generated = []

    def emit(*arguments: Any) -> _native.Generated:
        generated.append(arguments)
        return modules.emit_described(*arguments)

    monkeypatch.setattr(sessions, "emit_described", emit)
    session = open_session(program("hash_table.c"))
    session.replay(["clang<Oz>"])
    costs = []
    for action in ("early-cse", "early-cse", "reg2mem"):  # the second finds nothing more
        session.apply(session.index(action))
        copy = session.fork()
        costs.append([copy.measure(name) for name in ("loaded-bytes", "text-bytes", "object-bytes")])
    assert len(generated) == 2
    assert costs[0] == costs[1] != costs[2]


def test_seconds_are_measured_once_for_an_object_in_all_forks() -> None:
    session = open_session(runnable("1000", "2000"))
    first = session.measure("seconds")
    fork = session.fork()
    assert fork.measure("seconds") == first > 0
    fork.apply(fork.index("clang<O2>"))
    fork.measure("seconds")
    fork.fork().measure("seconds")
    assert session.measure("seconds") == first
    assert session.stopwatch().objects_run == 2


def test_more_work_takes_more_seconds() -> None:
    few, many = (open_session(runnable(rounds)).measure("seconds") for rounds in ("1", "20000000"))
    assert few < many


def test_seconds_have_no_sites() -> None:
    session = open_session(runnable())
    for objective in ("seconds", "object-bytes", "compile-seconds", "text-bytes^0.5*seconds^0.5"):
        assert session.site_costs(objective) == {}
    with pytest.raises(UnknownName):
        session.site_costs("second")


def test_compile_seconds_are_of_the_whole_way() -> None:
    session = open_session(program("hash_table.c"))
    assert session.measure("compile-seconds") > 0
    few = min(session.measure("compile-seconds") for _ in range(3))
    session.replay(["clang<O3>"] * 5)
    assert session.measure("compile-seconds") > few
    assert session.digest() == replayed(session.trace).digest()  # nothing of the session was touched


def replayed(trace: list[str]) -> ModuleSession:
    """Return another session after the same trace."""
    session = open_session(program("hash_table.c"))
    session.replay(trace)
    return session


def test_trade_off_of_exact_objectives() -> None:
    session = open_session(program("hash_table.c"))
    parts = [session.measure(name) for name in ("text-bytes", "ir-instructions")]
    assert session.measure("text-bytes^0.5*ir-instructions^0.5") == pytest.approx(
        (parts[0] * parts[1]) ** 0.5
    )
    costs = session.site_costs("text-bytes^0.5*ir-instructions^0.5")
    assert set(costs) == set(session.sites())


def test_trade_off_in_an_environment() -> None:
    env = Env(TASK, runnable(), objective="text-bytes^0.7*seconds^0.3", max_steps=2)
    _, info = env.reset()
    assert info["cost"] > 0
    env.step(env.task.actions.index("sroa<modify-cfg>"))
    _, reward, *_ = env.step(env.task.actions.index("clang<Oz>"))
    assert reward > 0  # -Oz is smaller and faster than nothing
    env.close()


def test_reference_is_what_one_would_otherwise_take() -> None:
    of_run_time = {"seconds", "cycles", "instructions"}
    assert {name for name in OBJECTIVES if level_for(name) == "O3"} == of_run_time
    assert {level_for(name) for name in OBJECTIVES.keys() - of_run_time} == {"Oz"}
    assert level_for("text-bytes^0.7*seconds^0.3") == "O3"
    assert level_for("text-bytes^0.7*ir-instructions^0.3") == "Oz"


def test_same_program_with_another_workload_is_another_to_an_environment() -> None:
    few, many = runnable("1000"), runnable("20000000")
    assert few.digest == many.digest and few.key != many.key
    env = Env(TASK, [few, many], objective="seconds")
    costs = [env.reset()[1]["cost"] for _ in range(4)]
    assert max(costs[0], costs[2]) < min(costs[1], costs[3])
    env.close()


def test_miscompiled_program_ends_the_episode() -> None:
    """What the program should print is wrong here, so that every state is."""
    plain = program("behave.c", "O3")
    wrong = Program(plain.name, plain.language, plain.content, Workload((run("work", expected=b"7\n"),)))
    with pytest.raises(ProgramError, match="prints"):
        Env(TASK, wrong, objective="seconds").reset()
    env = Env(TASK, wrong, objective="text-bytes", max_steps=2)  # nobody runs it
    env.reset()
    env.close()


def test_program_and_processor_are_observed() -> None:
    with closing(Env(TASK, [runnable("1000"), program("behave.c")], order="cycle")) as env:
        seen = []
        for _ in range(2):
            env.reset()
            seen.append(int(env.observe("runnable")[0]))
        processor = json.loads(env.observe("cpu"))
    assert seen == [1, 0]
    assert processor["cores"] == len(os.sched_getaffinity(0))
    assert processor["target"] == "x86-64"
    assert all(size >= 1024 for size in processor["caches"].values())
