"""Traces worth trying first for a program of a machine: prior_variants.json.

python benchmarks/function_variants.py finds those of functions. Those of whole programs were chosen by hand
from what benchmarks/first_traces.py measures.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import NamedTuple

from burnish.cc.repeating import BEGIN
from burnish.core.trace import Trace

FILE = Path(__file__).with_suffix(".json")


class Variants(NamedTuple):
    """The traces of a machine, the best first; none if the machine has no traces."""

    of_programs: tuple[Trace, ...]  # for a whole program, from before the level's passes
    of_functions: tuple[Trace, ...]
    """For all functions after the level's passes. Together, each function with its best one, they made other
    programs smallest. They begin code generation; those of programs do not."""


@cache
def variants_of(machine: str) -> Variants:
    """Return the variants of a machine."""
    known: dict[str, list[list[str]]] = json.loads(FILE.read_text())
    traces = list(map(tuple, known.get(machine, ())))
    return Variants(
        tuple(trace for trace in traces if BEGIN not in trace),
        tuple(trace for trace in traces if BEGIN in trace),
    )
