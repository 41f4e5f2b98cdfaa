"""Answers are done; what nobody answers, LLVM's heuristic does."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from burnish.core.errors import IllegalAction, InputError
from burnish.core.program import Program
from burnish.llvm.corpora.random_modules import random_module
from burnish.llvm.modules.session import open_baseline
from burnish.llvm.programs import load_program
from burnish.tasks.llvm_inlining import PIPELINES, TASK
from burnish.tasks.llvm_inlining.actions import INLINE, LEAVE
from burnish.tasks.llvm_inlining.session import MOST, InliningOptions, InliningSession, open_inlining
from tests.sources import DATA, FILES, program
from tests.tasks.llvm_inlining.modules import LARGE, SMALL_1, SMALL_2, TEXT, calls, module

UNUSUAL = sorted((DATA / "unusual").glob("*.c*"))


def assert_is_the_pipeline(source: Program, pipeline: str) -> None:
    """Assert that without answers a program becomes what clang's own pipeline makes of it, byte for byte."""
    session = open_inlining(source, InliningOptions(pipeline))
    reference = open_baseline(source, pipeline)
    assert session.digest() == reference.digest(), (source.name, pipeline)
    assert session.object_code() == reference.object_code()


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_the_heuristic_alone_is_the_pipeline(pipeline: str) -> None:
    for name in (*FILES, "always_inline.c"):
        assert_is_the_pipeline(program(name, pipeline), pipeline)


def test_the_heuristic_alone_is_the_pipeline_for_random_and_unusual_modules() -> None:
    flags = {".c": ["-g"], ".cpp": ["-std=c++20"]}
    unusual = [load_program(path, flags[path.suffix]) for path in UNUSUAL]
    for source in (*map(random_module, range(8)), *unusual, module()):
        assert_is_the_pipeline(source, "Oz")


@pytest.mark.parametrize("seed", [87, 151])
def test_constants_that_the_features_fold_leave_no_trace(seed: int) -> None:
    """In these modules they do, at O3: as expressions on globals, in other places of their lists of uses."""
    assert_is_the_pipeline(random_module(seed), "O3")


@pytest.mark.slow
def test_the_heuristic_alone_is_the_pipeline_for_200_random_modules() -> None:
    for seed, pipeline in zip(range(8, 208), itertools.cycle(PIPELINES), strict=False):
        assert_is_the_pipeline(random_module(seed), pipeline)


def test_answers_that_are_the_heuristics_own_change_nothing() -> None:
    session = open_inlining(program("classes.cpp"))
    before, asked = session.digest(), session.sites()
    for site in asked:
        assert not session.apply(int(session.compiled().row(site)[-1]), site)
    assert (session.digest(), session.sites()) == (before, ())
    assert session.fork().digest() == before
    again = open_inlining(program("classes.cpp"))
    again.replay(session.trace)
    assert again.digest() == before


@pytest.mark.parametrize("answers", [*itertools.product([LEAVE, INLINE], repeat=3)])
def test_answers_are_honoured(answers: tuple[int, ...]) -> None:
    session = open_inlining(module())
    assert session.sites() == (SMALL_1, LARGE, SMALL_2)
    for site, answer in zip((SMALL_1, LARGE, SMALL_2), answers, strict=True):
        session.apply(answer, site)
    text = str(session.observe("ir"))
    first, large, second = answers
    assert calls(text, "small") == 2 - first - second
    assert calls(text, "large") == 1 - large
    assert ("@small" in text) == (first + second < 2)  # nobody else sees it: it goes with its last call
    assert calls(text, "use") == 7 + 7 * large


def test_an_action_on_the_whole_program_answers_what_is_asked() -> None:
    session = open_inlining(module())
    for site in (SMALL_1, LARGE, SMALL_2):
        assert session.question() == session.observe("question") == site
        session.apply(LEAVE)
        assert session.trace[-1] == f"{site}: leave"
    assert (session.question(), session.sites()) == ("", ())
    assert not session.legal().any()
    with pytest.raises(IllegalAction, match="nothing is legal there"):
        session.apply(LEAVE)


