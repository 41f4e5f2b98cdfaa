"""The expected run time: what static frequencies say of loops, calls and functions called in loops."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from burnish import _native
from burnish.core.program import Program
from burnish.llvm.modules.objectives import CODE_PRICE, slowdown, slowdowns
from burnish.llvm.modules.origin import Body, CallCosts, call_times
from burnish.llvm.modules.session import open_baseline, open_session
from burnish.llvm.toolchain import compile_to_bitcode
from burnish.search import Budget, search
from burnish.search.problem import Problem
from burnish.tasks.llvm_passes import TASK
from tests.sources import program

LOOPS = """
static __attribute__((noinline)) int leaf(int x) { return x * 3 + 1; }
int once(int x) { return leaf(x); }
int ten(int x) { for (int i = 0; i < 10; i++) x = leaf(x); return x; }
int nested(int x) { for (int i = 0; i < 99; i++) for (int j = 0; j < 99; j++) x = leaf(x); return x; }
int again(int x) { return x ? again(x - 1) + leaf(x) : 0; }
int elsewhere(int);
int calls(int x) { return elsewhere(x); }
"""
MANY_RETURNS = (
    "int greater(const unsigned char *a, const unsigned char *b, int n) {"
    + "if (*a != *b) return *a > *b; a++; b++;" * 12
    + "do { if (*a != *b) return *a > *b; a++; b++; BODY } while (--n); return 0; }"
)
LONG = "a[n] ^ b[n + 1] ? a += b[n] : 0; b += a[3 * n] * (n - *a); a += b[5 * n] ^ (n + *b);"
WAYS_OUT = """
int f(int *p, int n) {
  int sum = 0;
  for (int i = 0; i < n; i++) { int x = p[i]; WAY sum += x * x; p[i] = sum ^ i; }
  return sum;
}
"""
RARE = """
int work(int *p, int n, int x) {
  if (__builtin_expect(x == 7, EXPECTED))
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) p[i] = p[j] / x;
  return p[0];
}
"""


def time_of(function: str, folder: Path, source: str) -> float:
    """Return the expected time of a call at -Oz."""
    return open_baseline(compiled(folder, source), "Oz").call_costs().of_call[function]


def compiled(folder: Path, source: str, *options: str) -> Program:
    (folder / "a.c").write_text(source)
    return Program("a.c", "llvm", compile_to_bitcode(folder / "a.c", options))


def test_loops_and_what_they_call_weigh_more(tmp_path: Path) -> None:
    costs = dict(open_baseline(compiled(tmp_path, LOOPS), "Oz").module.expected_run_time())
    assert costs.keys() == {"leaf", "once", "ten", "nested", "again", "calls"}
    assert 0 < costs["leaf"] < costs["once"] < costs["ten"] < costs["nested"]
    assert costs["ten"] > 8 * costs["leaf"]
    assert costs["nested"] > 8 * costs["ten"]


def test_what_is_expected_to_be_rare_weighs_little(tmp_path: Path) -> None:
    rare, common = (time_of("work", tmp_path, RARE.replace("EXPECTED", value)) for value in ("0", "1"))
    assert common > 20 * rare


def costs_of(times: dict[str, float], *repeating: str) -> CallCosts:
    """Return costs of calls with these times."""
    return CallCosts(times, frozenset(repeating), {}, {})


def test_a_function_is_compared_with_itself() -> None:
    reference = costs_of({"a": 10.0, "b": 10.0, "gone": 5.0, "empty": 0.0})
    now = costs_of({"a": 5.0, "b": 20.0, "new": 99.0, "empty": 3.0})
    assert slowdowns(now, reference) == {"a": 0.5, "b": 2.0}


def bodies_of(*bodies: tuple[str, float, float, dict[str, float]]) -> CallCosts:
    """Return costs of functions of a name, own time here and by LLVM, and calls; callees come first."""
    found = {name: Body(number, own, calls) for number, (name, own, _, calls) in enumerate(bodies)}
    by_llvm = {name: own for name, _, own, _ in bodies}
    return replace(costs_of(call_times(found)), own=by_llvm, bodies=found)


def test_calls_cost_what_their_callees_do() -> None:
    leaf, recursive = Body(0, 7.0, {}), Body(1, 5.0, {"recursive": 0.5, "leaf": 2.0})
    bodies = {"leaf": leaf, "recursive": recursive, "root": Body(2, 1.0, {"recursive": 3.0, "": 1.0})}
    of_recursive = 5 + 0.5 * _native.UNKNOWN_CALLEE + 2 * 7
    assert call_times(bodies) == {
        "leaf": 7,
        "recursive": of_recursive,
        "root": 1 + 3 * of_recursive + _native.UNKNOWN_CALLEE,
    }


@pytest.mark.parametrize(
    ("own", "by_llvm", "calls", "expected"),
    [
        (100.0, 50.0, {"leaf": 4.0}, 100 + 4 * 10),
        (300.0, 50.0, {"leaf": 14.0}, 100 + 4 * 10),  # three times the frequency
        (300.0, 40.0, {"leaf": 14.0}, 100 + 4 * 10),
        (300.0, 60.0, {"leaf": 14.0}, 120 + 4 * 10),  # LLVM expects it, too
        (300.0, 900.0, {"leaf": 14.0}, 300 + 4 * 10),
        (300.0, 50.0, {"leaf": 4.0}, 300 + 4 * 10),
        (90.0, 50.0, {"leaf": 0.0}, 90 + 4 * 10),
        (300.0, 50.0, {"leaf": 14.0, "other": 3.0}, 100 + 14 / 3 * 10 + _native.UNKNOWN_CALLEE),
        (90.0, 50.0, {"leaf": 2.0, "other": 3.0}, 90 + 2 * 10 + 3 * _native.UNKNOWN_CALLEE),
        (300.0, 50.0, {"other": 14.0}, 300 + 14 * _native.UNKNOWN_CALLEE),
        (300.0, 50.0, {}, 300),
    ],
)
def test_calls_say_how_much_the_frequency_of_loops_has_grown(
    own: float, by_llvm: float, calls: dict[str, float], expected: float
) -> None:
    leaf: tuple[str, float, float, dict[str, float]] = ("leaf", 10.0, 10.0, {})
    reference = bodies_of(leaf, ("f", 100.0, 50.0, {"leaf": 4.0}))
    now = bodies_of(leaf, ("f", own, by_llvm, calls))
    assert slowdowns(now, reference) == {"leaf": 1, "f": pytest.approx(expected / 140)}


def with_trips(
    name: str, loops: tuple[int, int], own: float, calls: dict[str, float], *others: tuple[str, Body]
) -> CallCosts:
    """Return costs of a function of 100 instructions, and of `own` with the known iterations of its loops.

    `loops` are those with known iterations, and those without.
    """
    known, unknown = loops
    by_trips = Body(9, own, calls, unknown, known) if known else None
    body = Body(9, 100.0, dict.fromkeys(calls, 4.0), unknown, known, by_trips)
    found = {**dict(others), name: body}
    return replace(costs_of(call_times(found), name), own={name: 100.0}, bodies=found)


def test_loops_turn_as_often_as_both_codes_say() -> None:
    """Seen by 4 iterations of each loop, all of these are equal."""
    leaf = ("leaf", Body(0, 10.0, {}))
    reference = with_trips("f", (2, 1), 2000.0, {"leaf": 256.0}, leaf)
    slower = with_trips("f", (2, 1), 2500.0, {"leaf": 256.0}, leaf)
    assert slowdowns(slower, reference) == {"leaf": 1, "f": pytest.approx(1.25)}  # by itself
    oftener = with_trips("f", (2, 1), 2000.0, {"leaf": 256.0, "other": 256.0}, leaf)
    more = 256 * _native.UNKNOWN_CALLEE
    assert slowdowns(oftener, reference)["f"] == pytest.approx(1 + more / (2000 + 256 * 10))
    straight = {"leaf": leaf[1], "f": Body(9, 1500.0, {"leaf": 256.0}, unknown_loops=1)}
    unrolled = replace(costs_of(call_times(straight), "f"), bodies=straight)
    assert slowdowns(unrolled, reference)["f"] == pytest.approx((1500 + 256 * 10) / (2000 + 256 * 10))
    unknown = with_trips("f", (1, 2), 900.0, {"leaf": 256.0}, leaf)
    assert slowdowns(unknown, reference) == {"leaf": 1, "f": 1}
    assert slowdowns(reference, unknown)["f"] == pytest.approx(2000 / 900)
    fewer = with_trips("f", (2, 0), 2500.0, {"leaf": 256.0}, leaf)
    assert slowdowns(fewer, reference)["f"] == pytest.approx(1.25)
    without = with_trips("f", (0, 0), 0.0, {"leaf": 4.0}, leaf)
    assert slowdowns(reference, without) == {"leaf": 1, "f": 1}
    assert slowdowns(without, reference)["f"] == pytest.approx((100 + 256 * 10) / (2000 + 256 * 10))


def test_a_function_may_have_lost_all_of_its_loops() -> None:
    reference = with_trips("f", (1, 0), 400.0, {})
    straight = with_trips("f", (0, 0), 0.0, {})
    assert slowdowns(straight, reference) == {"f": pytest.approx(100 / 400)}
    assert slowdowns(reference, straight) == {"f": pytest.approx(400 / 100)}


def test_a_part_begins_as_slow_as_its_program_made_it() -> None:
    """The reference of a part is the function's code there, which may have used up the limit."""
    code = with_trips("f", (1, 0), 2000.0, {})
    reference = replace(code, of_call={"f": code.of_call["f"] / 1.04}, divisor=1.04)
    assert slowdowns(code, reference) == {"f": pytest.approx(1.04)}
    slower = with_trips("f", (1, 0), 2060.0, {})
    assert slowdowns(slower, reference) == {"f": pytest.approx(1.04 * 1.03)}


