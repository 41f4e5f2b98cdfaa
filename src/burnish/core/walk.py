"""From a trace to the state that it leads to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from burnish.core.errors import IllegalAction
from burnish.core.session import Session
from burnish.core.trace import Trace, split_entry


def reached(root: Session, trace: Trace, *, skip_illegal: bool = False) -> Session:
    """Return a fork of a session in the state after a trace, for the caller to close.

    Args:
        root: Where the trace begins.
        trace: What to apply.
        skip_illegal: Leave out the entries that are illegal where they come, as a search does.

    Raises:
        CompilerCrash: the compiler does not survive an entry.
        IllegalAction: an entry does not apply where it comes, and none is to be left out.
        UnknownName: there is no such action.
    """
    session = root.fork()
    try:
        if skip_illegal:
            replay_legal(session, trace)
        else:
            session.replay(trace)
    except BaseException:
        session.close()
        raise
    return session


@contextmanager
def after(root: Session, trace: Trace, *, skip_illegal: bool = False) -> Iterator[Session]:
    """Yield what `reached` returns; it is closed at the end.

    Raises:
        CompilerCrash, IllegalAction, UnknownName: see `reached`.
    """
    session = reached(root, trace, skip_illegal=skip_illegal)
    try:
        yield session
    finally:
        session.close()


def cost_after(root: Session, trace: Trace, objective: str) -> float:
    """Return what the state after a trace costs, without the entries that are illegal where they come.

    Raises:
        CompilerCrash: the compiler does not survive it.
    """
    with after(root, trace, skip_illegal=True) as session:
        return session.measure(objective)


def replay_legal(session: Session, trace: Trace) -> None:
    """Apply a trace without the entries that are illegal where they come, as a search does."""
    for text in trace:
        with suppress(IllegalAction):
            act_entry(session, text)


def act_entry(session: Session, text: str) -> tuple[bool, str]:
    """Apply one entry; return whether a change was reported, and the entry as it is in the session's trace.

    Raises:
        CompilerCrash: the compiler does not survive it.
        IllegalAction: it does not apply here.
        UnknownName: there is no such action.
    """
    site, action = split_entry(text)
    return session.act(session.index(action), site)
