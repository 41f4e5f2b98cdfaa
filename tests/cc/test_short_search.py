"""A short search: sets of decisions at all functions, then the best at each, within limits and time."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.cc.repeating import BEGIN
from burnish.cc.short_search import FunctionSearch, code_of, short_search
from burnish.core.errors import CompilerCrash
from burnish.core.program import Program
from burnish.core.session import Session
from burnish.core.trace import WHOLE_PROGRAM, Trace, split_entry
from burnish.llvm.corpora.kernels import load_kernel
from burnish.llvm.modules.origin import can_compare_trips
from burnish.llvm.programs import load_program
from burnish.tasks.llvm_codegen import TASK
from burnish.tasks.llvm_codegen.actions import OUTLINE
from burnish.tasks.llvm_codegen.generations import Generations
from burnish.tasks.llvm_codegen.prior_gains import prior_gains
from burnish.tasks.llvm_codegen.session import CodegenSession
from burnish.tasks.llvm_passes_and_codegen import TASK as PASSES_AND_CODEGEN

SETS = prior_gains().suffixes
GOAL = TASK.goal("loaded-bytes", {})


@pytest.fixture(scope="module")
def session() -> CodegenSession:
    opened = TASK.open(load_kernel("regex", ["small"]))
    assert isinstance(opened, CodegenSession)
    return opened


def always() -> float:
    return math.inf


def test_each_function_keeps_its_smallest_variant(session: CodegenSession) -> None:
    before = session.site_costs("loaded-bytes")
    found = short_search(session, "loaded-bytes", SETS[:2], always)
    after = found.session.site_costs("loaded-bytes")
    assert all(after[name] <= before[name] for name in session.sites())
    assert len({code_of(found.session).decisions_of(name) for name in session.sites()}) > 1
    assert found.cost == found.session.measure("loaded-bytes") < 0.99 * session.measure("loaded-bytes")


def test_limits_hold(session: CodegenSession) -> None:
    for slowdown in (1.0, 1.05):
        goal = f"loaded-bytes while slowdown<={slowdown} and code-growth<=1"
        found = short_search(session, goal, SETS[:3], always)
        assert found.session.measure("slowdown") <= max(slowdown, session.measure("slowdown"))
        assert found.session.measure("code-growth") <= 1
        before, after = (one.generation().call_costs.own for one in (session, code_of(found.session)))
        assert all(after[name] <= slowdown * before[name] for name in session.sites())


def test_functions_with_known_iterations_get_no_slower_by_them(session: CodegenSession) -> None:
    found = code_of(short_search(session, GOAL, SETS, always).session).generation().call_costs
    before = session.generation().call_costs
    known = [name for name in session.sites() if can_compare_trips(name, found, before)]
    assert len(known) > 1
    assert all(found.own_by_trips(name) <= 1.05 * before.own_by_trips(name) for name in known)


def test_a_joined_object_with_a_slow_function_is_not_the_best(
    session: CodegenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Functions may be slower in one object than each was alone, though the program's limit holds."""
    goal = "loaded-bytes while slowdown<=1.05"
    chosen: dict[str, Trace] = {}
    for site, action in map(split_entry, short_search(session, goal, SETS, always).session.trace):
        chosen[site] = (*chosen.get(site, ()), action)
    search = FunctionSearch(session, goal, ())
    assert search.together(chosen) is not None
    assert search.best is not session
    slow = next(iter(chosen))
    monkeypatch.setattr(FunctionSearch, "is_fast", lambda _, name, code: name != slow or code is session)
    search = FunctionSearch(session, goal, ())
    assert search.joined(chosen) is not None
    assert search.best is session
    assert search.cost == session.measure(goal)