def test_known_iterations_are_those_of_the_source(tmp_path: Path) -> None:
    bodies = open_baseline(compiled(tmp_path, LOOPS), "Oz").call_costs().bodies
    ten, nested = (bodies[name].by_trips for name in ("ten", "nested"))
    assert ten and nested
    assert ten.calls["leaf"] == pytest.approx(10, abs=1)
    assert nested.calls["leaf"] == pytest.approx(99 * 99, rel=0.03)
    assert bodies["ten"].calls["leaf"] == 4
    assert bodies["nested"].calls["leaf"] == 16
    assert [(one.known_loops, one.unknown_loops) for one in (ten, nested)] == [(1, 0), (2, 0)]
    assert all(bodies[name].by_trips is None for name in ("leaf", "once", "calls"))


MACHINE = """
int step(int), other(int);
int run(const char *code, int x) {
  for (;;)
    switch (*code++) {
CASES
    default: return x;
    }
}
int once(char code, int x) {
  switch (code) {
CASES
  default: return x;
  }
}
"""


def test_a_switch_in_a_loop_is_an_interpreter(tmp_path: Path) -> None:
    def interpreters(cases: int) -> frozenset[str]:
        lines = (f"case {i}: x = {'step' if i % 2 else 'other'}(x * {i + 3}); break;" for i in range(cases))
        source = MACHINE.replace("CASES", "\n".join(lines))
        return open_baseline(compiled(tmp_path, source), "Oz").call_costs().interpreters

    assert interpreters(12) == {"run"}
    assert interpreters(4) == frozenset()


