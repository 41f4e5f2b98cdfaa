"""Policies against the heuristic, and the importance of features, on policies that are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from burnish.cli import main
from burnish.core.errors import InputError
from burnish.evaluation.against import Against, summary_of
from burnish.files import read_json_lines
from burnish.policies.answer import answers_of
from burnish.policies.arrays import ArraysPolicy, Linear, Perceptron, save_arrays
from burnish.policies.batches import Features
from burnish.policies.find import SHIPPED
from burnish.policies.load import load_action_policy
from burnish.tasks.llvm_inlining import TASK
from burnish.tasks.llvm_inlining.observations import FEATURES, HEURISTIC_ANSWER, INLINED, WOULD
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, decide
from burnish.tasks.llvm_inlining.policy.policies import (
    against_heuristic,
    answers_on,
    observed_by,
    permutation_importance,
)
from tests.sources import program
from tests.tasks.llvm_inlining.policy.test_decisions import PROBLEM

SHIPPED_POLICY = "llvm_inlining-loaded-bytes"
DATA = Path(__file__).parents[3] / "data"


def copier(weight: float = 1.0) -> ArraysPolicy:
    """Return a policy that answers as the heuristic does, or, below 0, never does."""
    size = 5  # asked, inline, weighed, cost, threshold
    encoder = Perceptron(
        False,
        np.zeros(size, dtype=np.float32),
        np.ones(size, dtype=np.float32),
        (Linear(np.eye(size, dtype=np.float32), np.zeros(size, dtype=np.float32)),),
    )
    head = np.zeros((size, 2), dtype=np.float32)
    head[0], head[1] = (weight, 0.0), (0.0, 2 * weight)  # leave: asked; inline: twice the answer
    card = {"task": TASK.id, "observation": HEURISTIC_ANSWER, "max_steps": None}
    return ArraysPolicy(
        TASK.actions, Features(()), encoder, Linear(head, np.zeros(2, dtype=np.float32)), card=card
    )


@pytest.fixture(scope="module")
def table() -> Decisions:
    return decide(PROBLEM)


def test_one_that_copies_the_heuristic_costs_what_it_does(tmp_path: Path) -> None:
    save_arrays(copier(), tmp_path / "copy.npz")
    save_arrays(copier(-1.0), tmp_path / "never.npz")
    classes = [program("classes.cpp")]
    (same,) = against_heuristic(TASK, classes, answers_of(tmp_path / "copy.npz", TASK), "loaded-bytes")
    assert (same.ratio, same.others) == (1.0, 0)
    assert same.questions == len(TASK.open(classes[0]).sites())
    (other,) = against_heuristic(TASK, classes, answers_of(tmp_path / "never.npz", TASK), "loaded-bytes")
    session = TASK.open(classes[0])
    session.answer(answers_of(tmp_path / "never.npz", TASK))
    assert (other.policy, other.heuristic) == (session.measure("loaded-bytes"), same.heuristic)
    assert other.others > 0


def test_modules_without_questions_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "alone.c").write_text("int twice(int x) { return 2 * x; }\n")
    save_arrays(copier(), tmp_path / "copy.npz")
    alone = TASK.source().load(str(tmp_path / "alone.c")).program
    assert not list(against_heuristic(TASK, [alone], answers_of(tmp_path / "copy.npz", TASK), "loaded-bytes"))


def test_the_mean_is_geometric_and_within_its_interval() -> None:
    rows = [Against("a", 100, 50, 4, 1), Against("b", 100, 100, 4, 0), Against("c", 50, 100, 4, 2)]
    total = summary_of(rows)
    assert (total.ratio, total.total) == (pytest.approx(1.0), pytest.approx(1.0))
    assert total.low < 1.0 < total.high
    assert (total.modules, total.better, total.worse) == (3, 1, 1)
    with pytest.raises(InputError, match="nothing to compare"):
        summary_of([])


def test_only_the_feature_that_a_policy_looks_at_is_important(table: Decisions) -> None:
    found = {item.name: item for item in permutation_importance(copier(), [table])}
    assert set(found) == {
        "heuristic: inline",
        "heuristic: weighed",
        "heuristic: cost",
        "heuristic: threshold",
    }
    moved = found.pop("heuristic: inline")
    assert moved.changed > 0 and moved.cost > 0
    assert all((item.changed, item.cost) == (0.0, 0.0) for item in found.values())


def test_answers_on_a_table_are_those_in_a_session(table: Decisions) -> None:
    policy = load_action_policy(SHIPPED / f"{SHIPPED_POLICY}.npz")
    answers = answers_on(policy, table.rows, observed_by(policy))
    session = TASK.open(PROBLEM.program)
    session.answer(answers_of(SHIPPED / f"{SHIPPED_POLICY}.npz", TASK))
    rows = np.asarray(session.observe("questions"))
    sites = str(session.observe("question-sites")).split("\n")
    first = 0  # until the first answer that is not the heuristic's, both see the same
    while first < len(answers) and answers[first] == table.rows[first, WOULD]:
        assert (sites[first], rows[first, INLINED]) == (table.sites[first], answers[first])
        first += 1
    assert first == len(answers) or rows[first, INLINED] == answers[first]


def test_the_shipped_policy_costs_no_more_on_small_files() -> None:
    policy = answers_of(SHIPPED / f"{SHIPPED_POLICY}.npz", TASK)
    files = [program(name) for name in ("classes.cpp", "hash_table.c", "strings.c", "structs.c")]
    rows = list(against_heuristic(TASK, files, policy, "loaded-bytes"))
    assert sum(row.questions for row in rows) > 40
    assert summary_of(rows).ratio >= 1


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, files = tmp_path / "d.jsonl", [str(DATA / "hash_table.c"), str(DATA / "matrix.c")]
    assert main(["inliner", "decisions", str(out), *files, "--tries", "3", "--match", "hash"]) == 0
    assert "1 more modules" in capsys.readouterr().out
    assert main(["inliner", "decisions", str(out), *files, "--tries", "3", "--match", "hash"]) == 0
    assert "0 more modules" in capsys.readouterr().out
    assert main(["inliner", "compare", SHIPPED_POLICY, str(DATA / "hash_table.c"), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["questions"] > 0
    assert main(["inliner", "importance", SHIPPED_POLICY, str(out), "--json", "--repeats", "1"]) == 0
    names = {json.loads(line)["name"] for line in capsys.readouterr().out.splitlines()}
    assert names == {*FEATURES}
    assert main(["inliner", "decisions", str(out), *files, "--match", "("]) == 2
    assert "--match" in capsys.readouterr().err
    for wrong in (["--sites", "("], ["--sampling-rate", "0"], ["--sampling-rate", "half"]):
        assert main(["inliner", "decisions", str(out), *files, *wrong]) == 2
        assert wrong[0] in capsys.readouterr().err


def test_commands_for_a_share_of_the_modules_and_for_a_vocabulary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, vocabulary = tmp_path / "d.jsonl", tmp_path / "vocab"
    files = [str(DATA / name) for name in ("hash_table.c", "matrix.c", "classes.cpp", "recursion.c")]
    words = [
        str(out),
        *files,
        "--match",
        "hash|classes|recursion",
        "--sampling-rate",
        "0.5",
        "--sites",
        "Stack",
    ]
    assert main(["inliner", "decisions", *words]) == 0
    assert "2 more modules" in capsys.readouterr().out  # half of three, rounded up
    tables = read_json_lines(out, Decisions.from_json)
    assert all("Stack" in site for table in tables for site in table.sites)
    out.unlink()
    assert main(["inliner", "decisions", str(out), *files]) == 0
    assert main(["inliner", "vocabulary", str(vocabulary), str(out), "--quantiles", "11"]) == 0
    lines = (vocabulary / "callee_users.buckets").read_text().splitlines()
    assert len(lines) == 11 and lines == sorted(lines, key=float)
    assert main(["inliner", "vocabulary", str(vocabulary), str(tmp_path / "none.jsonl")]) == 2
    assert "no such file; burnish inliner decisions writes it" in capsys.readouterr().err
