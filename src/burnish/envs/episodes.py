"""The log of episodes, in JSON lines."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class EpisodeRecord:
    """The record of one episode; the lists have one entry per step."""

    task: str  # with its version
    program: str
    digest: str  # Program.digest
    objective: str
    reward: str  # the reward's form
    start: float  # the cost before the first step
    baselines: Mapping[str, float]  # their costs
    began: float  # seconds since 1970
    trace: list[str] = field(default_factory=list)
    costs: list[float | None] = field(default_factory=list)  # None: not measured
    rewards: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    ended: str = "abandoned"  # or terminated, truncated, crashed, stopped
    error: str = ""
    """The crash's message; the action that crashed the compiler is in `trace`, though it had no effect."""


class EpisodeLog:
    """Appends episodes to a file, one line each; several processes can write to the same file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._episode: EpisodeRecord | None = None
        self._looked = 0.0

    def begin(self, episode: EpisodeRecord) -> None:
        """Begin an episode; an unfinished one is first written as abandoned, if it has a step."""
        self.abandon()
        self._episode = episode
        self._looked = time.perf_counter()

    def expect(self) -> None:
        """Start the clock of a step."""
        self._looked = time.perf_counter()

    def step(self, entry: str, reward: float, cost: float | None) -> None:
        """Add a step."""
        if episode := self._episode:
            episode.trace.append(entry)
            episode.rewards.append(reward)
            episode.costs.append(cost)
            episode.seconds.append(round(time.perf_counter() - self._looked, 6))

    def end(self, how: str, error: str = "") -> None:
        """Write the episode; `how` it ended is a value of EpisodeRecord.ended."""
        episode, self._episode = self._episode, None
        if episode:
            episode.ended, episode.error = how, error
            append_line(self.path, json.dumps(asdict(episode)))

    def abandon(self) -> None:
        """Write an unfinished episode as abandoned, if it has a step."""
        if self._episode and self._episode.trace:
            self.end("abandoned")
        self._episode = None


def append_line(path: Path, line: str) -> None:
    """Append one line in one write, so that lines of several processes do not mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(descriptor, line.encode() + b"\n")
    finally:
        os.close(descriptor)