def test_an_interpreters_own_time_is_all_of_the_time() -> None:
    """With its callees it is 1.05 times as slow, and as half of the time 1.025 times."""
    other: tuple[str, float, float, dict[str, float]] = ("other", 10.0, 10.0, {})
    reference = bodies_of(other, ("run", 100.0, 50.0, {"other": 30.0}))
    now = bodies_of(other, ("run", 120.0, 60.0, {"other": 30.0}))
    now = replace(now, repeating=frozenset({"run"}))
    ratios = slowdowns(now, reference)
    assert ratios == {"other": 1, "run": pytest.approx(420 / 400)}
    assert slowdown(ratios, now, reference) == pytest.approx(((1 + 1.05**4) / 2) ** 0.25)
    interpreter = replace(reference, interpreters=frozenset({"run"}))
    ratios = slowdowns(now, interpreter)
    assert ratios == {"other": 1, "run": pytest.approx(1.2)}
    assert slowdown(ratios, now, interpreter) == pytest.approx(1.2)
    assert slowdowns(interpreter, interpreter)["run"] == 1


def test_a_state_is_as_fast_as_itself(tmp_path: Path) -> None:
    costs = open_baseline(compiled(tmp_path, LOOPS), "Oz").call_costs()
    assert slowdowns(costs, costs) == dict.fromkeys(costs.of_call, 1.0)
    assert costs.of_call["nested"] > 4 * costs.of_call["ten"] > 16 * costs.of_call["leaf"]


def test_a_slowdown_is_the_mean_of_order_4() -> None:
    nothing = costs_of({})
    assert slowdown({"a": 1.0, "b": 1.0}, nothing, nothing) == 1
    assert slowdown({"a": 0.5, "b": 2.0}, nothing, nothing) == pytest.approx(((1 + 2**4) / 2) ** 0.25)
    assert slowdown({}, nothing, nothing) == 1


def test_a_function_with_loops_may_be_half_of_the_time() -> None:
    """Of a hundred functions, one that is 1.2 times as slow moves the mean by a thousandth."""
    ratios = {"hot": 1.2} | {f"f{i}": 1.0 for i in range(99)}
    assert slowdown(ratios, costs_of({}), costs_of({})) < 1.003
    assert slowdown(ratios, costs_of({}, "hot", "f0"), costs_of({})) == pytest.approx(1.1)
    assert slowdown({"hot": 0.5}, costs_of({}, "hot"), costs_of({})) == 1


