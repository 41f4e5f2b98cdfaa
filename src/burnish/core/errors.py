"""All exceptions that burnish raises on purpose.

BurnishError
├── InputError            the input cannot be used; nothing was changed
│   ├── ProgramError      a program cannot be read, or is for another compiler
│   ├── CompileError      the front end rejected a source file; contains its diagnostics
│   ├── NotMeasurable     a program has no such cost: this build has no machine code for it, for example
│   ├── BrokenContract    a task violates the contract of all tasks; names the failed check
│   ├── UnknownName       no such action, objective, observation, task, ...; suggests near names
│   └── IllegalAction     the action does not apply in this state; the state is unchanged
├── CompilerCrash         the compiler died or gave up; the session continues by replaying its trace
│   ├── CompilerTimeout   the compiler did not answer before its deadline
│   ├── CompilerMemory    the compiler hit its memory limit
│   ├── CompilerKilled    another process killed the compiler: trying again may succeed
│   └── Miscompiled       the compiled program behaves differently
├── ReplayError           a trace led to another state than before
└── MissingTool           a part of the system is not installed; names the command that installs it
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BurnishError(Exception):
    """The base of all exceptions that burnish raises on purpose."""


class InputError(BurnishError):
    """The input cannot be used; nothing was changed."""


class ProgramError(InputError):
    """A program cannot be read, or is for another compiler."""


class CompileError(InputError):
    """The front end rejected a source file; the message is its diagnostics."""


class NotMeasurable(InputError):
    """A program has no such cost: this build makes no machine code for its target, for example."""


class BrokenContract(InputError):
    """A task violates the contract of all tasks; see burnish.check_task."""


class UnknownName(InputError):
    """A name is not in a list; the message suggests the nearest ones."""

    @classmethod
    def among(cls, kind: str, name: object, known: Iterable[str]) -> UnknownName:
        """Return an error that suggests the nearest `known` names of this `kind` for `name`."""
        return cls(f"no {kind} named {name!r}; {nearest(name, known)}")


class IllegalAction(InputError):
    """The action does not apply in this state; the state is unchanged."""


class CompilerCrash(BurnishError):
    """The compiler died or gave up; its session continues by replaying its trace."""


class CompilerTimeout(CompilerCrash):
    """The compiler did not answer before its deadline."""


class CompilerMemory(CompilerCrash):
    """The compiler hit its memory limit."""


class CompilerKilled(CompilerCrash):
    """Another process killed the compiler: a person, or the system to free memory; a retry may succeed."""


class Miscompiled(CompilerCrash):
    """The compiled program crashes, hangs or prints wrong output."""


class ReplayError(BurnishError):
    """A trace led to another state than before."""


class MissingTool(BurnishError):
    """A part of the system is not installed; the message says which command installs it."""


def install(extras: str) -> str:
    """Return the command that installs optional parts, such as "train,mlir"; no package index has burnish."""
    return f"pip install '.[{extras}]' in a clone of burnish"


def nearest(name: object, known: Iterable[str]) -> str:
    """Return a hint for a wrong name: the nearest known names, or else the first known ones."""
    names = list(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5) if isinstance(name, str) else []
    return f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {_some(names)}"


def _some(names: list[str], most: int = 12) -> str:
    shown = ", ".join(names[:most]) or "none"
    return f"{shown}, ... ({len(names)} in all)" if len(names) > most else shown
