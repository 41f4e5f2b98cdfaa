"""Variants worth trying first at all functions after the level's own passes, by machine.

prior_variants.json has for each machine traces that together make functions of other programs smallest, the
best first. Made by python benchmarks/function_variants.py
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from burnish.cc.short_search import code_of
from burnish.core.session import Session
from burnish.core.trace import Trace
from burnish.llvm.targets import machine_of
from burnish.tasks.llvm_codegen.prior_gains import prior_gains

FILE = Path(__file__).with_suffix(".json")
BEGIN = "begin(llvm_codegen)"


@cache
def variants_of(machine: str) -> tuple[Trace, ...]:
    """Return the variants of a machine; if it has none, sets of decisions on code generation."""
    known = json.loads(FILE.read_text())
    if machine in known:
        return tuple(map(tuple, known[machine]))
    return tuple((BEGIN, *decisions) for decisions in prior_gains(machine).suffixes)


def variants_for(session: Session) -> tuple[Trace, ...]:
    """Return the variants for an opened program's machine."""
    return variants_of(machine_of(code_of(session).opened.module.triple))
