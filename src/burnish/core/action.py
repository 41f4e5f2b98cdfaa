"""Texts of actions: of what kind one is, and with which parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

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
