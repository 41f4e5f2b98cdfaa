"""Traces worth trying first: any search begins with them."""

from __future__ import annotations

from burnish.core.trace import Trace

STARTS: tuple[Trace, ...] = (
    ("clang<Oz>",),
    ("clang<Oz;inline-threshold=0>",),
)
