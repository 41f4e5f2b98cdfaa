"""Executors of this machine: all values, as JSON has them, and nothing left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from burnish.core.errors import CompilerCrash, InputError
from burnish.workers.executor import IN_TURN, Processes, Shard, in_order, name_of
from tests.cluster import work

SQUARES = [Shard(f"s{number}", work.square, (number,)) for number in range(7)]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("do", [IN_TURN, Processes(2), Processes(20)])
def test_every_shard_is_done_once(do: Processes) -> None:
    assert sorted(do(SQUARES)) == [(f"s{number}", number * number) for number in range(7)]
    assert list(do([])) == []


@pytest.mark.parametrize("do", [IN_TURN, Processes(2)])
def test_values_are_as_json_has_them(do: Processes) -> None:
    assert dict(do([Shard("one", work.pair, (1,)), Shard("two", work.pair, (2,))])) == {
        "one": [1, None],
        "two": [2, None],
    }


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("do", [IN_TURN, Processes(2)])
def test_the_exception_of_a_shard_is_raised(do: Processes) -> None:
    with pytest.raises((ValueError, RuntimeError), match="no square of 3"):
        list(do([*SQUARES, Shard("bad", work.fail, (3,))]))


@pytest.mark.usefixtures("nothing_left")
def test_a_shard_that_kills_its_process_is_an_error() -> None:
    with pytest.raises(CompilerCrash, match="SIGKILL"):
        list(Processes(2)([Shard("killer", work.die, (1,))]))


@pytest.mark.usefixtures("nothing_left")
def test_workers_end_with_the_iteration() -> None:
    values = Processes(2)(SQUARES)
    next(values)
    assert isinstance(values, Iterator)
    values.close()  # type: ignore[attr-defined]


def test_values_are_yielded_in_order_as_soon_as_the_earlier_ones_ended() -> None:
    yielded = []

    def backwards(shards: Sequence[Shard]) -> Iterator[tuple[str, Any]]:
        for shard in (*reversed(shards[:2]), *shards[2:]):
            yielded.append(shard.name)
            yield shard.name, shard.work(*shard.arguments)

    values = in_order(backwards, [*SQUARES[:3], SQUARES[0]])
    assert next(values) == 0
    assert yielded == ["s1", "s0"]
    assert list(values) == [1, 4, 0], "a shard that is there twice is done once"
    assert yielded == ["s1", "s0", "s2"]


def test_names_depend_on_every_part() -> None:
    assert name_of("a", ("b", "c")) == name_of("a", ("b", "c")) != name_of("a", ("bc",))
    with pytest.raises(InputError, match=r"shard 'a/b': expected 1 to 180 letters"):
        Shard("a/b", work.square)
