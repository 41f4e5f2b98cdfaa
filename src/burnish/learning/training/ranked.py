"""A training on several ranks: rank 0 runs the loop, and the others do what it does with the learner.

Only rank 0 writes to the run's folder. A rank that dies ends the training with LostRank on all others; it
continues from the last checkpoint, with as many ranks as there are then.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from burnish.core.errors import InputError
from burnish.learning.agents.ranks import LostRank, Ranks, of_this_process
from burnish.learning.training.algorithms import RANKED, TRAININGS, Note, open_training
from burnish.learning.training.config import Config
from burnish.learning.training.learning import PolicyTraining
from burnish.learning.training.loop import Listener, TrainingOutcome, train
from burnish.learning.training.validation import Held, measure, play_all

ITERATE, VALIDATE, LOAD, CLOSE = "iterate", "validate", "load", "close"


def train_rank(
    config: Config, folder: Path, listener: Listener = Listener(), *, wait_seconds: float = 0.0
) -> TrainingOutcome | None:
    """Train as the rank that this process is; see burnish.learning.training.loop.train.

    Returns:
        The outcome in rank 0, and None in the others.

    Raises:
        InputError: as `train`; or the algorithm trains in one process.
        LostRank: another rank was lost; the training continues from its checkpoint.
    """
    rank, count = of_this_process()
    name = config.algorithm["name"]
    if count > 1 and TRAININGS.get(name) != RANKED:
        raise InputError(f"{config.name}: {name} trains in one process, not on {count} ranks; take dd-ppo")
    if rank == 0:
        return train(config, folder, open_training, listener, wait_seconds=wait_seconds)
    training = open_training(config, folder, listener.note)
    assert isinstance(training, RankedTraining)
    training.follow()
    return None


class RankedTraining(PolicyTraining):
    """A Training of DDPPO (burnish.learning.agents.dd_ppo).

    Raises:
        LostRank: another rank was lost; see Ranks.
    """

    def __init__(self, config: Config, folder: Path, note: Note) -> None:
        """See PolicyTraining; all ranks call it."""
        super().__init__(config, folder, note)
        self.ranks: Ranks = self.learner.ranks
        self.held, self.left_out = self.ranks.broadcast((self.held, self.left_out))

    def follow(self) -> None:
        """Do what rank 0 does, until it closes the training."""
        while True:
            name, state = self.ranks.broadcast(None)
            if name == ITERATE:
                super().iterate()
            elif name == VALIDATE:
                self._validate()
            elif name == LOAD:
                super().load_state_dict(state)
            else:
                super().close()
                return

    def iterate(self) -> Mapping[str, float]:
        """See Training."""
        self._tell(ITERATE)
        return {**super().iterate(), "ranks": float(self.ranks.count)}

    def validate(self) -> Mapping[str, float]:
        """See Training; each rank plays a part of the programs."""
        self._tell(VALIDATE)
        return self._validate()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See Training."""
        self._tell(LOAD, state)
        super().load_state_dict(state)

    def close(self) -> None:
        """See Training; the other ranks end, too."""
        with suppress(LostRank):
            self._tell(CLOSE)
        super().close()
        self.ranks.close()

    def _tell(self, name: str, state: Any = None) -> None:
        self.ranks.broadcast((name, state))

    def _validate(self) -> Mapping[str, float]:
        actor, ranks = self.learner.policy, self.ranks
        actor.eval()
        own = self.held[ranks.number :: ranks.count]
        played = play_all(actor, own, self.env, self.config.environment.count) if own else []
        return measure([one for part in ranks.gather(played) for one in part])

    def _hold_out(self, note: Note) -> tuple[list[Held], list[str]]:
        return super()._hold_out(note) if of_this_process()[0] == 0 else ([], [])
