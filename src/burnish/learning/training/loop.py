"""Training loop: iterate, validate, log, keep the best policy, save; until a limit or a request to stop.

The loop is independent of the algorithm. It runs a Training: reinforcement learning (learning.py), or any
other method that improves iteration by iteration. A run is a folder: log.jsonl, checkpoint.pt, config.json,
tensorboard/, and at the end the best policy with its card, and the curves. A killed run continues from its
last checkpoint with the same curve, because the checkpoint holds everything that an iteration depends on.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from burnish.core.errors import InputError
from burnish.files import write_atomically
from burnish.learning.training.card import write_card
from burnish.learning.training.checkpoint import (
    Best,
    Checkpoint,
    diverged,
    load_checkpoint,
    locked,
    save_checkpoint,
)
from burnish.learning.training.config import Config, config_of, difference
from burnish.learning.training.track import LOG, JsonLines, Row, Tracker, open_trackers, plot_log
from burnish.learning.training.validation import NOTHING_YET, SCORE

CONFIG = "config.json"
CURVES = "curves.png"
SERIES = "policies"  # the folder of the policies that RunConfig.keep_every keeps
STOP = "stop"  # a file in the run's folder that ends the run after its iteration, as `Listener.stop` does


class Training(Protocol):
    """A training that improves iteration by iteration."""

    reference: str  # the task's baseline that SCORE compares with, such as "Oz"
    ends: bool  # whether it ends by itself, usually before the limit in iterations

    def iterate(self) -> Mapping[str, float]:
        """Run one iteration and return its metrics.

        "steps", if the training has steps, is their number so far; "finished" above 0 ends the run. The same
        seed gives the same metrics: random state that outlives an iteration is part of `state_dict`.
        """

    def validate(self) -> Mapping[str, float]:
        """Return the current policy's metrics on validation programs; a larger SCORE is better."""

    def state_dict(self) -> dict[str, Any]:
        """Return everything that a continuation needs, as Learner.state_dict does."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from the state of a training with the same configuration."""

    def policy_state(self) -> dict[str, Any]:
        """Return a copy of the current policy, which is exported if no later one is better."""

    def export(self, policy: dict[str, Any], folder: Path) -> tuple[Path, Mapping[str, Any]]:
        """Write a policy that `policy_state` returned for later use: (file, further entries of its card)."""

    def close(self) -> None:
        """End the worker processes."""


@dataclass(frozen=True)
class IterationProgress:
    """Progress report after an iteration."""

    row: Row
    best: Best | None
    reference: str
    seconds_left: float | None  # until the first limit, at the rate so far


@dataclass(frozen=True)
class TrainingOutcome:
    """Outcome of a run."""

    folder: Path
    why: str  # "iterations", "steps", "seconds", "patience", "finished", "interrupted"
    iteration: int
    best: Best | None
    policy: Path | None


@dataclass(frozen=True)
class Listener:
    """Callbacks of a run, one of which may end it."""

    progress: Callable[[IterationProgress], None] = lambda progress: None
    note: Callable[[str], None] = lambda text: None  # shows the current activity
    say: Callable[[str], None] = lambda text: None  # prints a message that stays
    stop: Callable[[], bool] = lambda: False  # called after every iteration; True ends the run
    command: str = ""  # the command line, for the card


