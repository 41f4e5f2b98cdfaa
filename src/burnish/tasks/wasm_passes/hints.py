"""Traces worth trying first, and suffixes worth trying at every function."""

from __future__ import annotations

from burnish.core.trace import Trace

INITIAL_TRACES: tuple[Trace, ...] = (("default<Oz>",),)
SUFFIXES: tuple[Trace, ...] = (("const-hoisting",),)
