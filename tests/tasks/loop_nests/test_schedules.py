"""Whatever is legal computes what NumPy does; what does not is found, and costs what failures cost."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from burnish.core.errors import Miscompiled
from burnish.core.program import Program
from burnish.envs.env import Env
from burnish.tasks.loop_nests import TASK, kernel
from burnish.tasks.loop_nests.families import FAMILIES
from burnish.tasks.loop_nests.kernel import CodeTooLong, CompiledNest
from burnish.tasks.loop_nests.lowering.lower import lower
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.outputs import UNCHANGED, describe
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.session import NestSession, open_nest
from burnish.tasks.loop_nests.tree import Tree
from burnish.workers.worker import Worker
from tests.tasks.loop_nests.nests import small

ODD = [(11, 9, 13, 5, 3, 4), (16, 8, 12, 4, 3, 2), (7, 33, 5, 2, 4, 3), (24, 17, 8, 3, 2, 5)]
PRODUCT = parse("f32 m=9 n=17 k=5\nc[m,n] += a[m,k] * b[k,n]").program("product")


def wander(session: NestSession, rng: np.random.Generator, steps: int) -> None:
    """Do random things; each kind is as likely, though there are many splits."""
    for _ in range(steps):
        site = str(rng.choice(session.sites()))
        legal = np.flatnonzero(session.legal(site))
        kinds = sorted({session.actions[number].partition("(")[0] for number in legal})
        if kinds:
            kind = rng.choice(kinds)
            among = [number for number in legal if session.actions[number].partition("(")[0] == kind]
            session.apply(int(rng.choice(among)), site)


def wrong_schedules(nest: Nest, seed: int, count: int) -> list[str]:
    """Return those of some random schedules that do not compute what NumPy does, with what is wrong."""
    rng, wrong = np.random.default_rng(seed), []
    for _ in range(count):
        session = open_nest(nest.program("nest"), threads=2)
        wander(session, rng, int(rng.integers(1, 16)))
        try:
            session.shared.bench.check(CompiledNest(session.tree, session.shared.machine))
        except CodeTooLong:
            continue
        except Miscompiled as error:
            wrong.append(f"{nest}{session.tree}\n{session.trace}\n{error}")
    return wrong


@pytest.mark.parametrize("family", FAMILIES)
def test_schedules_compute_what_numpy_does(family: str) -> None:
    assert not wrong_schedules(small(family), 0, 4)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "sizes"), [*itertools.product(FAMILIES, ODD)])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_many_schedules_compute_what_numpy_does(family: str, sizes: tuple[int, ...], dtype: str) -> None:
    """A process of its own: one that dies is a failure of its family, not of the test run."""
    nest = small(family, sizes)
    nest = parse(str(nest).replace("f32", dtype, 1))
    worker = Worker()
    try:
        assert not worker.call(wrong_schedules, nest, 1, 64)
    finally:
        worker.close()


@pytest.fixture
def wrong_unrolling(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unrolled loops take the maximum in place of the sum."""

    def lowered(tree: Tree, *rest: int) -> object:
        if "[unroll]" in str(tree):
            (statement,) = tree.nest.statements
            tree = replace(tree, nest=replace(tree.nest, statements=(replace(statement, reduce="max"),)))
        return lower(tree, *rest)

    monkeypatch.setattr(kernel, "lower", lowered)


@pytest.mark.usefixtures("wrong_unrolling")
def test_wrong_schedule_is_found() -> None:
    session = open_nest(PRODUCT)
    assert session.measure("seconds") > 0
    session.replay(["k: unroll"])
    with pytest.raises(Miscompiled, match=r"c\[0, 0\] is .*, not .*; 15\d of 153 elements differ"):
        session.measure("seconds")


@pytest.mark.usefixtures("wrong_unrolling")
def test_wrong_schedule_costs_what_failures_cost() -> None:
    env = Env(TASK, PRODUCT, dense=True, sites=3, limits=None, failure_reward={"Miscompiled": -7.0})
    env.reset()
    _, reward, terminated, _, info = env.step(3 * len(TASK.actions) + TASK.actions.index("unroll"))
    assert (reward, terminated, info["failure"]) == (-7.0, True, "Miscompiled")
    assert not info["mask"].any()


def test_nothing_that_was_there_counts() -> None:
    """Whatever an output holds before, it is written."""
    session = open_nest(PRODUCT)
    for array in session.shared.bench.arrays.values():
        assert array.ctypes.data % 64 == 0
    session.shared.bench.arrays["c"].fill(np.nan)
    session.measure("seconds")
    assert np.isfinite(session.shared.bench.arrays["c"]).all()


def test_time_is_remembered_until_it_is_asked_for_again() -> None:
    session = open_nest(PRODUCT)
    first = session.measure("seconds")
    fork = session.fork()
    assert fork.measure("seconds") == first == session.seconds()
    assert len({session.measure("seconds") for _ in range(8)}) > 1


def test_loops_that_stay_as_they_are_written_are_said_to() -> None:
    session = open_nest(PRODUCT)
    result = cast(Any, SimpleNamespace(cost=1e-6, baselines={"naive": 1e-6}))
    assert describe(PRODUCT, session, result).endswith(f"\n{UNCHANGED}")
    session.replay(["k: unroll"])
    assert UNCHANGED not in describe(PRODUCT, session, result)


def test_loops_have_no_cost_of_their_own() -> None:
    session = open_nest(PRODUCT)
    assert (session.site_costs("seconds"), session.measure("seconds", "m")) == ({}, 0.0)


def test_program_is_the_same_wherever_it_comes_from() -> None:
    program = Program("other", "nest", str(parse(PRODUCT.content.decode())).encode())
    assert program.digest == PRODUCT.digest
