"""Export of the best policy to a file that needs no torch, and validation of that file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from burnish.learning.agents.export import export_policy
from burnish.learning.agents.policy import Policy
from burnish.learning.agents.tabular import QTable
from burnish.learning.training.validation import Played, measure
from burnish.policies.choose import ActionPolicy, Actor, choose
from burnish.policies.load import load_action_policy
from burnish.policies.value_table import save_table


class Exported:
    """An exported policy as an Actor."""

    def __init__(self, policy: ActionPolicy) -> None:
        self.policy = policy

    def act(self, observations: Sequence[Any], masks: Any, generator: Any = None) -> NDArray[np.int64]:
        """Choose the most probable action: int64[B]."""
        return choose(self.policy.log_probs(observations, np.asarray(masks)))


def export(
    policy: Policy | QTable,
    actions: tuple[str, ...],
    folder: Path,
    described: Mapping[str, Any],
    play: Callable[[Actor], list[Played]],
) -> tuple[Path, dict[str, Any]]:
    """Write a policy, with further facts, and validate the file: (path, the results for the card).

    `play` plays the validation programs with an actor.
    """
    if isinstance(policy, QTable):
        path = folder / "policy.npz"
        save_table(path, policy.as_policy(actions, described))
    else:
        path = export_policy(policy, folder, described)
    played = play(Exported(load_action_policy(path)))
    ratios = {item.program: round(item.ratio, 6) for item in played}
    return path, {"exported": measure(played), "ratios": ratios}
