"""The same trace gives the same bytes, however it is run."""

from __future__ import annotations

import numpy as np
import pytest

from burnish._native import Module
from burnish.core.errors import CompilerCrash
from burnish.core.program import Program
from burnish.core.trace import WHOLE_PROGRAM
from burnish.envs.walks import wander
from burnish.llvm.modules.passes import PASSES
from burnish.llvm.modules.session import ModuleSession, open_session
from burnish.tasks.llvm_passes import TASK
from burnish.workers.sandbox import Sandbox
from burnish.workers.worker import Limits, Worker
from tests.conftest import OpenSandbox
from tests.sources import DATA, FILES, program

PIPELINES = {item.text: item.pipeline for item in PASSES}
STEPS = 10


def survivable_trace(
    open_sandbox: OpenSandbox, name: str, seed: int, *, sites: bool
) -> tuple[list[str], str]:
    """Return a random trace, made in another process, and the digest of where it leads."""
    session = open_sandbox(TASK.open, program(name), Limits(deadline_seconds=30))
    rng = np.random.default_rng(seed)
    if sites:
        wander(session, rng, STEPS)
    else:
        for _ in range(STEPS):
            try:
                session.apply(int(rng.choice(np.flatnonzero(session.legal(WHOLE_PROGRAM)))))
            except CompilerCrash:
                continue
    trace, digest = session.trace, session.digest()
    session.shutdown()
    return trace, digest


def replayed(name: str, trace: list[str]) -> ModuleSession:
    session = open_session(program(name))
    session.replay(trace)
    return session


def forked_half_way(name: str, trace: list[str]) -> ModuleSession:
    half = replayed(name, trace[: len(trace) // 2]).fork()
    half.replay(trace[len(trace) // 2 :])
    return half


def check_trace(open_sandbox: OpenSandbox, name: str, seed: int) -> None:
    trace, elsewhere = survivable_trace(open_sandbox, name, seed, sites=bool(seed % 2))
    stepwise = replayed(name, trace)
    ways = {
        "another process": elsewhere,
        "forked half-way": forked_half_way(name, trace).digest(),
    }
    if not seed % 2 and trace:
        module = open_session(program(name)).module
        module.run(",".join(PIPELINES[action] for action in trace))
        ways["one pipeline"] = module.digest()
    assert {way: (trace, digest) for way, digest in ways.items()} == {
        way: (trace, stepwise.digest()) for way in ways
    }


@pytest.mark.parametrize("seed", range(16))
def test_random_trace_gives_the_same_bitcode_in_every_way(open_sandbox: OpenSandbox, seed: int) -> None:
    check_trace(open_sandbox, FILES[seed % len(FILES)], seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 216))
def test_200_random_traces_give_the_same_bitcode_in_every_way(open_sandbox: OpenSandbox, seed: int) -> None:
    check_trace(open_sandbox, FILES[seed % len(FILES)], seed)


@pytest.mark.parametrize("text", [item.text for item in PASSES if item.text.startswith(("clang", "inline"))])
def test_inliners_repeat_in_a_used_process(text: str) -> None:
    """What a worker did before leaves no mark: managers are emptied, names do not count."""
    digests = set()
    for _ in range(2):
        session = open_session(program("classes.cpp"))
        session.replay([text, "simplifycfg"])
        digests.add(session.digest())
    assert len(digests) == 1


def test_state_does_not_depend_on_the_worker(open_sandbox: OpenSandbox) -> None:
    """A session in a process that served others ends where it ends in a new one."""
    trace = ["sroa<modify-cfg>", "gvn", "quicksort: simplifycfg", "clang<Oz>", "outline<call-cost=0>"]
    worker = Worker()
    digests = set()
    for before in ("classes.cpp", "matrix.c", "machine.c"):
        Sandbox(TASK.open, program(before), worker=worker).replay(["clang<O3>"])
        session = Sandbox(TASK.open, program("recursion.c"), worker=worker)
        session.replay(trace)
        digests.add(session.digest())
    worker.close()
    fresh = open_sandbox(TASK.open, program("recursion.c"))
    fresh.replay(trace)
    assert digests == {fresh.digest()}


def test_names_of_what_is_outlined_do_not_depend_on_forks() -> None:
    """Several functions are outlined in several steps, and would all be called the same."""
    outline = (
        "clang<O2>",
        "inliner-wrapper<threshold=225>",
        "outline<call-cost=0>",
        "clang<O3>",
        "outline<call-cost=0>",
        "outline<call-cost=0>",
    )
    whole = replayed("classes.cpp", list(outline))
    assert sum(site.startswith("outlined") for site in whole.sites()) > 1
    forked = open_session(program("classes.cpp"))
    for action in outline:
        forked = forked.fork()
        forked.apply(forked.index(action))
    assert forked.sites() == whole.sites()
    assert forked.digest() == whole.digest()


@pytest.mark.parametrize("name", ["features.ll", "classes.cpp"])
def test_a_state_read_back_is_the_state(name: str) -> None:
    """Also that of a file by hand, in which values have names."""
    content = (DATA / name).read_bytes() if name.endswith(".ll") else program(name).content
    session = open_session(Program(name, "llvm", content))
    for action in ("sroa<modify-cfg>", "outline<call-cost=0>", "clang<Oz>"):
        session.replay([action])
        assert Module(session.module.bitcode(), name).digest() == session.digest()
