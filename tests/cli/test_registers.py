"""burnish registers compare: the costs are those of the sessions, and the summary has an interval."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from burnish.cli import main
from burnish.llvm.programs import load_program
from burnish.tasks.llvm_codegen.session import CodegenOptions, open_program
from tests.sources import DATA
from tests.tasks.llvm_codegen.policy.test_scorer import scorer
from tests.tasks.llvm_codegen.test_evict_action import saved

FILES = ("hash_table.c", "classes.cpp")


def test_modules_are_compared_with_llvms_heuristic(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    saved(tmp_path)
    (tmp_path / "empty.c").write_text("int twice(int x) { return 2 * x; }\n")
    words = ["registers", "compare", "policy.npz", *(str(DATA / name) for name in FILES), "empty.c"]
    assert main([*words, "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows  # without the file that evicts nothing
    for row in rows:
        (name,) = (name for name in FILES if row["program"].endswith(name))
        session = open_program(load_program(DATA / name), CodegenOptions(pipeline="O2"))
        log = session.evictions(scorer(2).native)
        assert row["heuristic"] == session.measure("spill-cost")
        made = session.generate(scorer(2).native)
        assert row["policy"] == pytest.approx(max(1.0, sum(made.spill_costs.values())))
        assert (row["questions"], row["others"]) == (len(log), int((log.chosen != log.llvms).sum()))
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert f"{len(rows)} modules: heuristic / policy " in shown and "(spill-cost, no search)" in shown
    assert main(["registers", "compare", "policy.npz", "empty.c"]) == 2
    assert "no module in which the compiler asks" in capsys.readouterr().err
    assert main(["registers", "compare", "empty.c", "empty.c"]) == 2
    assert "empty.c: not a policy" in capsys.readouterr().err
