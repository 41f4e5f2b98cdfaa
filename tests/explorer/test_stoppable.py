"""Work in a thread ends when it is asked to, and says why it failed."""

from __future__ import annotations

import threading

import pytest

from burnish.core.errors import CompilerCrash, InputError
from burnish.explorer.stoppable import Stoppable


def test_work_is_stopped_and_may_begin_again() -> None:
    work, begun = Stoppable("a search"), threading.Event()

    def until_stopped(ends: threading.Event) -> None:
        begun.set()
        ends.wait()

    for _ in range(2):
        begun.clear()
        work.start(until_stopped)
        assert begun.wait(timeout=60)
        assert work.running
        with pytest.raises(InputError, match="a search runs already; stop it first"):
            work.start(until_stopped)
        work.stop()
        assert not work.running


def test_failure_after_a_stop_prints_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a call to a compiler that hung when the page was closed."""
    printed: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda found: printed.append(found.exc_value))
    closed = threading.Event()

    def hanging(ends: threading.Event) -> None:
        closed.wait()
        raise ValueError("read of closed file")

    work = Stoppable("a search")
    work.start(hanging)
    work.stop(seconds=0)
    assert work.running
    closed.set()
    work.wait()
    assert (work.error, printed) == ("read of closed file", [])
    work.start(hanging)
    work.wait()
    assert [str(error) for error in printed] == ["read of closed file"]


def test_stopping_nothing_is_fine() -> None:
    work = Stoppable("a search")
    work.stop()
    assert not work.running


def test_error_is_kept_until_the_next_work() -> None:
    work = Stoppable("a search")

    def failing(ends: threading.Event) -> None:
        raise CompilerCrash("died of signal 11")

    work.start(failing)
    work.wait()
    assert work.error == "died of signal 11"
    work.start(lambda ends: None)
    work.wait()
    assert not work.error