def train(
    config: Config,
    folder: Path,
    open_training: Callable[[Config, Path, Callable[[str], None]], Training],
    listener: Listener = Listener(),
    *,
    wait_seconds: float = 0.0,
) -> TrainingOutcome:
    """Train, or continue from the checkpoint in the folder, which is created if needed.

    `open_training` is given the configuration, the folder and `listener.note`.
    `wait_seconds` is the longest wait for another process in the folder that is about to end.

    Raises:
        InputError: the folder has a run of another configuration, or another process trains there; or the
            training diverged: its last checkpoint is kept.
        MissingTool: a required package is not installed.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot make this folder: {error.strerror}") from None
    with locked(folder, wait_seconds):
        checkpoint = load_checkpoint(folder)
        if checkpoint:
            check_same(config, checkpoint, folder)
        write_atomically(folder / CONFIG, json.dumps(config.to_dict(), indent=2).encode() + b"\n")
        training = open_training(config, folder, listener.note)
        try:
            return _Loop(config, folder, training, listener, checkpoint).run()
        finally:
            training.close()


def check_same(config: Config, checkpoint: Checkpoint, folder: Path) -> None:
    """Check that a checkpoint's configuration differs only in what `Config.with_limits_of` replaces.

    Raises:
        InputError: it differs in another key.
    """
    before = config_of(checkpoint.config, "checkpoint")
    keys = difference(before.with_limits_of(config).to_dict(), config.to_dict())
    if keys:
        raise InputError(
            f"{folder}: the run there has another configuration: {', '.join(keys)} "
            f"{'differs' if len(keys) == 1 else 'differ'}; take another --out, or remove the folder"
        )


class _Loop:
    """Mutable state of one run of the loop."""

    def __init__(
        self,
        config: Config,
        folder: Path,
        training: Training,
        listener: Listener,
        checkpoint: Checkpoint | None,
    ) -> None:
        self.config, self.folder, self.training, self.listener = config, folder, training, listener
        self.now = checkpoint or Checkpoint(config.to_dict(), 0, 0, 0.0, 0, 0, {})
        if checkpoint:
            training.load_state_dict(checkpoint.state)
        self.resumed = checkpoint is not None
        self.lines = JsonLines(folder / LOG, self.now.log_bytes)
        self.trackers: list[Tracker] = [self.lines]
        self.began = time.monotonic() - self.now.seconds
        self.score = NOTHING_YET  # of the last validation

    def run(self) -> TrainingOutcome:
        """Iterate until the run is over, and export the best policy."""
        begin = (self.now.steps or self.now.iteration) + 1 if self.resumed else 0
        try:
            self.trackers += open_trackers(self.folder, self.config, begin)
            why = self._iterate()
        finally:
            for tracker in self.trackers:
                tracker.close()
        policy = self._export() if self.now.best else None
        if self.config.track.curves:
            plot_log(self.folder / LOG, self.folder / CURVES)
        return TrainingOutcome(self.folder, why, self.now.iteration, self.now.best, policy)

    def _iterate(self) -> str:
        if self.resumed:
            self.listener.say(f"resuming after iteration {self.now.iteration}")
        else:
            self._record({}, validate=True)  # the score of the untrained policy
            self._save("")
        why = self._limit({}) or self._stale()
        while not why:
            before = time.monotonic()
            metrics = dict(self.training.iterate())
            self._check(metrics)
            elapsed = max(time.monotonic() - before, 1e-9)
            steps = int(metrics.get("steps", 0))
            metrics["steps_per_second"] = (steps - self.now.steps) / elapsed
            self.now = replace(self.now, iteration=self.now.iteration + 1, steps=steps)
            why = self._limit(metrics)
            due = self.now.iteration % self.config.run.validate_every == 0 or self._is_kept()
            self._record(metrics, validate=due or bool(why))
            if not why and (why := self._stale()):
                self.listener.say(self._why_stale())
            why = why or ("interrupted" if self._is_stopped() else "")
            if why or self.now.iteration % self.config.run.checkpoint_every == 0:
                self._save(why)
        return why

    def _record(self, metrics: Mapping[str, float], *, validate: bool) -> None:
        """Validate if `validate`, and log the row of an iteration."""
        row: dict[str, float | int] = {"iteration": self.now.iteration, **metrics}
        if validate:
            self.listener.note("validating")
            before = time.monotonic()
            found = dict(self.training.validate())
            self.score = found[SCORE]
            self._keep(found)
            self._keep_in_series(found)
            row |= {**found, "validation/seconds": time.monotonic() - before}
        self.now = replace(self.now, seconds=time.monotonic() - self.began)
        row["seconds"] = self.now.seconds
        for tracker in self.trackers:
            tracker.log(row)
        told = IterationProgress(row, self.now.best, self.training.reference, self._seconds_left())
        self.listener.progress(told)

    def _keep(self, found: dict[str, float]) -> None:
        """Keep the policy if it is the best so far."""
        best = self.now.best
        if found[SCORE] == NOTHING_YET:
            return
        if best and not found[SCORE] > best.metrics[SCORE]:
            self.now = replace(self.now, stale=self.now.stale + 1)
            return
        best = Best(self.now.iteration, found, self.training.policy_state())
        self.now = replace(self.now, best=best, stale=0)

    def _is_kept(self) -> bool:
        every = self.config.run.keep_every
        return every is not None and self.now.iteration % every == 0

    def _keep_in_series(self, found: dict[str, float]) -> None:
        """Write the policy of this iteration with its card, if the series has it."""
        if not self._is_kept() or found[SCORE] == NOTHING_YET:
            return
        folder = self.folder / SERIES
        folder.mkdir(exist_ok=True)
        one = Best(self.now.iteration, found, self.training.policy_state())
        written, more = self.training.export(one.policy, folder)
        path = written.replace(folder / f"iteration-{one.iteration:06}{written.suffix}")
        write_card(path, self.config, one, self.now, more, self.listener.command)

    def _save(self, why: str) -> None:
        self.now = replace(
            self.now,
            config=self.config.to_dict(),
            log_bytes=self.lines.size_bytes,
            state=self.training.state_dict(),
            finished="" if why == "interrupted" else why,
        )
        save_checkpoint(self.folder, self.now)

    def _check(self, metrics: Mapping[str, float]) -> None:
        wrong = [name for name, value in metrics.items() if name.startswith("loss") and math.isnan(value)]
        if wrong:
            raise diverged(f"{wrong[0]} is not a number in iteration {self.now.iteration + 1}")

    def _limit(self, metrics: Mapping[str, float]) -> str:
        run = self.config.run
        if metrics.get("finished", 0) > 0 or self.now.finished == "finished":
            return "finished"
        if run.iterations is not None and self.now.iteration >= run.iterations:
            return "iterations"
        if run.steps is not None and self.now.steps >= run.steps:
            return "steps"
        elapsed = time.monotonic() - self.began
        return "seconds" if run.seconds is not None and elapsed >= run.seconds else ""

    def _is_stopped(self) -> bool:
        return self.listener.stop() or (self.folder / STOP).exists()

    def _stale(self) -> str:
        patience = self.config.run.patience
        return "patience" if patience is not None and self.now.stale >= patience else ""

    def _why_stale(self) -> str:
        best = self.now.best
        assert best
        kept = f"the policy of iteration {best.iteration}, which is kept"
        return (
            f"stopping after iteration {self.now.iteration}: {self.now.stale} validations in a row were not "
            f"better than {kept}: {best.metrics[SCORE]:.4f}, the last one {self.score:.4f}"
        )

    def _seconds_left(self) -> float | None:
        """Return the seconds until the first limit, at the rate so far; None if unknown."""
        run, now = self.config.run, self.now
        iterations = None if self.training.ends else run.iterations
        done = [(iterations, now.iteration), (run.steps, now.steps), (run.seconds, now.seconds)]
        left = [now.seconds * (limit - count) / count for limit, count in done if limit is not None and count]
        return max(0.0, min(left)) if left else None

    def _export(self) -> Path:
        best = self.now.best
        assert best
        self.listener.note("exporting the best policy")
        path, more = self.training.export(best.policy, self.folder)
        write_card(path, self.config, best, self.now, more, self.listener.command)
        return path