def test_a_loop_counts_that_many_returns_come_before(tmp_path: Path) -> None:
    """As in bzip2's mainGtU: each comparison is guessed to return half of the time."""
    short, long = (time_of("greater", tmp_path, MANY_RETURNS.replace("BODY", body)) for body in ("", LONG))
    assert long > 1.5 * short


def test_more_ways_out_of_a_loop_do_not_make_it_shorter(tmp_path: Path) -> None:
    plain, left = (
        time_of("f", tmp_path, WAYS_OUT.replace("WAY", way))
        for way in ("", "if (x == 7) break; if (x == p[9]) return 3;")
    )
    assert left > plain


def test_what_repeats_is_known(tmp_path: Path) -> None:
    session = open_baseline(compiled(tmp_path, LOOPS), "Oz")
    assert session.call_costs().repeating == {"ten", "nested", "again"}


def test_what_goes_through_memory_is_slower() -> None:
    reference = open_baseline(program("matrix.c"), "Oz")
    assert reference.measure("slowdown") == 1
    session = open_session(program("matrix.c"))
    session.replay(["clang<Oz>"])
    assert session.measure("slowdown") == 1
    shares = session.site_costs("slowdown")
    assert set(shares) == set(session.module.functions)
    assert set(shares.values()) == {1.0}
    session.replay(["reg2mem"])
    assert session.measure("slowdown") > 1.1


def test_beyond_the_limit_a_site_counts_more_than_double() -> None:
    session = open_session(program("matrix.c"))
    session.replay(["clang<Oz>", "reg2mem"])
    costs, shares = session.site_costs("loaded-bytes"), session.site_costs("slowdown")
    limited = session.site_costs("loaded-bytes while slowdown<=1.05")
    assert limited.keys() == costs.keys()
    for name, share in shares.items():
        assert (limited[name] == costs[name]) == (share <= 1.05)
        assert share <= 1.05 or limited[name] > 2 * costs[name]


def test_a_search_stays_within_the_limit() -> None:
    goal = "loaded-bytes while slowdown<=1.05"
    problem = Problem(TASK, program("matrix.c"), goal)
    found = search(problem, Budget(evaluations=120, workers=1), method="genetic")
    session = open_session(program("matrix.c"))
    session.replay(found.trace)
    assert session.measure("slowdown") <= 1.05
    assert (
        found.cost
        == session.measure("loaded-bytes")
        <= open_baseline(program("matrix.c"), "Oz").measure("loaded-bytes")
    )


def test_expected_run_time_does_not_change_the_module() -> None:
    module = _native.Module(program("classes.cpp").content, "classes.cpp")
    before = module.digest()
    assert module.expected_run_time() == module.expected_run_time()
    assert module.digest() == before


def test_the_reference_is_the_same_whoever_comes_to_it(tmp_path: Path) -> None:
    """A session that is in that state remembers it; others make it anew."""
    there, elsewhere = open_session(program("structs.c")), open_session(program("structs.c"))
    there.replay(["clang<Oz>"])
    elsewhere.replay(["clang<O2>"])
    assert there.reference_calls() == there.call_costs() == elsewhere.reference_calls()
    assert there.reference_sizes() == elsewhere.reference_sizes()
    assert there.reference_sizes().constant == there.sizes().text_bytes + there.sizes().read_only_bytes
    assert there.cost("slowdown") == there.cost("code-growth") == 1


def test_growth_is_of_code_and_constants_without_tables() -> None:
    session = open_session(program("structs.c"))
    session.replay(["clang<Oz>"])
    before = session.sizes()
    session.replay(["frame-pointer<calls=0>"])
    after = session.sizes()
    assert after.unwind_bytes != before.unwind_bytes
    grown = (after.text_bytes + after.read_only_bytes) / (before.text_bytes + before.read_only_bytes)
    assert session.cost("code-growth") == pytest.approx(grown)


def test_what_all_functions_share_has_a_price_at_each() -> None:
    goal = "loaded-bytes while code-growth<=1"
    session = open_session(program("structs.c"))
    session.replay(["clang<Oz>"])
    loaded, constant = session.costs("loaded-bytes"), session.costs("code-growth")
    assert session.site_costs(goal) == {
        name: loaded[name] + CODE_PRICE * constant[name] for name in session.sites()
    }
    assert all(0 < constant[name] < loaded[name] for name in session.sites())
    assert session.measure(goal) == session.cost("loaded-bytes")
    session.replay(["frame-pointer<calls=0>"])
    assert session.cost("code-growth") > 1
    assert session.measure(goal) > 2 * session.cost("loaded-bytes")
