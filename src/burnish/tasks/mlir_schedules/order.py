"""Restrictions of the actions at an op: their kinds by step, and iterators exchanged level by level.

A step of an op is a run of actions of one kind, because an action makes one loop: four tiles are one step.
MLIR-RL tiles all loops by one action, and its setting `order` counts these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from burnish.core.action import Action
from burnish.core.errors import InputError, UnknownName
from burnish.core.task import Setting
from burnish.core.view import Mask
from burnish.tasks.mlir_schedules.actions import ACTIONS, CURSOR

ANY, NOT = "any", "not"
PAIRS, LEVELS = "pairs", "levels"

ORDER = Setting(
    "order",
    "kinds of actions in each step of an op: 'interchange, not interchange next done, any'; default: any",
    metavar="STEPS",
    several=True,
    restricts=True,
)
INTERCHANGE = Setting(
    "interchange",
    "exchange any pairs of iterators, or choose the iterator of each level from the outermost on, which "
    "reaches each permutation by one sequence; default: pairs",
    choices=(PAIRS, LEVELS),
    restricts=True,
)

_KINDS = np.array([Action.parse(text).kind for text in ACTIONS])
_MOVES = np.isin(_KINDS, CURSOR)
_LEVELS = np.array(  # the outer iterator of an exchange
    [
        int(Action.parse(text).parameters[0]) if kind == "interchange" else 0
        for text, kind in zip(ACTIONS, _KINDS, strict=True)
    ]
)


@dataclass(frozen=True)
class Taken:
    """The actions at an op so far."""

    steps: int = 0  # steps of the order that are over or begun
    kind: str = ""  # of the last action
    level: int = -1  # the outer iterator of the last action, if that is an exchange


@dataclass(frozen=True)
class Restrictions:
    """Rules on which actions may follow at an op; without any, all legal ones."""

    order: tuple[str, ...] = ()  # the kinds of each step: "tile fuse", "not tile fuse", "any"
    levels: bool = False  # whether exchanges go from the outermost iterator inwards

    def __bool__(self) -> bool:
        return bool(self.order) or self.levels

    @property
    def options(self) -> dict[str, str]:
        """The settings' values that differ from the defaults."""
        order = {ORDER.name: ",".join(self.order)} if self.order else {}
        return order | ({INTERCHANGE.name: LEVELS} if self.levels else {})

    def allowed(self, taken: Taken, legal: Mask) -> Mask:
        """Mask the legal actions of an op that may not follow: bool[n]; `next` and `done` count as legal.

        The last action's kind may go on, or the next step begins. Steps that leave nothing legal are skipped.
        After the last step, only the cursor moves.
        """
        free = self._inward(taken, legal)
        if not self.order:
            return free
        place = self._next(taken, free)
        return free & (self._step(place) | (taken.kind == _KINDS))

    def after(self, taken: Taken, action: int, legal: Mask) -> Taken:
        """Return the record after an action at an op, whose legal actions were bool[n] before it."""
        kind = str(_KINDS[action])
        steps, level = taken.steps, int(_LEVELS[action]) if kind == "interchange" else -1
        if self.order and kind != taken.kind:
            steps = min(1 + self._next(taken, self._inward(taken, legal)), len(self.order))
        return Taken(steps, kind, level)

    def _inward(self, taken: Taken, legal: Mask) -> Mask:
        """Return the legal actions without exchanges at levels that have their iterator."""
        if not self.levels or taken.level < 0:
            return legal
        inward: Mask = (_KINDS != "interchange") | (taken.level < _LEVELS)
        return legal & inward

    def _next(self, taken: Taken, legal: Mask) -> int:
        """Return the number of the next step that has a legal action; after the last one, their count."""
        there = legal | _MOVES
        steps = range(taken.steps, len(self.order))
        return next((place for place in steps if (self._step(place) & there).any()), len(self.order))

    def _step(self, place: int) -> Mask:
        return _actions_of(self.order[place]) if place < len(self.order) else _MOVES


UNRESTRICTED = Restrictions()


def restrictions_of(given: Mapping[str, str]) -> Restrictions:
    """Return the restrictions in a task's settings.

    Raises:
        UnknownName: a kind of action, or the value of `interchange`, is unknown.
        InputError: a step has no kind, or allows no action.
    """
    exchanges = given.get(INTERCHANGE.name, PAIRS)
    if exchanges not in INTERCHANGE.choices:
        raise UnknownName.among("value of interchange", exchanges, INTERCHANGE.choices)
    if ORDER.name not in given:
        return Restrictions(levels=exchanges == LEVELS)
    order = tuple(" ".join(step.split()) for step in given[ORDER.name].split(","))
    for number, step in enumerate(order, 1):
        _check(step, number)
    return Restrictions(order, exchanges == LEVELS)


def _check(step: str, number: int) -> None:
    where, words = f"order: step {number}", step.split()
    kinds = words[1:] if words[:1] == [NOT] else [] if words == [ANY] else words
    if not kinds and words != [ANY]:
        raise InputError(
            f"{where} is {step!r}; expected kinds of actions ('tile fuse'), the others ('not tile fuse'), "
            "or 'any'"
        )
    for kind in kinds:
        if kind not in _KINDS:
            raise UnknownName.among(
                f"kind of action in step {number} of the order", kind, dict.fromkeys(map(str, _KINDS))
            )
    if not _actions_of(step).any():
        raise InputError(f"{where} excludes every kind of action; leave one out, or write 'next done'")


@cache
def _actions_of(step: str) -> Mask:
    """Return the mask of the actions of a step's kinds: bool[n]."""
    first, *rest = step.split()
    if first == ANY:
        return np.ones(len(_KINDS), dtype=bool)
    return ~np.isin(_KINDS, rest) if first == NOT else np.isin(_KINDS, [first, *rest])
