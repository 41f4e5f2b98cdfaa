"""Passes whose inliner has answers: those of llvm_inlining, in clang's pipeline and behind other passes."""

from __future__ import annotations

import numpy as np
import pytest

from burnish.core.program import Program
from burnish.core.trace import Trace
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.modules.origin import Options, ReferenceSizes
from burnish.llvm.modules.session import ModuleSession, open_baseline, open_session
from burnish.tasks.llvm_inlining.inlined import AnsweredSession, open_answered, open_passes, other_answers
from burnish.tasks.llvm_inlining.observations import QUESTION_SITES
from burnish.tasks.llvm_inlining.session import InliningOptions, InliningSession, open_inlining
from burnish.tasks.llvm_inlining_passes_and_codegen import TASK
from tests.sources import program

CLANG: Trace = ("clang<Oz>",)


def answered_at_random(source: Program, seed: int, level: str = "Oz") -> InliningSession:
    rng = np.random.default_rng(seed)
    session = open_inlining(source, InliningOptions(level))
    while site := session.question():
        session.apply(int(rng.integers(2)), site)
    return session


def behind(session: ModuleSession, *trace: str) -> ModuleSession:
    session.replay(trace)
    return session


@pytest.mark.parametrize("level", ["Oz", "O2"])
@pytest.mark.parametrize("name", ["classes.cpp", "hash_table.c", "machine.c"])
def test_clang_s_pipeline_has_the_answers(name: str, level: str) -> None:
    for seed in range(3):
        session = answered_at_random(program(name), seed, level)
        plain = behind(open_session(program(name), Options(level)), f"clang<{level}>")
        passes = open_passes(session)
        assert isinstance(passes, AnsweredSession)
        behind(passes, f"clang<{level}>")
        assert passes.object_code() == session.object_code()
        others = other_answers(session)
        again = behind(open_answered(program(name), Options(level), others), f"clang<{level}>")
        assert again.object_code() == session.object_code()
        if others:
            assert passes.digest() != plain.digest()


def test_random_modules_with_random_answers() -> None:
    for seed in range(12):
        source = random_module(seed)
        session = answered_at_random(source, seed)
        assert behind(open_passes(session), *CLANG).digest() == session.digest()


def test_without_answers_nothing_is_different() -> None:
    trace = ("mem2reg", "inliner-wrapper<threshold=225>", "simplifycfg", *CLANG)
    one = behind(open_answered(program("classes.cpp"), Options(), ()), *trace)
    assert one.digest() == behind(open_session(program("classes.cpp")), *trace).digest()


def test_the_first_inliner_that_runs_has_the_answers() -> None:
    """What is left in the first is open to the second."""
    session = open_inlining(program("classes.cpp"))
    sites = str(session.observe(QUESTION_SITES)).splitlines()
    leave = tuple(f"{site}: leave" for site in sites)
    before = ("mem2reg", "early-cse", "inliner-wrapper<threshold=225>")
    left = behind(open_answered(program("classes.cpp"), Options(), leave), *before)
    free = behind(open_session(program("classes.cpp")), *before)
    assert left.measure("ir-instructions") != free.measure("ir-instructions")
    rest = behind(left, "inliner-wrapper<threshold=225>").module.print()
    assert rest.count(" call ") < behind(
        open_answered(program("classes.cpp"), Options(), leave), *before
    ).module.print().count(" call ")


def test_answers_to_come_are_part_of_the_state() -> None:
    leave = ("_Z5areasiii > _Z7area_ofPK5Shape #1: inline",)
    states = [open_answered(program("classes.cpp"), Options(), answers) for answers in ((), leave, leave)]
    digests = [state.digest() for state in states]
    assert digests[0] != digests[1] == digests[2]
    fork = behind(states[1].fork(), *CLANG)
    assert states[1].digest() == digests[1]
    assert fork.digest() == behind(states[2], *CLANG).digest()


def test_what_is_compared_with_has_no_answers() -> None:
    session = answered_at_random(program("classes.cpp"), 1)
    passes = behind(open_passes(session), *CLANG)
    assert passes.reference_calls() == behind(open_session(program("classes.cpp")), *CLANG).reference_calls()
    assert passes.reference_sizes() != ReferenceSizes.of(passes.sizes(), passes.module)


def test_all_three_are_one_trace() -> None:
    """With nothing decided it is -Oz; each stage adds to what those before decided."""
    source = program("classes.cpp")
    session = TASK.open(source)
    clangs = open_baseline(source, "Oz").object_code()
    assert session.object_code() == clangs
    inlined = "_Z5areasiii > _Z7area_ofPK5Shape #1: inline"
    session.replay([inlined])
    answered = session.object_code()
    assert answered != clangs
    session.replay(["begin(llvm_passes)"])
    assert session.object_code() == answered
    skipping = session.fork()
    skipping.replay(["begin(llvm_codegen)"])
    assert skipping.object_code() == answered
    session.replay(["mem2reg", *CLANG, "begin(llvm_codegen)", "skip(machine-cse)"])
    again = behind(open_answered(source, Options(), (inlined,)), "mem2reg", *CLANG)
    assert session.session.opened.digest() == again.digest()  # type: ignore[attr-defined]
    for name, opener in TASK.baselines.items():
        assert opener(source).object_code() == open_baseline(source, name).object_code()
