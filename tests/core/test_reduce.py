"""Delta debugging: what is left still fails, and nothing more can go."""

from __future__ import annotations

import hashlib
import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.core.errors import InputError
from burnish.core.reduce import Predicate, reduce_trace, shorten
from burnish.core.trace import Trace
from burnish.core.walk import cost_after
from burnish.workers.sandbox import Sandbox
from tests.core.counting_task import TASK, counters

TRACES = st.lists(st.sampled_from("abcdefgh"), max_size=24).map(tuple)


def is_subsequence(part: Trace, whole: Trace) -> bool:
    entries = iter(whole)
    return all(entry in entries for entry in part)


def one_minimal(trace: Trace, fails: Predicate) -> bool:
    return not any(fails(trace[:i] + trace[i + 1 :]) for i in range(len(trace)))


def needs(*entries: str) -> Predicate:
    """Hold for traces with all of these in this order: what is longer fails as well."""
    return lambda trace: is_subsequence(entries, trace)


@pytest.mark.parametrize(
    ("trace", "needed"),
    [
        ("12345678", "178"),  # the example of the paper, section 3.2
        ("12345678", ""),
        ("12345678", "8"),
        ("12345678", "12345678"),
        ("a", "a"),
        ("aaaaaaa", "aaa"),
        ("x" * 40 + "ab", "ab"),
    ],
)
def test_what_is_needed_is_left(trace: str, needed: str) -> None:
    reduced = reduce_trace(tuple(trace), needs(*needed))
    assert reduced.trace == tuple(needed)
    assert reduced.minimal


@given(trace=TRACES, needed=TRACES)
def test_monotone_predicates_are_reduced_to_what_they_need(trace: Trace, needed: Trace) -> None:
    fails = needs(*needed)
    if not fails(trace):
        with pytest.raises(InputError, match="nothing to reduce"):
            reduce_trace(trace, fails)
        return
    assert reduce_trace(trace, fails).trace == needed


@given(trace=TRACES, salt=st.integers(0, 1000), share=st.integers(1, 200))
def test_any_predicate_is_reduced_to_a_failing_one_minimal_subsequence(
    trace: Trace, salt: int, share: int
) -> None:
    """As bad as it gets: whether a trace fails says nothing about its neighbours."""

    def fails(part: Trace) -> bool:
        byte = hashlib.blake2b(f"{salt}{part}".encode(), digest_size=1).digest()[0]
        return part == trace or byte < share

    reduced = reduce_trace(trace, fails)
    assert is_subsequence(reduced.trace, trace)
    assert fails(reduced.trace)
    assert reduced.minimal and one_minimal(reduced.trace, fails)


@given(trace=TRACES.filter(bool))
def test_no_trace_is_tried_twice(trace: Trace) -> None:
    tried = []

    def fails(part: Trace) -> bool:
        tried.append(part)
        return len(part) % 2 == len(trace) % 2  # never one entry fewer: 1-minimal before it begins

    reduced = reduce_trace(trace, fails)
    assert len(tried) == len(set(tried)) == reduced.tests
    assert one_minimal(reduced.trace, fails)
    assert reduced == reduce_trace(trace, fails)


@pytest.mark.parametrize("length", [8, 64, 512])
def test_one_culprit_is_found_in_logarithmic_time(length: int) -> None:
    trace = tuple(map(str, range(length)))
    for culprit in (0, length // 3, length - 1):
        reduced = reduce_trace(trace, needs(str(culprit)))
        assert reduced.tests <= 2 + 2 * (length.bit_length() - 1)


def test_worst_case_is_quadratic() -> None:
    """Every entry is needed: at most n^2 + 3n tests (the paper's proposition 12)."""
    trace = tuple(map(str, range(32)))
    assert reduce_trace(trace, lambda part: part == trace).tests <= 32**2 + 3 * 32


def test_time_limit_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    trace = tuple("abcdefghijklmnop")
    fails = needs("c", "n")
    reduced = reduce_trace(trace, fails, seconds=16)
    assert not reduced.minimal
    assert fails(reduced.trace)
    assert len(reduced.trace) < len(trace)
    assert reduced.tests <= 17


def test_without_time_the_trace_is_as_it_was() -> None:
    reduced = reduce_trace(("a", "b"), needs("a"), seconds=0)
    assert (reduced.trace, reduced.tests, reduced.minimal) == (("a", "b"), 1, False)


@pytest.mark.usefixtures("nothing_left")
def test_traces_lose_what_they_do_not_need() -> None:
    root = Sandbox(TASK.open, counters("a=8"))
    whole = ("halve", "halve", "halve", "add(1)", "subtract(1)", "subtract(1)")
    trace, cost = shorten(whole, lambda part: cost_after(root, part, "total"))
    session = root.fork()
    session.replay(trace)
    assert session.measure("total") == cost == 1
    for left_out in range(len(trace)):
        shorter = root.fork()
        shorter.replay(trace[:left_out] + trace[left_out + 1 :])
        assert shorter.measure("total") > cost
    root.shutdown()