def test_questions_come_and_go_with_answers() -> None:
    """What is inlined brings its calls along, and a function that is nowhere left is not asked about."""
    session = open_inlining(program("recursion.c"))
    assert session.sites() == ("is_even > is_odd #1", "quicksort > partition #1")
    session.apply(LEAVE, "is_even > is_odd #1")
    assert "is_odd > is_even #1" in session.sites()
    with pytest.raises(IllegalAction, match="nothing is legal there"):
        session.apply(INLINE, "is_even > is_odd #1")  # it was answered
    other = open_inlining(program("recursion.c"))
    other.replay(["quicksort > partition #1: inline", "is_even > is_odd #1: leave"])  # in another order
    session.apply(INLINE, "quicksort > partition #1")
    assert (other.digest(), other.sites()) == (session.digest(), session.sites())


def test_an_answer_whose_question_is_gone_stays_in_the_trace_and_does_nothing() -> None:
    session = open_inlining(program("recursion.c"))
    session.apply(LEAVE, "is_even > is_odd #1")
    gone = session.fork()
    gone.apply(INLINE, "is_odd > is_even #1")
    late = next(site for site in gone.sites() if site not in session.sites())
    gone.apply(LEAVE, late)
    other = open_inlining(program("recursion.c"))
    other.answers[late] = True  # as where an answer that came later took the question away
    assert late not in other.compiled()
    plain = open_inlining(program("recursion.c"))
    assert other.digest() == plain.digest()
    assert not plain.legal(late).any()


