"""Objectives: the costs that a search minimises."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from burnish.core.errors import UnknownName
from burnish.core.objective import Formula, Limit, Objective, parse_objective
from burnish.llvm.modules.origin import call_times, can_compare_trips, comparable
from burnish.llvm.run.stopwatch import REPEATS

if TYPE_CHECKING:
    from burnish._native import Sizes
    from burnish.llvm.modules.origin import CallCosts, ReferenceSizes

LEAST_STACK = 256  # bytes; shorter stacks may grow to this: every program has room for it

_costly = partial(Objective, dense=False)  # code generation costs as much as many passes
_measured = partial(Objective, dense=False, by_site=False, noisy=True)

_OBJECTIVES = (
    Objective(
        "ir-instructions", "instructions", "IR instructions in all functions, at least 1", heading="IR instrs"
    ),
    _costly(
        "loaded-bytes",
        "bytes",
        "bytes that a linked, stripped program loads for the object file that the back end emits: code, "
        "read-only and writable data, unwind tables, dynamic relocations, at least 1",
        heading="loaded B",
    ),
    _costly(
        "text-bytes",
        "bytes",
        "bytes of executable sections in that object file, at least 1",
        heading=".text B",
    ),
    _costly(
        "object-bytes",
        "bytes",
        "bytes of that object file, with data, symbols and relocations",
        by_site=False,
        heading=".o B",
    ),
    _costly(
        "slowdown",
        "times",
        "expected run time of the machine code relative to the reference, by static branch "
        "probabilities or a profile. The largest of: the mean of order 4 over functions, each "
        "counted as at least 1; a function with loops, as if it took half of the time; the "
        "slowest interpreter, by computed gotos, where fewer places are slower, too, or by a switch in a "
        "loop, whose own time counts, too. With a profile: of all counted executions together",
    ),
    _costly("code-growth", "times", "bytes of machine code and read-only data, relative to the reference"),
    _costly(
        "linked-growth",
        "times",
        "bytes that a program loads for the object file, relative to the reference, if another "
        "object keeps the inline functions and templates that this one drops",
    ),
    _costly(
        "ram-bytes",
        "bytes",
        "bytes of writable data in that object file, with zero-initialized data, at least 1",
        heading="RAM B",
    ),
    _costly("ram-growth", "times", "ram-bytes, relative to the reference"),
    _costly(
        "stack-bytes",
        "bytes",
        "bytes of stack that the deepest path of calls in the module takes, at least 1: the frames that "
        "-fstack-usage reports, a recursion once, without alloca and without functions of other modules",
        heading="stack B",
    ),
    _costly(
        "stack-growth",
        "times",
        "the largest growth of a function's stack, that of its deepest path of calls, relative to the "
        f"reference; less than {LEAST_STACK} bytes count as {LEAST_STACK}",
    ),
    _measured(
        "seconds",
        "seconds",
        f"CPU time of the program's runs: the sum over its inputs, the minimum of {REPEATS} runs each",
        needs_workload=True,
        heading="run s",
    ),
    _measured(
        "cycles",
        "cycles",
        "CPU cycles of its runs in user code, counted by the hardware; measured like 'seconds'",
        needs_workload=True,
    ),
    _measured(
        "instructions",
        "instructions",
        "machine instructions that its runs execute in user code, counted by the hardware or the emulator",
        needs_workload=True,
    ),
    _measured(
        "compile-seconds",
        "seconds",
        f"CPU time of the passes after the front end, and of code generation: the minimum of {REPEATS} runs",
        heading="compile s",
    ),
)
OBJECTIVES: dict[str, Objective] = {item.name: item for item in _OBJECTIVES}

CODE_PRICE = 4.0  # loaded bytes that a function must save for each byte by which its code and constants grow
ORDER = 4  # of the power mean in the objective slowdown
MOST_SHARE = 0.5  # the largest share of a program's time that one function is assumed to take

# Interpreters use a computed goto to go from one instruction to the next. Code generation gives each block
# with a computed goto its own indirect jump, so that the processor can predict each jump separately. If
# passes merge the code before the jumps, one shared jump is left: smaller, but slower. Expected run times
# do not show the loss, because the executed instructions are the same. So the slowdown of a function with
# fewer places is (places before / places now) ** (1 / ROOT): half of the places makes it 6 % slower.
# lua with 2 of 14 places ran 15.6 % longer; this formula gives 17.6 %.
ROOT = 12

RUN_TIME = frozenset({"seconds", "cycles", "instructions"})


def level_for(objective: str) -> str:
    """Return the clang level that an objective is compared with: the one its users would otherwise choose."""
    return "O3" if RUN_TIME & parse_objective(objective).exponents.keys() else "Oz"


def within_limits(
    objective: str,
    slowdown: float | None,
    code_growth: float = 1,
    *,
    stack_growth: float | None = None,
    ram_growth: float | None = None,
) -> str:
    """Return "loaded-bytes" within the limits for code that ships; return any other objective unchanged.

    Only loaded bytes matter for code that ships; other objectives are for comparisons and stay as defined.
    Code growth is limited because unwind tables are loaded but seldom read: they must not shrink at the cost
    of more code. Linked growth is limited because a linker may keep another object's copy of an inline
    function that this object no longer defines. `code_growth` is above 1 if the reference is smaller than the
    usual build. None: no limit.
    """
    if objective != "loaded-bytes":
        return objective
    most = {
        "slowdown": slowdown,
        "code-growth": code_growth,
        "linked-growth": 1.0,
        "stack-growth": stack_growth,
        "ram-growth": ram_growth,
    }
    limits = [Limit(name, limit) for name, limit in most.items() if limit not in (None, math.inf)]
    return Formula({objective: 1.0}, tuple(limits)).text


SIZES = frozenset(
    {"loaded-bytes", "text-bytes", "object-bytes", "code-growth", "linked-growth", "ram-bytes", "ram-growth"}
)


def size_cost(objective: str, sizes: Sizes, reference: Callable[[], ReferenceSizes]) -> float:
    """Return one of SIZES of an object; some need the sizes of the reference's object."""
    match objective:
        case "loaded-bytes":
            return float(max(1, sizes.loaded_bytes))
        case "text-bytes":
            return float(max(1, sizes.text_bytes))
        case "object-bytes":
            return float(sizes.object_bytes)
        case "code-growth":
            return reference().code_growth(sizes)
        case "linked-growth":
            return reference().linked_growth(sizes)
        case "ram-bytes":
            return float(max(1, sizes.ram_bytes))
        case "ram-growth":
            return reference().ram_growth(sizes)
    raise UnknownName.among("objective", objective, OBJECTIVES)


