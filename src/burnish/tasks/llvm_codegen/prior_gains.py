"""Gains of decisions at functions of other programs, by machine: a search tries the best ones first.

prior_gains.json has for each machine, of programs of the train split compiled for it:

gains     the gain of each decision in per cent of a program's loaded bytes, if only functions that gain have
          it; of random orders the mean of their seeds, since none is better than the others. Made by
          python benchmarks/codegen.py worth --split train
suffixes  sets of decisions, chosen for what they save together if each function has its best set. Made by
          python benchmarks/codegen_suffixes.py --from-shipped
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from burnish.core.trace import Trace
from burnish.tasks.llvm_codegen.actions import ACTIONS

FILE = Path(__file__).with_suffix(".json")
USUAL = "X86"  # for machines without gains of their own


@dataclass(frozen=True)
class PriorGains:
    """The prior gains of a machine: see the module."""

    gains: Mapping[str, float]
    suffixes: tuple[Trace, ...]


@cache
def prior_gains(machine: str = USUAL) -> PriorGains:
    """Return the prior gains of a machine, or else those of x86."""
    known = json.loads(FILE.read_text())
    found = known.get(machine, known[USUAL])
    gains: dict[str, float] = found["gains"]
    worth = {text: gains.get(text, gains.get(text.partition("(")[0], 0.0)) for text in ACTIONS}
    return PriorGains(
        {text: gain for text, gain in worth.items() if gain}, tuple(map(tuple, found["suffixes"]))
    )
