"""Fits to the credit of single answers, judged on projects that they do not see.

    burnish train inlining-credit
    python benchmarks/answer_votes.py runs/inlining-credit/decisions.jsonl [FILE ...] [--members 9]
                                      [--seeds 3] [--out benchmarks/results/answer_votes]

For each project, networks are fitted to the tried answers of all others. Its own tried answers tell what a
policy would save there: the changes of the cost by the answers that the policy gives otherwise than LLVM's
heuristic, scaled from the tried questions to all, over the module's cost. That is exact where answers do not
influence each other. Compared are one network without a margin, one with a margin in the heuristic's favour
(`algorithm.fit.members=0`), and the vote of several at each mean vote that the configuration tries. --out
gets rows.jsonl, a row for each module, and table.txt.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from kit.kept import keep
from numpy.typing import NDArray

from burnish.core.registry import load_task
from burnish.files import read_json_lines
from burnish.learning.agents.learner import seeded_torch
from burnish.learning.agents.policy import Policy
from burnish.learning.networks.build_encoder import build_encoder
from burnish.learning.networks.mlp import MLP
from burnish.tasks.llvm_inlining.observations import INLINING_FEATURES, WOULD
from burnish.tasks.llvm_inlining.policy.decisions import Decisions, Rows, observations_of
from burnish.tasks.llvm_inlining.train.answer_fitting import (
    Fitting,
    FittingConfig,
    begin,
    difference,
    fit_member,
    judged,
    undecided,
    with_untried,
)
from burnish.tasks.llvm_inlining.train.votes import vote, voting_widths

TASK = load_task("llvm_inlining")
FIT = FittingConfig(untried=1.0, epochs=30, learning_rate=1e-3, weight_decay=0.1)
ALONE, MEMBER = [78, 64, 32], [78, 32, 16]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("decisions", type=Path, nargs="+", metavar="FILE")
    parser.add_argument("--members", type=int, default=9)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "answer_votes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep(rows(read(options.decisions), options.members, options.seeds), options.out, table)


def read(paths: Sequence[Path]) -> list[Decisions]:
    """Return the modules' decisions, each module once; answers that one of the files has are tried."""
    found: dict[str, Decisions] = {}
    for path in paths:
        for one in read_json_lines(path, Decisions.from_json, appended=True):
            if not one.trace and len(one.rows):
                before = found.get(one.digest, one).changes
                changes = np.where(np.isfinite(one.changes), one.changes, before)
                found[one.digest] = replace(one, changes=changes)
    return [one for one in found.values() if one.tried.any()]


def rows(tables: Sequence[Decisions], members: int, seeds: int) -> Iterator[dict[str, Any]]:
    """Yield a row for each module, way of fitting, and seed."""
    for project in sorted({project_of(one) for one in tables}):
        others = [one for one in tables if project_of(one) != project]
        for seed in range(seeds):
            for way, policy in fits(others, members, seed):
                for one in tables:
                    if project_of(one) == project:
                        answers = differences(policy, one.rows) > 0
                        row = {"program": one.program, "way": way, "seed": seed}
                        yield row | {"saved": saved(one, answers)}


def project_of(table: Decisions) -> str:
    return table.program.partition("/")[0]


def fits(tables: Sequence[Decisions], members: int, seed: int) -> Iterator[tuple[str, Policy]]:
    """Yield the ways of fitting, each with its policy; a policy holds until the next one is asked for."""
    asked = np.concatenate([one.rows for one in tables])
    for margin in (0.0, 1.0):
        config, policy = replace(FIT, margin=margin), new_policy(ALONE, seed)
        begin(policy, asked, seed=seed)
        Fitting(policy, undecided(asked, 1.0), config, seed=seed).fit(20)
        data = with_untried(judged(tables, margin), tables, config, seed=seed)
        Fitting(policy, data, config, seed=seed).fit(config.epochs)
        yield f"one network, margin {margin:g}", policy
    voters = [new_policy(MEMBER, members * seed + number) for number in range(members)]
    for number, voter in enumerate(voters):
        fit_member(voter, tables, FIT, seed=members * seed + number)
    assert isinstance(voters[0].encoder, MLP)
    policy = new_policy(voting_widths(members, voters[0].encoder.config), seed)
    for needed in FIT.needed[1:]:
        vote(policy, voters, full=FIT.full_vote, needed=needed)
        yield f"{members} networks, mean vote {needed:g}", policy


def new_policy(hidden: Sequence[int], seed: int) -> Policy:
    with seeded_torch(seed, 0):
        encoder = build_encoder({"hidden": hidden}, TASK, INLINING_FEATURES)
        return Policy(encoder, TASK.actions, critic="none")


def differences(policy: Policy, rows: Rows) -> NDArray[Any]:
    with torch.no_grad():
        return difference(policy, policy.collate(observations_of(rows, INLINING_FEATURES))).numpy()


def saved(table: Decisions, answers: NDArray[np.bool_]) -> float:
    """Return the share of the module's cost that answers save, by the answers that were tried."""
    otherwise = table.tried & (answers != (table.rows[:, WOULD] == 1))
    scale = len(table.rows) / table.tried.sum()
    return float(-table.changes[otherwise].sum() * scale / table.cost)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, as Markdown: means over modules, for each seed."""
    lines = ["| fitted | saved | worst module | modules better, worse |", "|---" * 4 + "|"]
    for way in dict.fromkeys(row["way"] for row in rows):
        seeds = sorted({row["seed"] for row in rows if row["way"] == way})
        own = [
            np.array([row["saved"] for row in rows if (row["way"], row["seed"]) == (way, seed)])
            for seed in seeds
        ]
        means = ", ".join(f"{100 * one.mean():+.2f}" for one in own)
        counts = "; ".join(f"{(one > 0).sum()}, {(one < 0).sum()}" for one in own)
        worst = 100 * min(one.min() for one in own)
        lines.append(f"| {way} | {means} % | {worst:+.1f} % | {counts} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
