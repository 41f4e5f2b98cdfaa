"""Trace entries: an action and its site.

An entry is `action` if it was applied to the whole program, and `site: action` otherwise. Action texts
never contain `": "`; site names may, because LLVM allows any character in a function's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import chain, zip_longest

WHOLE_PROGRAM = ""

Trace = tuple[str, ...]

_OPEN = re.compile(r"\?(\d+)(?:: (.+))?")


def entry(action: str, site: str = WHOLE_PROGRAM) -> str:
    """Write one trace entry."""
    return f"{site}: {action}" if site else action


def split_entry(text: str) -> tuple[str, str]:
    """Read one trace entry: (site, action); the site of a whole-program action is ""."""
    site, _, action = text.rpartition(": ")
    return site, action


def entries_at(suffixes: Mapping[str, Trace]) -> Trace:
    """Write the actions of each site, one site after the other."""
    return tuple(entry(action, site) for site, actions in suffixes.items() for action in actions)


def entries_by_stage(whole: Trace, suffixes: Mapping[str, Trace]) -> Trace:
    """Write the whole-program entries and the actions of each site, one stage of a staged task after another.

    In each stage the whole-program entries come first. Among a site's actions, the entry that begins a stage
    only tells to which stage the next ones belong.
    """
    stages = [_by_stage(whole), *(_by_stage(suffix, site) for site, suffix in suffixes.items())]
    return tuple(chain.from_iterable(chain.from_iterable(zip_longest(*stages, fillvalue=()))))


def _by_stage(actions: Trace, site: str = WHOLE_PROGRAM) -> list[Trace]:
    """Return the entries of each stage; those that begin one are left out at sites."""
    stages: list[Trace] = [()]
    for action in actions:
        if is_begin(action):
            stages.append(())
        if site == WHOLE_PROGRAM or not is_begin(action):
            stages[-1] += (entry(action, site),)
    return stages


def of_sites(trace: Trace) -> Trace:
    """Return the entries at single sites."""
    return tuple(text for text in trace if split_entry(text)[0] != WHOLE_PROGRAM)


def of_program(trace: Trace) -> Trace:
    """Return the entries on the whole program."""
    return tuple(text for text in trace if split_entry(text)[0] == WHOLE_PROGRAM)


def is_begin(text: str) -> bool:
    """Return whether an entry begins the next stage of a staged task: `begin(llvm_codegen)`."""
    return text.startswith("begin(") and text.endswith(")")


def open_entry(draw: int, action: str = "") -> str:
    """Write an open entry, which stands for one of the legal entries in its state.

    The number and the state alone decide which one. If legal entries have the given action, it is one of
    these. Only proposals of a search contain open entries: an applied trace contains the drawn ones.
    """
    return entry(action, f"?{draw}") if action else f"?{draw}"


def draw_of(text: str) -> tuple[int, str] | None:
    """Return the number and the action ("" for any) of an open entry; None for other entries."""
    found = _OPEN.fullmatch(text)
    return (int(found[1]), found[2] or "") if found else None


def join_trace(entries: Iterable[str]) -> str:
    """Write a trace on one line, for people."""
    return " → ".join(entries)
