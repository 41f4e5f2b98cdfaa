"""Applying a trace where some of its entries may be illegal."""

from __future__ import annotations

from contextlib import suppress

from burnish.core.errors import IllegalAction
from burnish.core.session import Session
from burnish.core.trace import Trace, split_entry


def replay_legal(session: Session, trace: Trace) -> None:
    """Apply a trace without the entries that are illegal where they come, as a search does."""
    for text in trace:
        site, action = split_entry(text)
        with suppress(IllegalAction):
            session.apply(session.index(action), site)
