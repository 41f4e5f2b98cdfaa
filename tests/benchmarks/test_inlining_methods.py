"""The table of ways to train an inlining policy, on runs by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from inlining_methods import curve, interval, ratios_of, table

from burnish.evaluation.against import Against, summary_of


def test_a_line_has_the_best_with_its_interval(tmp_path: Path) -> None:
    best = {
        "validation/total_ratio": 1.1,
        "validation/better": 0.5,
        "validation/worse": 0.25,
        "seconds": 60.0,
    }
    rows = [{"seconds": 1.0}, best | {"validation/ratio": 1.2}, best | {"validation/ratio": 1.05}]
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert ratios_of(tmp_path) == {}
    found = {"a": 2.0, "b": 0.5, "c": 1.0}
    (tmp_path / "policy.card.json").write_text(json.dumps({"ratios": found}))
    assert ratios_of(tmp_path) == found
    (line,) = table({"mine": curve(tmp_path)}, {"mine": ratios_of(tmp_path)}).splitlines()[1:]
    low, high = (float(end) for end in interval(found).strip("[]").split(", "))
    assert line.split() == f"mine 1.2000 {interval(found)} 60 1.0500 1.1000 50% 25%".split()
    unseen = [Against(name, 100.0, 100 / ratio, 5, 2) for name, ratio in found.items()]
    (longer,) = table({"mine": curve(tmp_path)}, {"mine": found}, {"mine": unseen}).splitlines()[1:]
    whole = summary_of(unseen)
    assert longer.split() == [*line.split(), "1.0000", f"[{whole.low:.4f},", f"{whole.high:.4f}]", "1", "1"]
    assert low < 1.0 < high and low == pytest.approx(1 / high, rel=0.02)  # of ratios that are symmetric


def test_what_is_the_same_everywhere_is_certain() -> None:
    assert interval({"a": 1.25, "b": 1.25}) == "[1.2500, 1.2500]"
    assert interval({"a": 1.25}) == ""