def test_an_object_is_joined_again_until_no_function_is_slow(
    session: CodegenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a slow function, others may be slow: callers, or those that code is outlined from."""
    goal = "loaded-bytes while slowdown<=1.05"
    first, second, *_ = code_of(short_search(session, goal, SETS, always).session).functions

    def is_fast(_: FunctionSearch, name: str, code: CodegenSession) -> bool:
        own = {*code.functions}
        return not (name == first and first in own) and not (
            name == second and own & {first, second} == {second}
        )

    monkeypatch.setattr(FunctionSearch, "is_fast", is_fast)
    found = short_search(session, goal, SETS, always)
    assert found.evaluations == len(SETS) + 3
    assert code_of(found.session).functions.keys().isdisjoint({first, second})
    assert found.cost < session.measure(goal)


def test_what_is_slower_than_the_reference_already_gets_no_slower(
    session: CodegenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace of the whole program may use up a function's limit before its variants are tried."""
    goal = "loaded-bytes while slowdown<=1.05"
    own = session.generation().call_costs.own
    found = code_of(short_search(session, goal, SETS[:3], always).session).generation().call_costs.own
    assert any(found[name] > own[name] for name in session.sites())
    faster = replace(session.generation().call_costs, own={name: time / 1.1 for name, time in own.items()})
    monkeypatch.setattr(type(session.opened), "reference_calls", lambda _: faster)
    found = code_of(short_search(session, goal, SETS[:3], always).session).generation().call_costs.own
    assert all(found[name] <= own[name] for name in session.sites())
    assert any(found[name] < own[name] for name in session.sites())


@pytest.fixture(scope="module")
def level() -> Session:
    """Return a program after the passes of -Oz; variants of passes make some of its functions larger."""
    opened = PASSES_AND_CODEGEN.open(load_kernel("regex", ["small"]))
    opened.replay(("clang<Oz>",))
    return opened


LARGER = [(text, BEGIN) for text in ("frame-pointer<calls=0>", "no-minsize")]  # fewer loaded bytes, more code


def _is_joined(code: CodegenSession) -> bool:
    return any(": " in text for text in code.opened.trace)  # an action at one function


def test_a_joined_object_above_the_limit_on_code_is_joined_again_with_less(
    level: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = CodegenSession.cost
    unlimited = code_of(short_search(level, "loaded-bytes", LARGER, always).session)
    a_byte = 1 / unlimited.opened.reference_sizes().constant
    most = cost(unlimited, "code-growth") + 10 * a_byte
    assert most > 1

    def with_alignment(code: CodegenSession, objective: str, site: str = WHOLE_PROGRAM) -> float:
        added = 20 * a_byte if objective == "code-growth" and _is_joined(code) else 0.0
        return cost(code, objective, site) + added

    monkeypatch.setattr(CodegenSession, "cost", with_alignment)
    # The functions' own bytes leave 10 bytes of room; 20 bytes of no function are 10 too many.
    found = short_search(level, f"loaded-bytes while code-growth<={most}", LARGER, always)
    code = code_of(found.session)
    assert found.evaluations == 4  # two variants and two joined objects
    assert _is_joined(code) and cost(code, "code-growth") + 20 * a_byte <= most
    loaded = [cost(one, "loaded-bytes") for one in (unlimited, code, code_of(level))]
    assert loaded[0] < loaded[1] < 0.95 * loaded[2]


def test_functions_that_are_slow_when_joined_make_no_room_for_others(
    level: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost, costs = CodegenSession.cost, CodegenSession.costs
    unlimited = code_of(short_search(level, "loaded-bytes", LARGER, always).session)
    before, after = (one.site_costs("code-growth") for one in (code_of(level), unlimited))
    made_room = min(level.sites(), key=lambda name: after[name] - before[name])
    most = cost(unlimited, "code-growth")
    assert after[made_room] < before[made_room] and most > 1

    def is_slow(code: CodegenSession) -> bool:
        return any(text.startswith(f"{made_room}: ") for text in code.opened.trace)

    def slower(code: CodegenSession, objective: str, site: str = WHOLE_PROGRAM) -> float:
        return 2.0 if objective == "slowdown" and is_slow(code) else cost(code, objective, site)

    def slower_by_function(code: CodegenSession, objective: str) -> dict[str, float]:
        found = dict(costs(code, objective))
        return found | {made_room: 2.0} if objective == "slowdown" and is_slow(code) else found

    monkeypatch.setattr(CodegenSession, "cost", slower)
    monkeypatch.setattr(CodegenSession, "costs", slower_by_function)
    goal = f"loaded-bytes while slowdown<=1.5 and code-growth<={most}"
    code = code_of(short_search(level, goal, LARGER, always).session)
    assert _is_joined(code) and not is_slow(code)
    assert cost(code, "code-growth") <= most
    assert cost(code, "loaded-bytes") < 0.95 * cost(code_of(level), "loaded-bytes")


def test_its_trace_leads_to_the_same_object(session: CodegenSession) -> None:
    found = short_search(session, GOAL, SETS[:1], always)
    again = session.fork()
    again.replay(tuple(found.session.trace))
    assert again.object_code() == code_of(found.session).object_code()


def test_time_limits_the_sets_but_not_the_joined_object(
    session: CodegenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [10.0]
    generate = Generations.generate

    def takes_two_seconds(*arguments: object, **named: object) -> object:
        left[0] -= 2
        return generate(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Generations, "generate", takes_two_seconds)

    def tried(seconds: float, least: int = 1) -> int:
        fresh = TASK.open(session.opened.origin.program)
        assert isinstance(fresh, CodegenSession)
        fresh.measure(GOAL)
        fresh.stock()
        left[0] = seconds
        found = short_search(fresh, "loaded-bytes", SETS, lambda: left[0], least)
        return found.evaluations

    # A set takes 2 s, and so does the joined object: 10 s are enough for four sets and that.
    assert [tried(seconds) for seconds in (-1.0, 0.0, 5.9, 6.0, 10.0)] == [2, 2, 2, 3, 5]
    assert [tried(seconds, least=2) for seconds in (-1.0, 6.0, 10.0)] == [3, 3, 5]


REPEATING = "extern volatile int out[99]; int g(int *);\n" + "".join(
    f"int f{i}(int *p) {{ out[7] = p[3] * 5; int n = g(p); while (n--) out[n] += {i}; return p[{i}]; }}\n"
    for i in range(6)
)


def repeating(folder: Path, *flags: str) -> Session:
    """Return a program after the passes of -Oz from which LLVM's outliner makes functions."""
    (folder / "repeating.c").write_text(REPEATING)
    opened = PASSES_AND_CODEGEN.open(
        load_program(folder / "repeating.c", ("--target=aarch64-linux-gnu", *flags))
    )
    opened.replay(("clang<Oz>",))
    return opened


@pytest.mark.parametrize("begun", [True, False])
def test_decisions_on_the_whole_program_come_before_each_variant(begun: bool, tmp_path: Path) -> None:
    opened = repeating(tmp_path)
    if begun:
        opened.replay((BEGIN,))
    variants: list[Trace] = [("skip(machine-scheduler)",), ("skip(early-machinelicm)", "order(0)")]
    if not begun:
        variants = [(BEGIN, *variants[0]), ("sink", BEGIN, *variants[1]), ("sink",)]
    without = short_search(opened, "loaded-bytes", variants, always)
    found = short_search(opened, "loaded-bytes", variants, always, everywhere=OUTLINE[-1:])
    assert found.cost < without.cost
    assert found.session.trace.count(OUTLINE[-1]) == 1
    assert found.evaluations == without.evaluations + 1
    state = opened.fork()
    state.replay(found.session.trace[len(opened.trace) :])
    assert state.measure("loaded-bytes") == found.cost


def test_decisions_on_the_whole_program_that_do_not_help_are_left_out(tmp_path: Path) -> None:
    opened = repeating(tmp_path, "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
    found = short_search(opened, "loaded-bytes", [(BEGIN, "order(0)")], always, everywhere=OUTLINE[-1:])
    assert OUTLINE[-1] not in found.session.trace


def test_the_same_session_stays_if_nothing_is_smaller(session: CodegenSession) -> None:
    found = short_search(session, GOAL, [()], always)
    assert (found.session, found.cost) == (session, session.measure(GOAL))
    assert found.evaluations == 1


def test_a_crash_ends_the_search_with_what_it_has(
    session: CodegenSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    generate = Generations.generate
    calls = []

    def crashes_later(*arguments: object, **named: object) -> object:
        calls.append(arguments)
        if len(calls) > 1:
            raise CompilerCrash("code generation: later")
        return generate(*arguments, **named)  # type: ignore[arg-type]

    fresh = TASK.open(session.opened.origin.program)
    assert isinstance(fresh, CodegenSession)
    fresh.measure(GOAL)
    fresh.stock()
    monkeypatch.setattr(Generations, "generate", crashes_later)
    found = short_search(fresh, "loaded-bytes", SETS, always)
    assert (found.evaluations, found.crashes) == (1, 1)
    assert found.cost < fresh.measure("loaded-bytes")


def test_remembered_traces_are_whole_objects(session: CodegenSession) -> None:
    once = short_search(session, GOAL, SETS[:2], always)
    trace = tuple(once.session.trace)
    again = short_search(session, GOAL, (), always, remembered=[trace])
    assert (again.session.trace, again.cost) == (once.session.trace, once.cost)
    assert short_search(session, GOAL, SETS[:2], always, remembered=[trace]).cost == once.cost


def test_a_module_without_functions_has_costs() -> None:
    program = Program("data", "llvm", b'target triple = "x86_64-unknown-linux-gnu"\n@x = global i32 7\n')
    opened = TASK.open(program)
    assert isinstance(opened, CodegenSession)
    goal = f"{GOAL} and stack-growth<=1.5"
    found = short_search(opened, goal, SETS[:1], always)
    assert found.session is opened


def test_code_that_is_known_is_not_generated(session: CodegenSession) -> None:
    known = session.stock()
    module = replace(session.opened.origin.program)
    fresh = TASK.open(module)
    assert isinstance(fresh, CodegenSession)
    fresh.generations.know(known.code, known.call_costs)
    assert fresh.stock().code == known.code
    assert fresh.stock().executed == known.executed