def size_shares(objective: str, sizes: Sizes, reference: Callable[[], ReferenceSizes]) -> dict[str, float]:
    """Return each function's share of one of SIZES; {} for object-bytes.

    text-bytes: the bytes of its symbol. loaded-bytes: also its unwind information and the constants that no
    other function uses. code-growth: the loaded bytes without the unwind information. linked-growth: the
    loaded bytes, in units of all loaded bytes of the reference. ram-bytes and ram-growth: 0, because writable
    data belongs to no function.
    """
    pairs: Sequence[tuple[str, float]] = ()
    match objective:
        case "loaded-bytes":
            pairs = sizes.functions_loaded
        case "text-bytes":
            pairs = sizes.functions
        case "code-growth":
            pairs = sizes.functions_constant
        case "linked-growth":
            return reference().loaded_shares(sizes)
        case "ram-bytes" | "ram-growth":
            pairs = [(name, 0.0) for name, _ in sizes.functions_loaded]
    return {name: float(share) for name, share in pairs}


def slowdowns(now: CallCosts, reference: CallCosts) -> dict[str, float]:
    """Return each function's expected slowdown: its time over the reference's, at least the loss of gotos.

    For a function with an interpreter's switch, or with loops of known iterations, its own time without
    callees counts if that has grown more.
    With a profile: the time of all counted executions of the module, if only this function were changed, over
    the reference's. A function that only the reference has, because it was inlined, saves all of its time.
    """
    lost = goto_losses(now.gotos, reference.gotos)
    if whole := sum(reference.counted.values()):
        times = {name: time * lost.get(name, 1.0) for name, time in now.counted.items()}
        return {
            name: 1 + (times.get(name, 0.0) - reference.counted.get(name, 0.0)) / whole
            for name in {**times, **reference.counted}
        }
    if reference.counted:
        return {}  # nothing was executed
    known = {name for name in now.bodies if can_compare_trips(name, now, reference)}
    exact = {name for name in known if not reference.bodies[name].unknown_loops}
    if known:
        now, reference = now.with_trips(known), reference.with_trips(known)
    bodies = comparable(now, reference, exact)
    times = call_times(bodies) or dict(now.of_call)

    def ratio(name: str) -> float:
        own = 0.0
        if name in known or (name in reference.interpreters and name in bodies):
            before = reference.bodies[name].own / reference.divisor
            own = bodies[name].own / max(1.0, before)
        return max(times[name] / reference.of_call[name], lost.get(name, 0.0), own)

    return {name: ratio(name) for name in now.of_call if reference.of_call.get(name)}


