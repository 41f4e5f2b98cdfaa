"""A session: one nest and its current loop tree."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from burnish.core.errors import UnknownName
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.trace import WHOLE_PROGRAM
from burnish.core.view import Mask, Observed
from burnish.tasks.loop_nests import actions
from burnish.tasks.loop_nests.actions import ACTIONS, CURSOR
from burnish.tasks.loop_nests.c_interface import function_name, write_header, write_object
from burnish.tasks.loop_nests.kernel import Bench, CompiledNest
from burnish.tasks.loop_nests.lowering.lower import lower
from burnish.tasks.loop_nests.observations import OBSERVATIONS, observe, previous_actions
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.tree import Place, Tree, naive
from burnish.tasks.tensors.machine import Machine, host
from burnish.tasks.tensors.session import TimedSession

PARALLEL = ACTIONS.index("parallel")
KEPT = 4096  # schedules with a cached time


@dataclass
class Shared:
    """Data that all sessions of one nest share."""

    machine: Machine
    bench: Bench
    seconds: Recent[str, float] = field(default_factory=lambda: Recent(KEPT))  # by the tree's text


class NestSession(TimedSession):
    """A loop tree. Sites are its loops; an action on the whole program applies to the loop at the cursor."""

    def __init__(self, tree: Tree, shared: Shared, program: Program) -> None:
        super().__init__(ACTIONS, partial(open_nest, program, shared.machine.threads), program)
        self.tree: Tree = tree
        self.shared: Shared = shared
        self.cursor = 0  # the index of a loop, in the order of the tree's text
        self._masks: dict[str, Mask] = {}  # legal actions at the current tree's loops
        self._compiled: tuple[str, CompiledNest] | None = None  # the last one that was measured

    @property
    def place(self) -> Place:
        """The loop at the cursor."""
        return list(self.tree.places.values())[self.cursor]

    def sites(self) -> tuple[str, ...]:
        """Return the names of the loops, outer loops before those inside."""
        return tuple(self.tree.places)

    def legal(self, site: str = WHOLE_PROGRAM) -> Mask:
        """Return the legal actions at a loop; `up` and `down` are legal for the whole program only."""
        place = self.place if site == WHOLE_PROGRAM else self.tree.places.get(site)
        if place is None:
            return np.zeros(len(ACTIONS), dtype=bool)
        if place.name not in self._masks:
            self._masks[place.name] = np.array(actions.legal_actions(self.tree, place))
        mask = self._masks[place.name].copy()
        mask[PARALLEL] &= self.shared.machine.threads > 1
        if site == WHOLE_PROGRAM:
            mask[ACTIONS.index("up")] = self.cursor > 0
            mask[ACTIONS.index("down")] = self.cursor + 1 < len(self.tree.places)
        return mask

    def apply(self, action: int, site: str = WHOLE_PROGRAM) -> bool:
        """Move the cursor, or change the loop at the cursor or at a site."""
        self.check_legal(action, site)
        text = ACTIONS[action]
        if text in CURSOR:
            self.cursor += -1 if text == "up" else 1
            self.record(action, WHOLE_PROGRAM)
            return True
        place = self.place if site == WHOLE_PROGRAM else self.tree.places[site]
        after = actions.apply(self.tree, text, place)
        assert after is not None
        order = [one.path for one in self.tree.places.values()]
        number = order.index(place.path)
        outer = actions.merged_into(self.tree, place) if text == "merge" else None
        self.tree, self._masks = after, {}
        if self.cursor == number:  # the cursor stays with its loop
            self.cursor += {"swap_up": -1, "swap_down": 1}.get(text, 0)
            self.cursor = order.index(outer) if outer else self.cursor
        self.cursor = min(self.cursor, len(after.places) - 1)
        self.record(action, place.name)
        return True

    def observe(self, space: str) -> Observed:
        """Return one of OBSERVATIONS."""
        if space not in OBSERVATIONS:
            raise UnknownName.among("observation", space, OBSERVATIONS)
        tree, machine, nest = self.tree, self.shared.machine, self.tree.nest
        match space:
            case "5_prev_actions_tensor":
                return previous_actions(self.trace)
            case "runtime":
                return np.array([self.seconds()])
            case "flops":
                return np.array([nest.flops / self.seconds(), nest.flops])
            case "llvm_ir":
                return lower(tree, machine.vector_bytes).text
            case "c_header":
                return write_header(self.shared.bench.nest, tree, function_name(self.program.name), machine)
        return observe(tree, self.cursor, space)

    def state(self) -> str:
        """Return the loops as text; the cursor does not change the time."""
        return str(self.tree)

    def seconds(self, again: bool = False) -> float:
        """Return the time of a call: the last measurement of this tree, or a new one.

        Raises:
            Miscompiled: the results differ from NumPy's.
        """
        key, bench = str(self.tree), self.shared.bench
        known = self.shared.seconds.get(key)
        if known is None or again:
            if self._compiled is None or self._compiled[0] != key:
                compiled = CompiledNest(self.tree, self.shared.machine)
                bench.check(compiled)
                self._compiled = key, compiled
            known = self._compiled[1].seconds(bench.arrays)
            self.shared.seconds.put(key, known)
        return known

    def object_code(self) -> bytes:
        """Return an object file with a C function that is named after the program."""
        return write_object(self.tree, function_name(self.program.name), self.shared.machine)

    def digest(self) -> str:
        """Return the digest of the nest, its loops and the cursor."""
        text = f"{self.tree.nest}{self.tree}\n{self.cursor}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def fork(self) -> NestSession:
        """Return a session with the same loops; both sessions share their measurements."""
        copy = NestSession(self.tree, self.shared, self.program)
        copy.trace, copy.cursor = list(self.trace), self.cursor
        copy._masks = self._masks
        return copy


def open_nest(program: Program, threads: int = 1) -> NestSession:
    """Open a nest with its naive loop tree. With one thread, no loop can be parallel.

    Raises:
        ProgramError: the nest cannot be parsed.
    """
    nest = parse(program.content.decode(errors="replace"), program.name)
    return NestSession(naive(nest), Shared(replace(host(), threads=threads), Bench(nest)), program)
