"""The starting point of a session over an LLVM module."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import NamedTuple

from burnish import _native
from burnish.core.program import Program
from burnish.core.recent import Recent
from burnish.core.trace import Trace

KNOWN_OBJECTS = 8  # recent states of a program with kept objects
KNOWN_SIZES = 256  # states of a program with cached sizes: many actions change nothing, so states recur


@dataclass(frozen=True)
class Options:
    """Options for opening a module and generating its code."""

    level: str = "Oz"
    """The level of function attributes, pipeline tuning and code generation: O0 ... O3, Os, Oz."""
    always_inline: bool = True
    """Inline `always_inline` functions first, as clang does at every level. Otherwise, a file that relies on
    them seems to shrink though nothing was optimized: such figures are not comparable with clang's."""
    cpu: str = ""  # for functions that do not name their own; "": the program's, or "x86-64"
    without: str = ""
    """The excluded actions, as text: see `burnish.llvm.modules.passes.left_out`."""
    profile: bool = False  # first write a profile of the program's own runs into the module


class Body(NamedTuple):
    """The machine code of a function, without that of its callees."""

    recursion: int  # functions that call each other have the same number
    own: float  # expected instructions of a call
    calls: Mapping[str, float]  # of each callee, "" if unknown: expected executions for a call
    unknown_loops: int = 0  # without a constant number of iterations that LLVM knows
    known_loops: int = 0
    by_trips: Body | None = None  # the same with the known iterations; None: none are known


@dataclass(frozen=True)
class CallCosts:
    """The costs of calls of a module's functions, with their callees in the module, by their machine code."""

    of_call: Mapping[str, float]  # expected instructions; see native/machine_time.h
    repeating: frozenset[str]  # functions with a loop or recursion, and their callers
    gotos: Mapping[str, int]  # number of computed gotos in the machine code of functions that have any
    stacks: Mapping[str, int]  # bytes of stack of the deepest path of calls
    own: Mapping[str, float] = field(default_factory=dict)  # instructions of a call without its callees
    # instructions of each function in all executions that the module's profile has counted; {}: no profile
    counted: Mapping[str, float] = field(default_factory=dict)
    bodies: Mapping[str, Body] = field(default_factory=dict)  # callees come first
    interpreters: frozenset[str] = frozenset()  # functions with a switch of many cases in a loop
    divisor: float = 1.0  # of `of_call` and `counted`: see Origin.slowdown

    @classmethod
    def of(cls, made: _native.Generated) -> CallCosts:
        """Return the run times of generated code."""
        calls = made.calls
        bodies = {call.name: _body(call) for call in calls}
        return cls(
            call_times(bodies),
            frozenset(call.name for call in calls if call.repeats),
            dict(made.computed_gotos),
            {call.name: call.stack for call in calls},
            dict(made.executed),
            dict(made.counted_times),
            bodies,
            frozenset(call.name for call in calls if call.interprets),
        )

    def own_by_trips(self, name: str) -> float:
        """Return a function's own time with known iterations."""
        body = self.bodies[name]
        return (body.by_trips or body).own

    def with_trips(self, names: Container[str]) -> CallCosts:
        """Return the costs with the known iterations of loops in some functions."""
        bodies = {
            name: (body.by_trips or body) if name in names else body for name, body in self.bodies.items()
        }
        before, times = call_times(self.bodies), call_times(bodies)
        of_call = {
            name: time * times[name] / before[name] if before.get(name) else time
            for name, time in self.of_call.items()
        }
        return replace(self, of_call=of_call, bodies=bodies)


def _body(call: _native.CallCost) -> Body:
    loops = call.unknown_loops, call.known_loops
    by_trips = Body(call.recursion, call.own_by_trips, dict(call.calls_by_trips), *loops)
    return Body(call.recursion, call.own, dict(call.calls), *loops, by_trips if call.known_loops else None)


def call_times(bodies: Mapping[str, Body]) -> dict[str, float]:
    """Return the expected instructions of a call of each function, with its callees in the module."""
    times: dict[str, float] = {}
    for _, recursion in groupby(bodies.items(), lambda item: item[1].recursion):
        found = {}
        for name, body in recursion:
            found[name] = body.own + sum(
                count * times.get(callee, _native.UNKNOWN_CALLEE) for callee, count in body.calls.items()
            )
        times |= found
    return times


def can_compare_trips(name: str, now: CallCosts, reference: CallCosts) -> bool:
    """Return whether two codes of a function can be compared by the known iterations of its loops.

    There must be no more loops without known iterations now. Otherwise code could look faster only because
    LLVM does not know those of a loop any more, and a search would find it.
    """
    after, before = now.bodies.get(name), reference.bodies.get(name)
    if not after or not before or not (after.known_loops or before.known_loops):
        return False
    return after.unknown_loops <= before.unknown_loops


