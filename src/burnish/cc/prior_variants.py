"""Variants worth trying first, by machine: at all functions after the level's own passes, or for the program.

prior_variants.json has for each machine traces that together make functions of other programs smallest, the
best first. They begin code generation; python benchmarks/function_variants.py finds them. Traces that do not
are of the whole program, from before the level's passes, and come first; they were chosen by hand from what
benchmarks/first_traces.py measures.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from burnish.core.trace import Trace

FILE = Path(__file__).with_suffix(".json")


@cache
def variants_of(machine: str) -> tuple[Trace, ...]:
    """Return the variants of a machine; () if none are known."""
    known: dict[str, list[list[str]]] = json.loads(FILE.read_text())
    return tuple(map(tuple, known.get(machine, ())))
