"""Ranks on engines: whatever is killed, the training ends with the curve of an undisturbed one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from burnish.cluster.engine import Engine
from burnish.cluster.engines import open_engine
from burnish.cluster.ranks import train_on
from burnish.core.errors import BurnishError, InputError
from burnish.learning.training.checkpoint import load_checkpoint
from burnish.learning.training.loop import IterationProgress, Listener, TrainingOutcome
from burnish.learning.training.ranked import train_rank
from tests.cluster.conftest import RayNodes, needs_slurm
from tests.cluster.trainings import OF_RANKS, SMALL, Opened, curve, opens, small
from tests.conftest import children
from tests.waiting import alive, wait_until

LONG = "run.iterations=24"  # so that ranks are killed or stopped long before the last iteration


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an undisturbed training on two ranks."""
    folder = tmp_path_factory.mktemp("undisturbed")
    outcome = train_on(Opened(), small(*OF_RANKS), folder, Listener(), address="127.0.0.1")
    assert (outcome.why, outcome.iteration) == ("iterations", 6)
    return folder


def train(
    folder: Path,
    opened: Callable[..., Any],
    progress: Callable[[IterationProgress], None],
    *changes: str,
    **more: Any,
) -> TrainingOutcome:
    listener = Listener(progress, **more)
    return train_on(opened, small(*OF_RANKS, *changes), folder, listener, address="127.0.0.1")


def test_two_ranks_share_the_work_and_one_writes(expected: Path) -> None:
    rows = curve(expected)
    assert [row["iteration"] for row in rows] == list(range(7))
    assert {row["ranks"] for row in rows[1:]} == {2.0}
    assert [row["episodes"] for row in rows[1:]] == [8.0 * i for i in range(1, 7)]
    assert sorted(path.name for path in expected.iterdir() if not path.name.startswith(".")) == [
        "checkpoint.pt",
        "config.json",
        "log.jsonl",
        "policy.card.json",
        "policy.npz",
    ]


@pytest.mark.parametrize("victim", [pytest.param(0, marks=pytest.mark.slow), 1])
def test_a_killed_rank_costs_one_iteration_at_most(tmp_path: Path, expected: Path, victim: int) -> None:
    opened, said, seen = Opened(), list[str](), list[int]()

    def kill_once(progress: IterationProgress) -> None:
        seen.append(int(progress.row["iteration"]))
        if seen[-1] >= 2 and not killed:
            killed.append(True)
            os.kill(opened.pids()[victim], signal.SIGKILL)

    killed: list[bool] = []
    outcome = train(tmp_path, opened, kill_once, LONG, say=said.append)
    assert outcome.why == "iterations"
    assert curve(tmp_path)[:7] == curve(expected)
    assert len(said) == 1
    assert "all ranks begin again from the last checkpoint" in said[0]
    assert seen == list(range(25))


def test_a_wish_to_stop_ends_all_ranks_and_the_run_goes_on_later(tmp_path: Path, expected: Path) -> None:
    rows: list[int] = []
    outcome = train(
        tmp_path,
        Opened(),
        lambda progress: rows.append(int(progress.row["iteration"])),
        LONG,
        stop=lambda: len(rows) >= 2,
    )
    assert outcome.why == "interrupted"
    assert 1 <= outcome.iteration < 24
    (tmp_path / "stop").unlink()
    assert train(tmp_path, Opened(), lambda _: None, LONG).why == "iterations"
    assert curve(tmp_path)[:7] == curve(expected)


DRIVER = """
import sys
from pathlib import Path
from burnish.cluster.engine import Engine
from burnish.cluster.engines import open_engine
from burnish.cluster.ranks import train_on
from burnish.learning.training.loop import Listener
from tests.cluster.trainings import OF_RANKS, opens, small

if __name__ == "__main__":
    train_on(opens("local"), small(*OF_RANKS), Path(sys.argv[1]), Listener(), address="127.0.0.1")
"""


@pytest.mark.slow
def test_a_killed_driver_takes_its_ranks_with_it_and_goes_on(tmp_path: Path, expected: Path) -> None:
    command = [sys.executable, "-c", DRIVER, str(tmp_path)]
    driver = subprocess.Popen(command)
    log = tmp_path / "log.jsonl"
    wait_until(lambda: log.exists() and log.read_bytes().count(b"\n") > 2, driver)
    ranks = children(driver.pid)
    driver.kill()
    driver.wait()
    wait_until(lambda: not any(map(alive, ranks)))
    subprocess.run(command, check=True)
    assert curve(tmp_path) == curve(expected)