def comparable(now: CallCosts, reference: CallCosts, exact: Container[str]) -> dict[str, Body]:
    """Return the bodies with frequencies that can be compared with the reference's.

    Frequencies of blocks are estimates, except those of functions in `exact`: all their loops have known
    iterations. Estimates change with the form of loops though the program does the same: where two loops
    become one inside the other, code has four times the frequency. So a function that has the callees of its
    reference is expected to call them as often. If all calls are more frequent now, the own time is less by
    this factor, but not less than LLVM's frequencies say. So are calls of further callees.
    """

    def beside(name: str, body: Body) -> Body:
        before = reference.bodies.get(name)
        if not before or name not in now.of_call or name in exact:
            return body
        calls_before, calls = before.calls, body.calls
        if not calls_before.keys() <= calls.keys():
            return body
        # with the call of the function itself
        growth = (1 + sum(calls[callee] for callee in calls_before)) / (1 + sum(calls_before.values()))
        growth = max(1.0, growth)
        known = name in now.own and reference.own.get(name)
        by_llvm = before.own * now.own[name] / reference.own[name] if known else math.inf
        own = min(body.own, max(body.own / growth, by_llvm))
        as_often = {callee: count / growth for callee, count in body.calls.items()}
        if len(calls_before) == len(calls):
            as_often |= calls_before
        return Body(body.recursion, own, as_often)

    return {name: beside(name, body) for name, body in now.bodies.items()}


@dataclass(frozen=True)
class ReferenceSizes:
    """Sizes of a reference's object, in bytes."""

    loaded: int
    constant: int  # machine code and read-only data, without unwind tables
    ram: int  # writable data
    shared: Mapping[str, int]  # loaded bytes by linkonce function; a linker keeps one object's copy of each

    @classmethod
    def of(cls, sizes: _native.Sizes, module: _native.Module) -> ReferenceSizes:
        """Return the sizes of a reference from its object and its module, before or after the passes."""
        shared = frozenset(module.linkonce_functions)
        loaded = {name: size for name, size in sizes.functions_loaded if name in shared}
        return cls(sizes.loaded_bytes, sizes.text_bytes + sizes.read_only_bytes, sizes.ram_bytes, loaded)

    def code_growth(self, sizes: _native.Sizes) -> float:
        """Return the size of another object's code and constants, in units of this one's."""
        return (sizes.text_bytes + sizes.read_only_bytes) / max(1, self.constant)

    def ram_growth(self, sizes: _native.Sizes) -> float:
        """Return another object's writable data, in units of this one's."""
        return max(1, sizes.ram_bytes) / max(1, self.ram)

    def loaded_shares(self, sizes: _native.Sizes) -> dict[str, float]:
        """Return the loaded bytes of each function of another object, in units of this object's total."""
        return {name: size / max(1, self.loaded) for name, size in sizes.functions_loaded}

    def linked_growth(self, sizes: _native.Sizes) -> float:
        """Return the bytes that another object adds to a program, in units of this one's: linked-growth."""
        defined = {name for name, _ in sizes.functions_loaded}
        elsewhere = sum(size for name, size in self.shared.items() if name not in defined)
        return (sizes.loaded_bytes + elsewhere) / max(1, self.loaded)


@dataclass
class Origin:
    """The starting point of a session: the program, and the preparation of its module."""

    program: Program
    prepare: Callable[[_native.Module], None]  # runs before the first action
    reference: Trace | None
    """The trace from the start to the reference; None if each state is its own reference (baselines)."""
    slowdown: float = 1.0  # expected slowdown of a part's reference against the whole program's reference
    reference_sizes: ReferenceSizes | None = None  # computed on the first request
    # Its times are divided by `slowdown`; computed on the first request.
    reference_calls: CallCosts | None = None
    level_bitcode: bytes | None = None  # after the reference's trace; None: its passes have to run
    sizes: Recent[str, _native.Sizes] = field(default_factory=lambda: Recent(KNOWN_SIZES))  # by digest
    call_costs: Recent[str, CallCosts] = field(default_factory=lambda: Recent(KNOWN_SIZES))  # by digest
    objects: Recent[str, bytes] = field(default_factory=lambda: Recent(KNOWN_OBJECTS))  # by digest


def prepare(module: _native.Module, options: Options) -> None:
    """Prepare a module as clang does at the options' level before any optimization.

    At -O0 clang marks functions optnone, too: only the baseline has that, since passes would skip them.
    """
    module.set_level_attributes("O1" if options.level == "O0" else options.level)
    if options.always_inline:
        module.honour_mandatory()


def run_level(module: _native.Module, level: str) -> None:
    """Run clang's own pipeline."""
    module.set_level_attributes(level)
    module.run(f"clang<{level}>", level)
