"""The search for better evictions: what it decides, and that it never ends above LLVM's own cost."""

from __future__ import annotations

import numpy as np
from evictions import Decided, search

from burnish.tasks.llvm_codegen.evictions import EVICTION_COLUMNS, SLOTS
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program
from tests.sources import program


def row(*allowed: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    found = np.zeros(len(EVICTION_COLUMNS), dtype=np.float32)
    found[list(allowed)] = 1
    return found


def test_a_deviation_is_a_share_of_the_allowed_slots_of_a_function_s_decision() -> None:
    decided = Decided({"f": {1: 0.5}})
    slots = row(3, 7, 9, SLOTS - 1)
    assert [decided(name, slots) for name in ("f", "g", "g", "f", "f")] == [None, None, None, 9, None]
    again = decided.replayed()
    assert [again("f", slots), again("f", slots)] == [None, 9]


def test_a_search_keeps_what_gains_in_each_function() -> None:
    session = open_program(program("hash_table.c"), CodegenOptions(pipeline="O2"))
    llvms = session.stock().spill_costs
    found = search(session, 8, executed=False)
    costs = session.generate(found.replayed()).spill_costs
    assert set(found.deviations) == set(session.evictions().functions)
    assert all(costs[name] <= llvms[name] for name in found.deviations)