@pytest.mark.slow
@pytest.mark.parametrize("victim", [None, 0, 1])
def test_torchrun_starts_all_ranks_again(tmp_path: Path, expected: Path, victim: int | None) -> None:
    changes = [word for change in (*SMALL, *OF_RANKS) for word in ("--set", change)]
    command = "torch.distributed.run --standalone --nproc-per-node 2 --max-restarts 2 --monitor-interval 0.1"
    train = ["-m", "burnish.cli", "train", "smoke", *changes, "--out", str(tmp_path)]
    torchrun = subprocess.Popen([sys.executable, "-m", *command.split(), *train])
    try:
        if victim is not None:
            log = tmp_path / "log.jsonl"
            wait_until(lambda: log.exists() and log.read_bytes().count(b"\n") > 2, torchrun)
            ranks = [pid for pid in children(torchrun.pid) if rank_of(pid) is not None]
            os.kill(next(pid for pid in ranks if rank_of(pid) == victim), signal.SIGKILL)
        assert torchrun.wait(timeout=120) == 0
    finally:
        torchrun.kill()
    assert curve(tmp_path) == curve(expected)


def rank_of(pid: int) -> int | None:
    """Return the rank that torchrun gave a process."""
    variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return next((int(one.removeprefix(b"RANK=")) for one in variables if one.startswith(b"RANK=")), None)


@pytest.mark.slow
def test_a_killed_node_of_ray_costs_one_iteration_at_most(
    tmp_path: Path, expected: Path, ray_nodes: RayNodes
) -> None:
    """A rank is on each of two nodes; a third node takes the place of one."""
    said, killed = list[str](), list[bool]()

    def kill_once(progress: IterationProgress) -> None:
        if progress.row["iteration"] >= 2 and not killed:
            killed.append(True)
            ray_nodes.kill()
            ray_nodes.add()

    def opened(folder: Path) -> Engine:
        return open_engine(ray_nodes.name, folder, {"slots": 2, "scheduling_strategy": "SPREAD"})

    outcome = train_on(opened, small(*OF_RANKS, LONG), tmp_path, Listener(kill_once, say=said.append))
    assert outcome.why == "iterations"
    assert len(said) == 1
    assert curve(tmp_path)[:7] == curve(expected)


@pytest.mark.slow
def test_one_rank_goes_on_with_the_run_of_two(tmp_path: Path) -> None:
    """Its environments are half as many; the parameters are the same."""
    config = small(*OF_RANKS, "run.iterations=2")
    train_on(Opened(), config, tmp_path, Listener(), address="127.0.0.1")
    outcome = train_rank(small(*OF_RANKS, "run.iterations=3"), tmp_path)
    assert outcome and outcome.iteration == 3
    assert [row.get("ranks") for row in curve(tmp_path)] == [None, 2.0, 2.0, 1.0]


def test_an_error_that_a_restart_would_repeat_is_raised(tmp_path: Path) -> None:
    config = small(*OF_RANKS, "algorithm.learning_rate=1e30")
    with pytest.raises(InputError, match="diverged"):
        train_on(Opened(), config, tmp_path, Listener(), address="127.0.0.1")


@pytest.mark.slow
def test_ranks_that_are_always_lost_end_the_training(tmp_path: Path) -> None:
    opened = Opened()

    def open_and_kill(folder: Path) -> Any:
        engine = opened(folder)
        begin = engine.begin

        def begin_and_kill(number: int, batch: Any) -> None:
            begin(number, batch)
            os.kill(opened.pids()[number], signal.SIGKILL)

        engine.begin = begin_and_kill  # type: ignore[method-assign]
        return engine

    with pytest.raises(BurnishError, match=r"the ranks were lost 4 times without a new checkpoint"):
        train(tmp_path, open_and_kill, lambda _: None)
    assert load_checkpoint(tmp_path) is None


def test_other_algorithms_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match="smoke: ppo trains in one process, not on 2 ranks; take dd-ppo"):
        train_rank(small(), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["ray", "submitit", pytest.param("slurm", marks=needs_slurm)],
)
def test_the_curve_does_not_depend_on_the_engine(name: str, tmp_path: Path, expected: Path) -> None:
    pytest.importorskip("ray" if name == "ray" else "submitit")
    train_on(opens(name), small(*OF_RANKS), tmp_path, Listener())
    assert curve(tmp_path) == curve(expected)
