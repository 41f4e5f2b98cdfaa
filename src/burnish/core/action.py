"""Texts of actions: of what kind one is, and with which parameters."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from burnish.core.errors import IllegalAction

Brackets = Literal["<>", "()"]

_SEPARATORS: dict[Brackets, str] = {"<>": ";", "()": ", "}  # LLVM's pipelines, and calls
_TEXT = re.compile(r"(?P<kind>[^<(]+)(?:<(?P<angled>.*)>|\((?P<round>.*)\))", re.DOTALL)


@dataclass(frozen=True)
class Action:
    """A transformation: `gvn`, `simplifycfg<no-keep-loops;sink-common-insts>`, `tile(i, 32)`."""

    kind: str
    parameters: tuple[str, ...] = ()
    brackets: Brackets = "()"  # around the parameters, where there are any

    @classmethod
    def parse(cls, text: str) -> Action:
        """Read an action's text, of which `str` makes the same text; what has no parameters is all kind."""
        found = _TEXT.fullmatch(text)
        if not found:
            return cls(text)
        brackets: Brackets = "()" if found["angled"] is None else "<>"
        inside = found["round"] if brackets == "()" else found["angled"]
        return cls(found["kind"], tuple(inside.split(_SEPARATORS[brackets])), brackets)

    def __str__(self) -> str:
        if not self.parameters:
            return self.kind
        left, right = self.brackets
        return f"{self.kind}{left}{_SEPARATORS[self.brackets].join(self.parameters)}{right}"


def action_number(given: Any, actions: Sequence[str]) -> int:
    """Return an action's number, an index into `actions`.

    Raises:
        IllegalAction: it is something else, such as the action's name.
    """
    try:
        number = operator.index(given)
    except TypeError:
        number = -1
    if 0 <= number < len(actions):
        return number
    named = isinstance(given, str) and given in actions
    step = f"{given!r} is {actions.index(given)}" if named else "session.index(NAME) returns it"
    raise IllegalAction(f"action {given!r}: expected a whole number, 0 to {len(actions) - 1}; {step}")
