"""Action texts: the kind of an action, and its parameters."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from burnish.core.errors import IllegalAction

Brackets = Literal["<>", "()"]

_SEPARATORS: dict[Brackets, str] = {"<>": ";", "()": ", "}  # of LLVM's pipelines, and of calls
_TEXT = re.compile(r"(?P<kind>[^<(]+)(?:<(?P<angled>.*)>|\((?P<round>.*)\))", re.DOTALL)


@dataclass(frozen=True)
class Action:
    """A transformation: `gvn`, `simplifycfg<no-keep-loops;sink-common-insts>`, `tile(i, 32)`."""

    kind: str
    parameters: tuple[str, ...] = ()
    brackets: Brackets = "()"  # around the parameters, if any

    @classmethod
    def parse(cls, text: str) -> Action:
        """Read an action's text; `str` writes the same text. A text without parameters is all kind."""
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
        IllegalAction: `given` is not such an index: it is the action's name, for example.
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
