"""Computed gotos: the number of places in a function, and the slowdown from having fewer.

Interpreters use a computed goto to go from one instruction to the next. Code generation gives each block with
a computed goto its own indirect jump, so that the processor can predict each jump separately. If passes merge
the code before the jumps, one shared jump is left: smaller, but slower. Expected run times do not show the
loss, because the executed instructions are the same.
"""

from __future__ import annotations

from collections.abc import Mapping

# The slowdown is (places before / places now) ** (1 / ROOT): half of the places makes a function 6 % slower.
# lua with 2 of 14 places ran 15.6 % longer; this formula gives 17.6 %.
ROOT = 12


def losses(now: Mapping[str, int], reference: Mapping[str, int]) -> dict[str, float]:
    """Return the factor by which each function with fewer places than in the reference is slower.

    A function without any computed gotos left is not included: it jumps in another way, and the expected run
    time includes the cost of that.
    """
    return {
        name: (before / now[name]) ** (1 / ROOT)
        for name, before in reference.items()
        if 0 < now.get(name, 0) < before
    }
