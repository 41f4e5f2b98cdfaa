"""Whatever the compiler does or is given, the caller survives, and nothing is left behind."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from burnish.core.errors import (
    BurnishError,
    CompilerCrash,
    CompilerMemory,
    CompilerTimeout,
    NotMeasurable,
    ProgramError,
)
from burnish.core.program import Program
from burnish.core.trace import WHOLE_PROGRAM
from burnish.tasks.llvm_passes import TASK, Options, make_task
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import GIB, Limits, Worker
from tests.conformance.failures import impatient
from tests.conftest import OpenSandbox
from tests.evaluation.broken_passes import broken_task
from tests.sources import FILES, program

LIMITS = Limits(deadline_seconds=10, memory_bytes=GIB)


def dependent_additions(count: int) -> Program:
    """Return a sum of one variable with itself: `reassociate` needs time quadratic in its length."""
    lines = [f"  %v{i} = add i64 %v{i - 1}, %x" for i in range(1, count)]
    text = "\n".join(
        ["define i64 @f(i64 %x) {", "  %v0 = add i64 %x, 1", *lines, f"  ret i64 %v{count - 1}", "}", ""]
    )
    return Program("additions", "llvm", text.encode())


def exploding_calls(depth: int) -> Program:
    """Return functions that each demand the next one twice: 2^depth calls when that is honoured."""
    lines = [
        f"define i64 @f{i}(i64 %x) alwaysinline {{\n  %a = call i64 @f{i + 1}(i64 %x)\n"
        f"  %b = call i64 @f{i + 1}(i64 %a)\n  ret i64 %b\n}}"
        for i in range(depth)
    ]
    last = f"define i64 @f{depth}(i64 %x) alwaysinline {{\n  %y = mul i64 %x, %x\n  ret i64 %y\n}}\n"
    return Program("calls", "llvm", "\n".join([*lines, last]).encode())


def test_pass_that_hangs_is_stopped(open_sandbox: OpenSandbox) -> None:
    session = open_sandbox(TASK.open, dependent_additions(250_000), Limits(deadline_seconds=300))
    before = session.digest()
    with impatient(session._worker), pytest.raises(CompilerTimeout, match=r"no answer within 0\.5 seconds"):
        session.apply(session.index("reassociate"))
    assert (session.digest(), session.trace) == (before, [])


def test_pass_that_allocates_without_end_is_stopped(open_sandbox: OpenSandbox) -> None:
    task = make_task(Options(always_inline=False))
    session = open_sandbox(task.open, exploding_calls(40), Limits(memory_bytes=GIB // 16))
    before = session.digest()
    with pytest.raises(CompilerMemory, match=r"out of memory"):
        session.apply(session.index("always-inline"))
    assert (session.digest(), session.trace) == (before, [])


def test_module_that_a_pass_broke_is_a_crash_where_it_is_copied(open_sandbox: OpenSandbox) -> None:
    task = broken_task("trigger-verifier-error")
    session = open_sandbox(task.open, program("machine.c"), LIMITS)
    before = session.digest()
    for use in (session.fork, lambda: session.cost("text-bytes")):
        session.apply(session.index("trigger-verifier-error"))
        with pytest.raises(CompilerCrash, match="a pass broke the module: its bitcode cannot be read"):
            use()
        session.trace.clear()
        assert session.digest() == before  # in a new process


def test_program_that_cannot_be_opened_within_the_limits_is_an_error(open_sandbox: OpenSandbox) -> None:
    with pytest.raises(ProgramError, match=r"calls: .*out of memory"):
        open_sandbox(TASK.open, exploding_calls(40), Limits(memory_bytes=GIB // 16))


def random_actions(open_sandbox: OpenSandbox, name: str, count: int, seed: int) -> Counter[str]:
    """Apply random actions, opening the program again now and then; count what they came to."""
    rng = np.random.default_rng(seed)
    outcomes: Counter[str] = Counter()
    session = open_sandbox(TASK.open, program(name), LIMITS)
    root = session
    for step in range(count):
        if step % 25 == 0:
            session = root.fork()
        sites = (WHOLE_PROGRAM, *session.sites()[:2])
        number, action = divmod(int(rng.choice(np.flatnonzero(session.mask(sites)))), len(session.actions))
        before = list(session.trace)
        try:
            session.apply(action, sites[number])
            assert session.trace[:-1] == before
            outcomes["applied"] += 1
            assert session.measure("ir-instructions") > 0
        except CompilerCrash as error:
            assert "\n" not in str(error)
            outcomes[type(error).__name__] += 1
            assert len(session.trace) in (len(before), len(before) + 1)
    session.verify()
    root.shutdown()
    return outcomes


@pytest.mark.parametrize("seed", range(len(FILES)))
def test_random_actions_do_no_harm(open_sandbox: OpenSandbox, seed: int) -> None:
    outcomes = random_actions(open_sandbox, FILES[seed], 35, seed)
    assert outcomes["applied"] >= 30


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_10000_random_actions_do_no_harm(open_sandbox: OpenSandbox, seed: int) -> None:
    outcomes = random_actions(open_sandbox, FILES[seed % len(FILES)], 500, 100 + seed)
    assert outcomes["applied"] >= 450


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """Truncate, flip bits, or overwrite a stretch."""
    changed = bytearray(content)
    match int(rng.integers(3)):
        case 0:
            return bytes(changed[: int(rng.integers(len(changed)))])
        case 1:
            for _ in range(8):
                changed[int(rng.integers(4, len(changed)))] ^= 1 << int(rng.integers(8))
        case _:
            at = int(rng.integers(4, len(changed) - 16))
            changed[at : at + 16] = rng.bytes(16)
    return bytes(changed)


def feed_mutations(count: int, seed: int) -> Counter[str]:
    """Open mutated bitcode and text, and optimize what still opens."""
    rng = np.random.default_rng(seed)
    worker = Worker(LIMITS)
    outcomes: Counter[str] = Counter()
    for number in range(count):
        content = program(FILES[number % len(FILES)]).content
        if number % 4 == 3:
            content = TASK.open(program(FILES[number % len(FILES)])).observe("ir").encode()  # type: ignore[union-attr]
        try:
            session = Sandbox(TASK.open, Program("input", "llvm", mutated(content, rng)), worker=worker)
            session.replay(["clang<Oz>"])
            session.measure("text-bytes")
            session.close()
            outcomes["optimized"] += 1
        except BurnishError as error:
            assert isinstance(error, ProgramError | CompilerCrash | NotMeasurable)
            assert "\n" not in str(error)
            outcomes[type(error).__name__] += 1
    worker.close()
    return outcomes


@pytest.mark.usefixtures("nothing_left")
def test_mutated_input_does_no_harm() -> None:
    outcomes = feed_mutations(80, seed=0)
    assert outcomes["ProgramError"] > 40


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("seed", range(1, 11))
def test_1000_mutated_inputs_do_no_harm(seed: int) -> None:
    outcomes = feed_mutations(100, seed)
    assert outcomes.total() == 100
