"""What a sandbox and its worker promise beyond the contract of a session."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from burnish.core.errors import CompilerCrash, CompilerMemory, CompilerTimeout, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import GIB, Limits, Worker, wait
from tests.conftest import OpenSandbox, children
from tests.core.counting_task import TASK, counters
from tests.core.failures import fail, failing_task
from tests.waiting import alive, wait_until


def square(number: int) -> int:
    return number * number


def squares(count: int) -> Iterator[int]:
    for number in range(count):
        yield number * number


def refuse(why: str) -> None:
    raise InputError(why)


def blunder() -> None:
    raise KeyError("a defect")


def echo(content: bytes) -> bytes:
    return content


def test_call_returns_what_the_function_returns(worker: Worker) -> None:
    assert worker.call(square, 12) == 144
    assert list(worker.stream(squares, 4)) == [0, 1, 4, 9]


def test_long_messages_arrive_whole(worker: Worker) -> None:
    content = os.urandom(3_000_000)
    assert worker.call(echo, content) == content


def test_error_of_ours_leaves_the_process_alive(worker: Worker) -> None:
    worker.call(square, 1)
    pid = worker.pid
    with pytest.raises(InputError, match="because"):
        worker.call(refuse, "because")
    assert (worker.pid, worker.generation) == (pid, 1)


def test_defect_of_ours_is_told_in_full(worker: Worker) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)in a worker process:.*blunder.*KeyError: 'a defect'"):
        worker.call(blunder)
    assert worker.call(square, 3) == 9


def test_dead_worker_starts_anew(worker: Worker) -> None:
    for generation, failure in enumerate(("be-killed", "segfault", "exit"), start=1):
        with pytest.raises(CompilerCrash):
            worker.call(fail, failure)
        assert worker.pid is None
        assert worker.generation == generation
    assert worker.call(square, 5) == 25


def test_last_words_are_in_the_error(worker: Worker) -> None:
    with pytest.raises(CompilerMemory, match=r"out of memory \(limit 1 GiB\)"):
        worker.call(fail, "abort-out-of-memory")


def test_deadline_of_one_call_can_be_shorter(worker: Worker) -> None:
    worker.call(square, 1)
    with pytest.raises(CompilerTimeout, match=r"no answer within 0\.2 seconds"):
        worker.call(fail, "hang", deadline_seconds=0.2)


def test_no_answer_is_waited_for_beyond_until(worker: Worker) -> None:
    worker.call(square, 1)
    worker.until = time.monotonic() + 0.2
    with pytest.raises(CompilerTimeout, match=r"no answer within 0(\.\d+)? seconds"):
        worker.call(fail, "hang")
    worker.until = math.inf
    assert worker.call(square, 5) == 25


def test_wait_tells_who_is_ready(worker: Worker, make_worker: Callable[..., Worker]) -> None:
    other = make_worker()
    other.call(square, 1)
    worker.send(square, 2)
    while not (ready := wait([worker, other], 5)):
        pass
    assert ready == [worker]
    assert worker.receive() == (False, 4)


@pytest.mark.usefixtures("nothing_left")
def test_forgotten_sandbox_takes_its_process_along() -> None:
    Sandbox(TASK.open, counters("a=1"))


def test_forks_share_a_process_and_outlive_each_other(open_sandbox: OpenSandbox) -> None:
    first = open_sandbox(TASK.open, counters("a=640"))
    second = first.fork()
    assert first.pid == second.pid
    first.apply(0)
    first.close()
    assert second.digest() == "a=640"
    assert first.digest() == "a=320"  # a closed session is opened again where it was


def open_deadly(program: Program) -> Session:
    fail(program.name)
    raise AssertionError


@pytest.mark.parametrize("failure", ["be-killed", "give-up", "eat-memory"])
def test_program_that_kills_the_compiler_is_a_program_error(open_sandbox: OpenSandbox, failure: str) -> None:
    with pytest.raises(ProgramError, match=f"{failure}: the compiler failed on this input"):
        open_sandbox(open_deadly, Program(failure, "counters", b""), Limits(20, GIB // 2))


def test_replay_after_a_crash_keeps_the_numbers_of_the_sites(open_sandbox: OpenSandbox) -> None:
    session = open_sandbox(failing_task(TASK).open, counters("a=640 b=77"))
    session.replay(["a: halve", "b: subtract(1)", "halve"])
    with pytest.raises(CompilerCrash):
        session.apply(session.index("be-killed"))
    assert session.digest() == "a=160 b=38"
    assert session.trace == ["a: halve", "b: subtract(1)", "halve"]


def test_worker_ends_with_its_parent(tmp_path: Path) -> None:
    """Even a worker that hangs in native code, and a parent that was killed."""
    script = (
        "import sys, time\n"
        "from burnish.workers.worker import Worker\n"
        "from tests.core.failures import fail\n"
        "worker = Worker()\n"
        "worker.send(fail, 'hang')\n"
        "print(worker.pid, flush=True)\n"
        "time.sleep(3600)\n"
    )
    root = Path(__file__).parents[2]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=root, env=environment
    ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        parent.kill()
    wait_until(lambda: not alive(pid))


def test_children_are_seen_by_the_tests_own_check(worker: Worker) -> None:
    worker.call(square, 1)
    assert worker.pid in children()
