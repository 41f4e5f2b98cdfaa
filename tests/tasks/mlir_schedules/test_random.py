"""Random schedules: whatever MLIR does of them, nothing wrong is accepted, and this process lives on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import CompilerCrash, CompilerTimeout, Miscompiled
from burnish.core.session import Session
from burnish.tasks.mlir_schedules import TASK, bindings
from burnish.tasks.mlir_schedules.kernel import LoweringFailed
from burnish.tasks.mlir_schedules.ops import scan
from burnish.tasks.mlir_schedules.payload import LOOP, SITE, TransformFailed
from burnish.tasks.mlir_schedules.session import ScheduleSession
from burnish.tasks.mlir_schedules.sites import parent_of
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import GIB, Limits, Worker
from tests.tasks.mlir_schedules.small import SMALL, opened, small

LIMITS = Limits(deadline_seconds=60.0, memory_bytes=4 * GIB)
FAMILIES = tuple(name for name in SMALL if name not in ("product", "padded", "columns", "bias", "vector"))
OUTCOMES = (TransformFailed, LoweringFailed, Miscompiled, CompilerTimeout, CompilerCrash)
KINDS = np.array([text.partition("(")[0] for text in TASK.actions])
AT_CURSOR = 0.7
OFTEN = {"tile": 4, "vectorize": 4, "pack": 4, "fuse": 4, "hoist": 4, "unroll": 4, "done": 0}


def step(session: Session, rng: np.random.Generator) -> bool:
    """Apply a random action, its kind before its parameters; False where there is none.

    Seven of ten are at the cursor, the others at any site: those that are born behind the cursor, too.
    """
    site = "" if rng.random() < AT_CURSOR else str(rng.choice(session.sites()))
    legal = np.flatnonzero(session.legal(site))
    kinds = [kind for kind in dict.fromkeys(KINDS[legal]) for _ in range(OFTEN.get(kind, 1))]
    if not kinds:
        return False
    kind = kinds[rng.integers(len(kinds))]
    session.apply(int(rng.choice(legal[KINDS[legal] == kind])), site)
    return True


def outcome(session: Session, rng: np.random.Generator) -> str:
    """Build a random schedule and measure it, which compares what it computes; return what came of it."""
    try:
        for _ in range(int(rng.integers(3, 24))):
            step(session, rng)
        assert session.measure("seconds") > 0
    except CompilerCrash as error:
        assert isinstance(error, OUTCOMES)
        return type(error).__name__
    return "measured"


def outcomes(count: int, seed: int, log: Path | None = None) -> Counter[str]:
    """Return how often each outcome was that of a random schedule; what fails is appended to a file."""
    worker, found = Worker(LIMITS), Counter[str]()
    try:
        for number in range(count):
            name = FAMILIES[number % len(FAMILIES)]
            session = Sandbox(TASK.open, small(name), worker=worker, actions=TASK.actions)
            came = outcome(session, np.random.default_rng([seed, number]))
            found[came] += 1
            if log and came != "measured":
                with log.open("a") as file:
                    file.write(f"{number} {name} {came} {session.trace}\n")
            session.close()
    finally:
        worker.close()
    return found


def test_random_schedules_compute_what_numpy_does_or_fail_by_class() -> None:
    found = outcomes(2 * len(FAMILIES), 0)
    assert found.total() == 26
    assert found["measured"] > 17
    assert not found["Miscompiled"]


@pytest.mark.slow
def test_many_random_schedules_do(tmp_path: Path) -> None:
    found = outcomes(2000, 1, tmp_path / "failed.txt")
    print(dict(found))
    assert found.total() == 2000
    assert found["measured"] > 1900
    assert found["Miscompiled"] <= 2  # told: MLIR's bufferization writes over a value in one of them


def nests(session: ScheduleSession) -> Iterator[tuple[str, list[str]]]:
    """Yield the sites in the module, with the loops that are around each there, outermost first."""
    ir = bindings.bindings("ir")
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if SITE in operation.attributes:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    session.payload.module.operation.walk(visit)
    for operation in found:
        around: list[str] = []
        parent = operation.parent
        while parent.name != "builtin.module":
            if LOOP in parent.attributes:
                around.insert(0, parent.attributes[LOOP].value)
            parent = parent.parent
        yield operation.attributes[SITE].value, around


@pytest.mark.parametrize("name", SMALL)
def test_what_is_told_of_ops_is_what_the_module_has(name: str) -> None:
    """A tile's extents are computed and not looked up: they are those of MLIR."""
    rng = np.random.default_rng(len(name))
    for _ in range(3):
        session = opened(name)
        for _ in range(12):
            try:
                step(session, rng)
            except TransformFailed:
                break
            told, there = session.ops.by_name, scan(session.payload.module)
            assert {site for site in told if told[site].stage == "op"} == set(there), session.trace
            for site, around in nests(session):
                op = told[site].op
                assert [loop.name for loop in told[site].loops] == around, session.trace
                assert (op.extents, op.reduces) == (there[site].extents, there[site].reduces), session.trace
                assert op.shapes == there[site].shapes or not op.is_plain, session.trace
                assert op.accesses == there[site].accesses, session.trace
                assert op.computes == there[site].computes, session.trace
                read = [name for name in op.reads if name and told[name].stage == "op"]
                assert read == list(filter(None, there[site].reads)) or parent_of(site) != site, session.trace
