"""The live line of a run on an engine."""

from __future__ import annotations

import pytest

from burnish.cli.jobs import shard_line
from burnish.cli.jobs.shard_line import ShardLine
from burnish.cluster.run import ShardProgress
from tests.waiting import SetClock


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (ShardProgress(0, 0, 0, 0, 0), "0 of 20 done"),
        (ShardProgress(9, 4, 0, 4, 0), "4 of 20 done, 4 resumed"),
        (
            ShardProgress(20, 9, 1, 4, 2),  # five here in two minutes, ten left
            "9 of 20 done, 1 failed, 4 resumed, 2 lost, 2.5 a minute, 0:04:00 left",
        ),
        (ShardProgress(20, 20, 0, 0, 0), "20 of 20 done, 10 a minute, 0:00:00 left"),
    ],
)
def test_one_line_has_all_numbers(
    now: ShardProgress, text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ShardLine(20, quiet=False)
    monkeypatch.setattr(shard_line, "time", SetClock(line._start + 120.0))
    line._logged -= 60.0  # the last line that was printed
    line(now)
    assert line._bars.tasks[0].description == text
    assert line._bars.tasks[0].completed == now.done + now.failed
    assert capsys.readouterr().err == f"{text}\n"
