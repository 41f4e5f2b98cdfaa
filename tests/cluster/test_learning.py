"""What trainings collect on engines: the traces, suffixes, costs and schedules of one process."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from burnish.cluster.executor import OnEngine
from burnish.cluster.shards import RESULTS, attempt
from burnish.core.errors import InputError
from burnish.core.task import SearchHints
from burnish.learning.portfolio.costs import TableSetup, fill
from burnish.learning.portfolio.evolve import PortfolioSetup
from burnish.learning.portfolio.suffixes import SuffixSetup, learn_suffixes
from burnish.learning.training.collect import collect, problems_of
from burnish.learning.training.config import Expert, config_of
from burnish.learning.training.expert import ExpertSetup, make_demonstrations
from burnish.search import Budget
from burnish.tasks.loop_nests.train.cost_training import NESTS
from burnish.tasks.loop_nests.train.measuring import Measurement
from burnish.tasks.tensors.machine import host
from burnish.tasks.tensors.train.cost_training import ScheduleCostsTraining, measured_on
from burnish.tasks.tensors.train.measuring import line_of, read_rows
from burnish.workers.executor import IN_TURN, Executor, Processes, Shard
from burnish.workers.worker import Limits
from tests.cluster import work
from tests.cluster.test_engines import ENGINES, opened
from tests.core.counting_task import TASK, counters

PROGRAMS = [counters(text) for text in ("a=12 b=7", "a=64", "a=9 b=9 c=3", "a=31 b=2")]
COUNTING = replace(TASK, hints=SearchHints((("halve",),)))
NESTS_TABLE: dict[str, Any] = {
    "task": "loop_nests",
    "objective": "seconds",
    "algorithm": {"name": "schedule-costs", "narrow": 0.0, "guide": "none", "fit": {"epochs": 1}},
    "programs": [{"use": "matmul-at:32x32x48"}, {"use": "outer:128x128"}],
    "validation": [{"use": "stencil5:128x128"}],
    "run": {"iterations": 100, "standardize_steps": 0},
}


def traces(do: Executor, folder: Path, together: int = 2) -> str:
    """Return the state file of searches."""
    state, budget = folder / "found.jsonl", "40 evaluations"
    problems = problems_of(COUNTING, PROGRAMS, ["total"])
    found = collect(problems, state, budget=Budget.parse(budget), do=do, together=together)
    assert [item.program for item in found] == [program.name for program in PROGRAMS]
    return state.read_text()


def suffixes(do: Executor, folder: Path) -> str:
    """Return the state file of suffixes."""
    setup = SuffixSetup(COUNTING, "total", ((), ("halve",)), COUNTING.actions)
    learn_suffixes(setup, PROGRAMS, folder / "suffixes.jsonl", seed=0, do=do, together=2)
    return (folder / "suffixes.jsonl").read_text()


def costs(do: Executor, folder: Path) -> tuple[object, ...]:
    """Return the table of costs, without times."""
    setup = TableSetup(COUNTING, ["total"], ["values"], do)
    table = fill(setup, PROGRAMS, [("halve",), ("subtract(1)",)], folder / "table.jsonl")
    return table.programs, table.costs.tolist(), table.references.tolist(), table.features.tolist()


def generation(do: Executor, folder: Path) -> tuple[object, ...]:
    """Return the costs of a generation of a portfolio, without times."""
    setup = PortfolioSetup(COUNTING, "total", count=3, slowest=9.0, generations=1, do=do)
    return setup.suitable(PROGRAMS, 3), setup.measure(PROGRAMS, [("halve",), ("add(1)",)]).costs.tolist()


def demonstrations(do: Executor, folder: Path) -> list[object]:
    """Return the demonstrations of a search."""
    expert = Expert(search="genetic", evaluations=30)
    setup = ExpertSetup(COUNTING, "total", expert, 0, 1, Limits())
    made = make_demonstrations(folder / "found.jsonl", PROGRAMS, setup, lambda _: None, do)
    return [(one.trace, one.cost, one.reference) for one in made]


def schedules(do: Executor, folder: Path) -> list[object]:
    """Return the metrics and the made-up measurements of a training, sorted."""
    subject = replace(NESTS, measure=work.made_up)
    training = ScheduleCostsTraining(config_of(NESTS_TABLE, "tiny"), folder, lambda _: None, subject, do)
    while not training.iterate().get("finished"):
        pass
    rows = [line for part in ("measured", "validation") for line in read_lines(folder / f"{part}.jsonl")]
    assert {row.machine for row in read_rows(folder / "measured.jsonl", Measurement)} == {host().cpu}
    return [training.validate(), sorted(rows)]


def read_lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


@pytest.mark.parametrize("collected", [traces, suffixes, costs, generation, demonstrations, schedules])
@pytest.mark.parametrize("name", [*ENGINES, "processes"])
def test_results_are_those_of_one_process(name: str, collected: Any, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    do = Processes(2) if name == "processes" else OnEngine(partial(opened, name), tmp_path / "shards")
    assert collected(do, there) == collected(IN_TURN, here)


def test_a_round_begins_with_what_earlier_rounds_found_also_after_a_kill(tmp_path: Path) -> None:
    for folder in ("whole", "killed"):
        (tmp_path / folder).mkdir()
    whole = traces(IN_TURN, tmp_path / "whole", together=3)

    def killed(shards: Any) -> Iterator[tuple[str, Any]]:
        yield from islice(IN_TURN(shards), 2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        traces(killed, tmp_path / "killed", together=3)
    assert len(read_lines(tmp_path / "killed/found.jsonl")) == 2
    assert traces(IN_TURN, tmp_path / "killed", together=3) == whole


def test_what_an_engine_has_done_is_not_done_again(tmp_path: Path) -> None:
    do = OnEngine(partial(opened, "local"), tmp_path / "shards")
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    table = costs(do, first)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "shards" / RESULTS).iterdir()}
    assert costs(do, second) == table
    assert sorted(read_lines(first / "table.jsonl")) == sorted(read_lines(second / "table.jsonl"))
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "shards" / RESULTS).iterdir()} == files


def test_a_process_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    do = OnEngine(partial(opened, "local"), tmp_path)
    shards = [Shard("once", work.die_once, (str(tmp_path / "mark"), 5)), Shard("two", work.square, (2,))]
    assert dict(do(shards)) == {"once": 25, "two": 4}


def test_schedules_of_two_kinds_of_machine_are_not_mixed(tmp_path: Path) -> None:
    subject = replace(NESTS, measure=work.made_up)

    def run(folder: Path) -> None:
        training = ScheduleCostsTraining(config_of(NESTS_TABLE, "tiny"), folder, lambda _: None, subject)
        while not training.iterate().get("finished"):
            pass

    run(tmp_path)
    rows = read_rows(tmp_path / "measured.jsonl", Measurement)
    rows[-1] = replace(rows[-1], machine="z80")
    (tmp_path / "measured.jsonl").write_text("".join(f"{line_of(row)}\n" for row in rows))
    both = " and on ".join(sorted((host().cpu, "z80")))
    with pytest.raises(InputError, match=rf"schedules measured on {both}: expected one kind of machine"):
        run(tmp_path)
    with pytest.raises(InputError, match=f"schedules measured on {both}"):
        measured_on(work.made_up, ("", 32), "z80", None, 0, None)
    unknown = [replace(row, machine="") for row in rows]
    (tmp_path / "measured.jsonl").write_text("".join(f"{line_of(row)}\n" for row in unknown))
    run(tmp_path)


def test_a_table_of_another_machine_may_be_given_but_not_mixed_within_a_program(tmp_path: Path) -> None:
    subject = replace(NESTS, measure=work.made_up)

    def run(folder: Path, *given: Path) -> None:
        folder.mkdir()
        algorithm = {**NESTS_TABLE["algorithm"], "measured": [str(path) for path in given]}
        config = config_of({**NESTS_TABLE, "algorithm": algorithm}, "tiny")
        training = ScheduleCostsTraining(config, folder, lambda _: None, subject)
        while not training.iterate().get("finished"):
            pass

    run(tmp_path / "here")
    here, other = tmp_path / "here/measured.jsonl", tmp_path / "z80.jsonl"
    rows = [replace(row, machine="z80") for row in read_rows(here, Measurement)]
    other.write_text("".join(f"{line_of(row)}\n" for row in rows))
    run(tmp_path / "given", other)
    assert not read_lines(tmp_path / "given/measured.jsonl")  # nothing was missing
    with pytest.raises(InputError, match="expected one kind of machine"):
        run(tmp_path / "both", here, other)


def test_workers_of_a_shard_run_on_its_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks are in a folder of the test, because other shards of this machine have cores, too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    own, of_worker = json.loads(attempt(Shard("cores", work.cores_of_worker)).value)["value"]
    assert len(own) == 1
    assert own == of_worker