@pytest.mark.parametrize("seed", range(6))
def test_every_way_to_the_same_answers_is_the_same_state(seed: int) -> None:
    """Question by question in one compile, replayed, all at once, forked half-way."""
    source = program(("classes.cpp", "hash_table.c", "dispatch.c")[seed % 3])
    rng = np.random.default_rng(seed)
    stepped = open_inlining(source)
    forks = []
    while stepped.question():
        stepped.apply(int(rng.integers(2)))
        forks.append(stepped.fork())
    known = stepped.digest(), stepped.compiled().rows.tolist()
    replayed = open_inlining(source)
    replayed.replay(stepped.trace)
    at_once = open_inlining(source)
    at_once.answers.update(stepped.answers)
    fork = forks[len(forks) // 2]
    fork.replay(stepped.trace[len(forks) // 2 + 1 :])
    for session in (replayed, at_once, fork, stepped.fork()):
        assert (session.digest(), session.compiled().rows.tolist()) == known


def test_what_is_mandatory_is_not_asked() -> None:
    text = """
    define internal i32 @must(i32 %x) alwaysinline {
      ret i32 %x
    }
    define internal i32 @never(i32 %x) noinline {
      ret i32 %x
    }
    define i32 @count(i32 %x) {
      %done = icmp eq i32 %x, 0
      br i1 %done, label %end, label %more
    more:
      %less = sub i32 %x, 1
      %rest = call i32 @count(i32 %less)
      %least = sub i32 %x, 2
      %other = call i32 @count(i32 %least)
      %both = mul i32 %rest, %other
      ret i32 %both
    end:
      ret i32 1
    }
    define i32 @main(i32 %x) {
      %a = call i32 @must(i32 %x)
      %b = call i32 @never(i32 %a)
      %c = call i32 @count(i32 %b)
      ret i32 %c
    }
    """
    session = open_inlining(module(text))
    assert session.sites() == ()
    assert "@must" not in str(session.observe("ir"))
    assert_is_the_pipeline(module(text), "Oz")


def test_nothing_is_asked_once_the_module_is_twice_as_large() -> None:
    """Each function calls the one before twice: inlined everywhere, the last has 2**14 of them."""
    levels = [f"define i32 @f{i}(i32 %x) {{\n{body(i)}\n}}" for i in range(15)]
    source = module("declare i32 @use(i32)\n" + "\n".join(levels))
    session = open_inlining(source)
    everything = len(session.compiled().places)
    while session.question():
        session.apply(INLINE)
    assert len(session.trace) < everything  # from there on the heuristic answers: it leaves these calls
    assert session.cost("ir-instructions") < 10 * open_inlining(source).cost("ir-instructions")


def body(number: int) -> str:
    """Return a function's body: two calls of the one before it, or of another module's."""
    callee = f"f{number - 1}" if number else "use"
    return (
        f"  %a = call i32 @{callee}(i32 %x)\n  %b = call i32 @{callee}(i32 %a)\n"
        f"  %c = mul i32 %a, %b\n  %d = xor i32 %c, {number + 77}\n  ret i32 %d"
    )


def test_names_that_read_alike_are_told_apart() -> None:
    """A function may be called `a > b`."""
    text = TEXT.replace("@small", '@"x > small"').replace("@twice", '@"twice > x"')
    text += TEXT[TEXT.index("define i32 @twice") :].replace("@small", '@"x > x > small"')
    text += 'define internal i32 @"x > x > small"(i32 %x) {\n  %y = add i32 %x, 5\n  ret i32 %y\n}\n'
    session = open_inlining(module(text))
    sites = session.sites()
    assert len(set(sites)) == len(sites)
    alike = [site for site in sites if "small" in site]
    assert alike == [f"twice > x > x > small #{i}" for i in range(1, 5)]
    session.apply(LEAVE, alike[2])
    assert session.sites() == tuple(site for site in sites if site != alike[2])


def threads() -> int:
    """Return how many threads this process has."""
    return len(list(Path("/proc/self/task").iterdir()))


def test_compiles_that_are_given_up_leave_no_thread() -> None:
    before = threads()
    sessions: list[InliningSession] = []
    for _ in range(20):
        session = open_inlining(program("classes.cpp"))
        session.apply(LEAVE)
        assert session.question()
        sessions.append(session)
    assert threads() == before + 20
    for session in sessions[:10]:
        session.close()
    assert threads() == before + 10
    assert sessions[3].question() == sessions[13].question()  # a compile begins anew
    del session, sessions
    assert threads() == before


def test_only_so_many_compiles_wait_and_the_others_begin_anew() -> None:
    before = threads()
    root = open_inlining(program("classes.cpp"))
    sessions = []
    for number in range(MOST + 20):
        sessions.append(root.fork())
        for digit in range(8):
            sessions[-1].apply(number >> digit & 1)
        assert sessions[-1].question()
    assert threads() == before + MOST
    for number, session in enumerate(sessions[:: MOST // 4]):
        other = open_inlining(program("classes.cpp"))
        other.replay(session.trace)
        assert session.question() == other.question(), number
        assert session.digest() == other.digest()


def test_a_fork_goes_on_with_the_compile_and_the_original_begins_anew() -> None:
    session = open_inlining(program("classes.cpp"))
    for answer in (INLINE, LEAVE, INLINE, LEAVE):
        session.apply(answer)
    site = session.question()
    fork = session.fork()
    fork.apply(INLINE)
    assert session.question() == site
    session.apply(LEAVE)
    assert fork.trace[:-1] == session.trace[:-1]
    for one in (session, fork):
        again = open_inlining(program("classes.cpp"))
        again.replay(one.trace)
        assert again.digest() == one.digest()
        assert again.sites() == one.sites()


def test_settings_choose_the_pipeline() -> None:
    faster = TASK.configured({"pipeline": "O2"})
    assert (faster.reference, faster.options) == ("O2", {"pipeline": "O2"})
    assert TASK.configured({}, "seconds").reference == "O3"
    with pytest.raises(InputError, match="pipeline is 'O0'; expected one of Oz, Os, O2, O3"):
        TASK.configured({"pipeline": "O0"})
    with pytest.raises(InputError, match="O0"):
        open_inlining(module(), InliningOptions("O0"))
    with pytest.raises(InputError, match="unknown level 'O7'"):
        open_inlining(module(), InliningOptions("O7"))
