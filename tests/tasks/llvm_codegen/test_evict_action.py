"""A policy of evictions as an action: in all functions, in some, or in none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from burnish.cli import main
from burnish.core.errors import InputError
from burnish.core.program import Program
from burnish.llvm.corpora.kernels import load_kernel
from burnish.policies.arrays import save_arrays
from burnish.policies.find import find_guide, setting_of
from burnish.tasks.llvm_codegen import TASK, CodegenOptions, make_codegen
from burnish.tasks.llvm_codegen.actions import ACTIONS, EVICT
from burnish.tasks.llvm_codegen.observations import DECISIONS
from burnish.tasks.llvm_codegen.session import CodegenSession, open_program
from tests.sources import DATA
from tests.tasks.llvm_codegen.policy.test_scorer import scorer


def saved(folder: Path, seed: int = 2) -> Path:
    policy = scorer(seed).policy
    card = {**policy.card, "kind": "evictions", "task": TASK.id}
    save_arrays(type(policy)(**{**vars(policy), "card": card}), path := folder / "policy.npz")
    return path


def sha256() -> Program:
    return load_kernel("sha256", ["small"])


def test_the_policy_decides_in_the_functions_whose_decision_it_is(tmp_path: Path) -> None:
    options = CodegenOptions(pipeline="O2", evict_policy=str(saved(tmp_path)))
    task = make_codegen(options)
    assert task.actions == (*ACTIONS, EVICT)
    session = task.open(sha256())
    assert isinstance(session, CodegenSession)
    plain = open_program(sha256(), CodegenOptions(pipeline="O2"))
    everywhere = plain.generate(scorer(2).native)
    assert session.object_code() == plain.object_code()
    assert everywhere.code != plain.object_code()
    whole = session.fork()
    assert whole.apply(session.index(EVICT))
    assert whole.object_code() == everywhere.code
    llvms = plain.generation().spill_costs
    (name, *_) = [one for one in llvms if llvms[one] != everywhere.spill_costs[one]]
    one = session.fork()
    one.apply(session.index(EVICT), name)
    costs = one.site_costs("spill-cost")
    assert {at: costs[at] for at in llvms} == {**llvms, name: everywhere.spill_costs[name]}
    log = one.evictions()
    decided = np.array([function == name for function in log.functions])
    assert (log.chosen[decided] >= 0).all() and (log.chosen[~decided] == -1).all()
    rows = dict(zip(one.sites(), np.asarray(one.observe(DECISIONS)), strict=True))
    assert task.observation(DECISIONS).columns[-1] == EVICT
    assert [site for site, row in rows.items() if row[-1]] == [name]
    again = task.open(sha256())
    again.replay(one.trace)
    assert again.digest() == one.digest()
    one.apply(session.index("default"), name)
    assert one.object_code() == plain.object_code()


def test_a_policy_of_evictions_is_a_setting_of_the_task(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path)
    assert setting_of(str(path), TASK) == "evict_policy"
    with pytest.raises(InputError, match="does not guide a search; use --evict-policy"):
        find_guide(str(path), TASK, "spill-cost")
    with pytest.raises(InputError, match=r"none\.npz: "):
        make_codegen(CodegenOptions(evict_policy=str(tmp_path / "none.npz")))
    monkeypatch.chdir(tmp_path)
    words = ["--task", "llvm_codegen", "--objective", "spill-cost", "--budget", "3 evaluations"]
    command = ["optimize", str(DATA / "hash_table.c"), *words, "--workers", "1", "--result", "found.jsonl"]
    assert main([*command, "--policy", "policy.npz"]) == 0
    assert f'"evict_policy":"{path}"' in Path("found.jsonl").read_text().replace('": "', '":"')
    capsys.readouterr()
    assert main(["replay", "found.jsonl"]) == 0