def slowdown_of_part(site: str, now: CallCosts, reference: CallCosts) -> float:
    """Return a function's expected time over the reference's; 1 if either is 0."""
    if reference.counted:
        time, before = now.counted.get(site, 0.0), reference.counted.get(site, 0.0)
        return time / before if time and before else 1.0
    return slowdowns(now, reference).get(site) or 1.0


def stack_shares(objective: str, now: CallCosts, reference: Callable[[], CallCosts]) -> dict[str, float]:
    """Return each function's stack, or its growth where the reference has the function, too."""
    if objective == "stack-bytes":
        return {name: float(stack) for name, stack in now.stacks.items()}
    before = reference().stacks
    return {
        name: max(LEAST_STACK, stack) / max(LEAST_STACK, before[name])
        for name, stack in now.stacks.items()
        if name in before
    }


def goto_losses(now: Mapping[str, int], reference: Mapping[str, int]) -> dict[str, float]:
    """Return the factor by which each function with fewer computed gotos than in the reference is slower.

    A function without any computed gotos left is not included: it jumps in another way, and the expected run
    time includes the cost of that.
    """
    return {
        name: (before / now[name]) ** (1 / ROOT)
        for name, before in reference.items()
        if 0 < now.get(name, 0) < before
    }


def slowdown(ratios: Mapping[str, float], now: CallCosts, reference: CallCosts) -> float:
    """Return the expected slowdown of a module against its reference, at least 1.

    The distribution of a program's time over its functions is unknown. So all functions in both modules weigh
    the same, and a faster function does not compensate for a slower one. The high order of the mean gives
    weight to a single slow function: among ten, one with ratio 1.5 gives 1.09, one with ratio 2 gives 1.26.
    Among many functions, one has almost no weight. So each function that repeats is also counted as half of
    the time. A function with computed gotos (an interpreter) is counted as all of the time, because its
    program spends the time there. So is one with a switch of many cases in a loop.

    With a profile the distribution is known: the slowdowns of all functions add up.
    """
    if not ratios:
        return 1.0
    if now.counted:
        return max(1.0, 1 + sum(ratio - 1 for ratio in ratios.values()))
    mean = (sum(max(1.0, ratio) ** ORDER for ratio in ratios.values()) / len(ratios)) ** (1 / ORDER)
    half = (1 + MOST_SHARE * (ratio - 1) for name, ratio in ratios.items() if name in now.repeating)
    return float(
        max(mean, *half, *(ratios.get(name, 1.0) for name in {*now.gotos, *reference.interpreters}), 1.0)
    )
