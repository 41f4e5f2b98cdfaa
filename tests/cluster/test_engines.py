"""Shards on every engine: the same values, nothing lost, nothing twice, whatever dies."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import pytest

from burnish.cluster.engine import Engine
from burnish.cluster.engines import open_engine, read_options
from burnish.cluster.run import ATTEMPTS, ShardProgress, batches_of, run_shards
from burnish.cluster.shards import RESULTS, attempt, failure_of, is_done, machine_of, own_core, value_of
from burnish.core.errors import InputError, MissingTool, UnknownName
from burnish.workers.executor import Shard
from tests.cluster import work
from tests.cluster.conftest import needs_slurm
from tests.waiting import wait_until

ENGINES = [
    "local",
    pytest.param("submitit", marks=pytest.mark.slow),
    pytest.param("ray", marks=pytest.mark.slow),
    pytest.param("slurm", marks=[pytest.mark.slow, needs_slurm]),
]


def opened(name: str, folder: Path) -> Engine:
    """Return an engine with two slots, or skip the test."""
    if name in ("submitit", "slurm", "ray"):
        pytest.importorskip("ray" if name == "ray" else "submitit")
    return open_engine(name, folder, {"slots": 2})


@dataclass
class Outcome:
    """The last progress of a run, and its failures."""

    progress: ShardProgress
    failures: dict[str, str]


def run(name: str, folder: Path, shards: Iterable[Shard]) -> tuple[list[str], Outcome]:
    """Do shards on two slots of an engine: the names in the order of their ends, and the outcome."""
    seen: list[ShardProgress] = []
    ends = list(run_shards(opened(name, folder), folder, shards, progress=seen.append))
    failures = {name: failure for name, failure in ends if failure}
    return [name for name, failure in ends if not failure], Outcome(seen[-1], failures)


def squares(count: int) -> list[Shard]:
    return [Shard(f"s{number}", work.square, (number,)) for number in range(count)]


@pytest.mark.parametrize("name", ENGINES)
def test_every_shard_is_done_once_and_has_its_value(name: str, tmp_path: Path) -> None:
    shards = squares(50)
    names, outcome = run(name, tmp_path, shards)
    assert sorted(names) == sorted(shard.name for shard in shards)
    assert [value_of(tmp_path, shard.name) for shard in shards] == [i * i for i in range(50)]
    assert outcome == Outcome(ShardProgress(50, 50, 0, 0, 0), {})
    assert {machine_of(tmp_path, shard.name) for shard in shards} == {machine_of(tmp_path, "s0")}


@pytest.mark.parametrize("name", ENGINES)
def test_a_shard_that_raises_fails_with_its_traceback_and_the_others_are_done(
    name: str, tmp_path: Path
) -> None:
    shards = [*squares(6), Shard("bad", work.fail, (7,))]
    names, outcome = run(name, tmp_path, shards)
    assert sorted(names) == [f"s{i}" for i in range(6)]
    assert list(outcome.failures) == ["bad"]
    assert "no square of 7" in outcome.failures["bad"].splitlines()[-1]
    assert failure_of(tmp_path, "bad") == outcome.failures["bad"]


@pytest.mark.parametrize("name", ENGINES)
def test_a_process_that_is_killed_loses_the_shard_in_hand_only(name: str, tmp_path: Path) -> None:
    mark = str(tmp_path / "killed")
    shards = [*squares(4), Shard("once", work.die_once, (mark, 5)), *squares(9)[4:]]
    names, outcome = run(name, tmp_path, shards)
    assert sorted(names) == sorted(shard.name for shard in shards)
    assert value_of(tmp_path, "once") == 25
    assert (outcome.progress.lost, outcome.failures) == (1, {})


def test_a_shard_that_always_kills_its_process_fails_after_some_attempts(tmp_path: Path) -> None:
    names, outcome = run("local", tmp_path, [*squares(5), Shard("killer", work.die, (1,))])
    assert len(names) == 5
    assert outcome.progress.lost == ATTEMPTS
    assert "lost 3 times" in outcome.failures["killer"]
    assert "SIGKILL" in outcome.failures["killer"]


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_goes_on_where_another_one_was_stopped(name: str, tmp_path: Path) -> None:
    shards = squares(12)
    going = run_shards(open_engine("local", tmp_path, {"slots": 1}), tmp_path, shards)
    first = [done for done, _ in islice(going, 5)]
    going.close()
    done_before = sorted((tmp_path / RESULTS).glob("s*.json"))  # a killed process may leave a hidden file
    there = {path.stem for path in done_before}
    times = {path: path.stat().st_mtime_ns for path in done_before}
    names, outcome = run(name, tmp_path, shards)
    assert set(first) <= there
    assert names[: len(there)] == [shard.name for shard in shards if shard.name in there]
    assert outcome.progress == ShardProgress(12, 12, 0, len(there), 0)
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())


def test_a_failed_shard_is_tried_again_by_the_next_run(tmp_path: Path) -> None:
    assert run("local", tmp_path, [Shard("one", work.fail, (1,))])[1].failures
    names, outcome = run("local", tmp_path, [Shard("one", work.square, (3,))])
    assert (names, outcome.failures) == (["one"], {})
    assert failure_of(tmp_path, "one") == ""


@pytest.mark.parametrize("name", ENGINES)
def test_large_content_arrives_whole(name: str, tmp_path: Path) -> None:
    content = bytes(range(256)) * 4096
    shards = [Shard(f"c{number}", work.length, (content,)) for number in range(4)]
    assert not run(name, tmp_path, shards)[1].failures
    assert [value_of(tmp_path, shard.name) for shard in shards] == [1 << 20] * 4


def test_a_shard_has_a_core_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks are in a folder of the test, because other shards of this machine have cores, too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = os.sched_getaffinity(0)
    with own_core():
        first = os.sched_getaffinity(0)
        os.sched_setaffinity(0, before)
        (other,) = json.loads(attempt(Shard("other", work.core)).value)["value"]
        assert len(first) == 1
        assert {other} <= before - first or len(before) == 1
    assert os.sched_getaffinity(0) == before
    everything = Shard("all", work.core, pinned=False)
    assert json.loads(attempt(everything).value)["value"] == sorted(before)


def test_the_first_shards_are_done_while_later_ones_are_still_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.cluster.run.LOOK_SECONDS", 0.0)
    done: list[str] = []

    def one_after_the_other() -> Iterator[Shard]:
        for shard in squares(4):
            yield shard
            wait_until(partial(is_done, tmp_path, shard.name))
            done.append(shard.name)

    names, outcome = run("local", tmp_path, one_after_the_other())
    assert names == done == ["s0", "s1", "s2", "s3"]
    assert outcome.progress == ShardProgress(4, 4, 0, 0, 0)


def test_batches_are_dealt_in_turn(tmp_path: Path) -> None:
    engine = open_engine("local", tmp_path, {"slots": 2})
    batches = batches_of(squares(20), engine)
    engine.close()
    assert next([shard.name for shard in batch] for batch in batches) == ["s0", "s7", "s14"]
    assert sorted(shard.name for batch in batches for shard in batch) == sorted(s.name for s in squares(20))


def test_wrong_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"shard 'a/b': expected 1 to 180 letters"):
        Shard("a/b", work.square)
    with pytest.raises(InputError, match="two shards have the name s0"):
        run("local", tmp_path, [*squares(1), *squares(1)])
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot write there"):
        run("local", tmp_path / "file", squares(1))
    (tmp_path / RESULTS).mkdir(exist_ok=True)
    (tmp_path / RESULTS / "odd.json").write_text("{}")
    with pytest.raises(InputError, match=r"odd\.json: not the result of a shard"):
        value_of(tmp_path, "odd")


def test_wrong_engines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"did you mean slurm|slurm"):
        open_engine("slrum", tmp_path)
    with pytest.raises(InputError, match=r"slots = 0: expected a whole number"):
        open_engine("local", tmp_path, {"slots": 0})
    with pytest.raises(InputError, match=r"\[local\]: partition: expected slots only"):
        open_engine("local", tmp_path, {"partition": "main"})


def test_options_are_a_table_of_the_engines_name(tmp_path: Path) -> None:
    path = tmp_path / "engines.toml"
    path.write_text('[slurm]\nslurm_partition = "main"\ntimeout_min = 60\n')
    assert read_options(path, "slurm") == {"slurm_partition": "main", "timeout_min": 60}
    assert read_options(path, "ray://host:10001") == {}
    path.write_text("slurm = 1\n")
    with pytest.raises(InputError, match=r"slurm: expected a table, \[slurm\]"):
        read_options(path, "slurm")
    path.write_text("[")
    with pytest.raises(InputError, match="not TOML"):
        read_options(path, "slurm")
    with pytest.raises(InputError, match=r"No such file.*expected a TOML file with a table \[slurm\]"):
        read_options(tmp_path / "none.toml", "slurm")


def test_without_sinfo_slurm_says_where_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="sinfo is not on PATH"):
        open_engine("slurm", tmp_path)
