"""Which program comes next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError, ProgramError, UnknownName
from burnish.core.program import Program
from burnish.envs.env import Env
from burnish.envs.program_sampler import ProgramSampler
from tests.core.counting_task import TASK, counters

PROGRAMS = [counters(f"a={number}") for number in range(1, 8)]


class Lazy(Sequence[Program]):
    """A corpus that remembers what it was asked for."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.opened: list[int] = []

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        self.opened.append(index)
        return counters(f"a={index % 1000}")


def names(env: Env, count: int, seed: int | None = None) -> list[str]:
    found = [env.reset(seed=seed)[1]["program"]]
    return found + [env.reset()[1]["program"] for _ in range(count - 1)]


def test_shuffled_programs_come_once_in_each_pass() -> None:
    env = Env(TASK, PROGRAMS, limits=None, order="shuffle")
    seen = names(env, 21, seed=3)
    passes = [seen[i : i + 7] for i in (0, 7, 14)]
    assert [sorted(part) for part in passes] == [sorted(item.name for item in PROGRAMS)] * 3
    assert len({tuple(part) for part in passes}) == 3
    assert names(env, 21, seed=3) == seen
    assert names(env, 21, seed=4) != seen


def test_samples_follow_the_weights_and_the_seed() -> None:
    env = Env(TASK, PROGRAMS[:3], limits=None, order="sample", weights=[1, 0, 3])
    seen = names(env, 400, seed=0)
    counts = Counter(seen)
    assert set(counts) == {"a=1", "a=3"}
    assert 250 < counts["a=3"] < 350
    assert names(env, 400, seed=0) == seen


def test_equal_weights_are_the_default() -> None:
    counts = Counter(names(Env(TASK, PROGRAMS, limits=None, order="sample"), 700, seed=0))
    assert set(counts) == {item.name for item in PROGRAMS}
    assert min(counts.values()) > 60


@pytest.mark.parametrize("order", ["cycle", "shuffle", "sample"])
def test_nothing_is_opened_before_its_turn(order: Any) -> None:
    programs = Lazy(5000)
    env = Env(TASK, programs, limits=None, order=order)
    assert programs.opened == []
    names(env, 3, seed=10)
    assert len(programs.opened) == 3
    if order == "cycle":
        assert programs.opened == [10, 11, 12]


def test_programs_can_be_made_without_end() -> None:
    def make(number: int) -> Program:
        return counters(f"a={number % 1000}")

    env = Env(TASK, make, limits=None)
    assert names(env, 3, seed=41) == ["a=41", "a=42", "a=43"]
    env = Env(TASK, make, limits=None, order="sample")
    assert len(set(names(env, 50, seed=0))) > 40
    assert names(env, 5, seed=9) == names(env, 5, seed=9)
    with pytest.raises(InputError, match="'cycle' or 'sample'"):
        Env(TASK, make, order="shuffle")
    with pytest.raises(InputError, match="give a Program"):
        env.reset(options={"program": "a=1"})


def test_a_corpus_looks_a_name_up_itself() -> None:
    class Named(Lazy):
        def find(self, name: str) -> Program:
            return counters(name)

    programs = Named(5000)
    env = Env(TASK, programs, limits=None)
    assert env.reset(options={"program": "a=77"})[1]["program"] == "a=77"
    assert programs.opened == []


def test_programs_that_cannot_be_opened_are_skipped_with_a_warning(
    recwarn: pytest.WarningsRecorder, nothing_left: None
) -> None:
    programs = [counters("a=1"), counters("broken"), counters("worse"), counters("a=2")]
    env = Env(TASK, programs)
    env.reset()
    _, info = env.reset()
    assert info["program"] == "a=2"
    assert info["skipped"] == ["broken", "worse"]
    assert len([w for w in recwarn if "expected counters" in str(w.message)]) == 2
    with pytest.raises(ProgramError, match="broken"):
        env.reset(options={"program": "broken"})
    assert env.reset()[1]["program"] == "a=1"
    env.close()


@pytest.mark.filterwarnings("ignore:.*skipped")
def test_only_broken_programs_are_an_error() -> None:
    with pytest.raises(ProgramError, match="expected counters"):
        Env(TASK, counters("broken"), limits=None).reset()
    with pytest.raises(ProgramError, match="expected counters"):
        Env(TASK, [counters("broken"), counters("worse")], limits=None).reset()


def test_another_language_in_a_corpus_is_an_error_when_it_is_its_turn() -> None:
    env = Env(TASK, lambda number: Program("x", "Esperanto", b""), limits=None)
    with pytest.raises(InputError, match="Esperanto"):
        env.reset()


def test_wrong_orders_and_weights_are_errors() -> None:
    with pytest.raises(UnknownName, match="did you mean 'shuffle'"):
        Env(TASK, PROGRAMS, order="shufle")  # type: ignore[arg-type]
    wrong = (("cycle", [1] * 7), ("sample", [1] * 6), ("sample", [0] * 7), ("sample", [-1] * 7))
    for order, weights in wrong:
        with pytest.raises(InputError, match="weights"):
            Env(TASK, PROGRAMS, order=order, weights=weights)  # type: ignore[arg-type]


def test_every_draw_falls_on_a_program() -> None:
    class Highest:
        def random(self) -> float:
            return float(np.nextafter(1.0, 0.0))

    sampler = ProgramSampler(PROGRAMS[:3], "sample", [0.1, 0.7, 0.0])
    assert sampler.next(Highest()).name == "a=2"  # type: ignore[arg-type]
