"""The state after a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from burnish.core.errors import IllegalAction
from burnish.core.session import Session
from burnish.core.trace import Trace, split_entry


def reached(root: Session, trace: Trace, *, skip_illegal: bool = False) -> Session:
    """Return a fork of a session in the state after a trace, for the caller to close.

    Args:
        root: The session that the trace starts from.
        trace: The entries to apply.
        skip_illegal: Skip the entries that are illegal in their state, as a search does.

    Raises:
        CompilerCrash: the compiler crashes or gives up at an entry.
        IllegalAction: an entry is illegal in its state, and `skip_illegal` is False.
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
    """Yield the session of `reached`, which is closed at the end."""
    session = reached(root, trace, skip_illegal=skip_illegal)
    try:
        yield session
    finally:
        session.close()


def cost_after(root: Session, trace: Trace, objective: str) -> float:
    """Return the cost of the state after a trace; entries that are illegal in their state are skipped."""
    with after(root, trace, skip_illegal=True) as session:
        return session.measure(objective)


def replay_legal(session: Session, trace: Trace) -> bool:
    """Apply a trace, but skip the entries that are illegal in their state, as a search does.

    Returns:
        Whether any entry reported a change.
    """
    changed = False
    for text in trace:
        with suppress(IllegalAction):
            changed |= act_entry(session, text)[0]
    return changed


def act_entry(session: Session, text: str) -> tuple[bool, str]:
    """Apply one entry; return whether a change was reported, and the entry in the session's trace.

    Raises:
        CompilerCrash: the compiler crashes or gives up.
        IllegalAction: the action does not apply here.
        UnknownName: there is no such action.
    """
    site, action = split_entry(text)
    return session.apply(session.index(action), site), session.trace[-1]
