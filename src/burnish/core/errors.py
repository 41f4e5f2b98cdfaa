"""Everything that burnish raises on purpose.

BurnishError
├── InputError            what was given cannot be used; nothing was changed
│   ├── ProgramError      a program cannot be read, or is for another compiler
│   ├── CompileError      the front end rejected a source file; carries its diagnostics
│   ├── NotMeasurable     a program has no such cost: no machine code can be made of it here, say
│   ├── BrokenContract    a task does not do what every task must; says which check found it
│   ├── UnknownName       no such action, objective, observation, task, ...; says what is near
│   └── IllegalAction     the action does not apply in this state; the state is as it was
├── CompilerCrash         the compiler died or gave up; the session continues by replaying its trace
│   ├── CompilerTimeout   it did not answer before its deadline
│   ├── CompilerMemory    it hit its memory limit
│   └── Miscompiled       the program that it made does something else
├── ReplayError           a trace did not lead where it had led before
└── MissingTool           a part of the system is not installed; says which command installs it
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BurnishError(Exception):
    """Anything that burnish raises on purpose."""


class InputError(BurnishError):
    """What was given cannot be used; nothing was changed."""


class ProgramError(InputError):
    """A program cannot be read, or is for another compiler."""


class CompileError(InputError):
    """The front end rejected a source file; the message is its diagnostics."""


class NotMeasurable(InputError):
    """A program has no such cost: this build makes no machine code for its target, say."""


class BrokenContract(InputError):
    """A task does not do what every task must; see burnish.check_task."""


class UnknownName(InputError):
    """A name that is not in a list; the message suggests the nearest ones."""

    @classmethod
    def among(cls, kind: str, name: object, known: Iterable[str]) -> UnknownName:
        """Say what `name` should have been, from the `known` names of its `kind`."""
        return cls(f"no {kind} named {name!r}; {nearest(name, known)}")


class IllegalAction(InputError):
    """The action does not apply in this state; the state is as it was."""


class CompilerCrash(BurnishError):
    """The compiler died or gave up; its session continues by replaying its trace."""


class CompilerTimeout(CompilerCrash):
    """The compiler did not answer before its deadline."""


class CompilerMemory(CompilerCrash):
    """The compiler hit its memory limit."""


class Miscompiled(CompilerCrash):
    """The program that the compiler made crashes, hangs or prints something else than it should."""


class ReplayError(BurnishError):
    """A trace did not lead where it had led before."""


class MissingTool(BurnishError):
    """A part of the system is not installed; the message says which command installs it."""


def install(extras: str) -> str:
    """Return the command that installs optional parts, such as "train,mlir": burnish is on no index."""
    return f"pip install '.[{extras}]' in a clone of burnish"


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the next step after a wrong name: the names near it, or else those that are known."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) if isinstance(name, str) else []
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {_some(names)}"


def _some(names: list[str], most: int = 12) -> str:
    shown = ", ".join(names[:most]) or "none"
    return f"{shown}, ... ({len(names)} in all)" if len(names) > most else shown
