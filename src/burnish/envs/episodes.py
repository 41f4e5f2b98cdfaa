"""The log of episodes, as JSON lines."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class EpisodeRecord:
    """What happened in one episode; the lists have one entry for each step."""

    task: str  # with its version
    program: str
    digest: str  # Program.digest
    objective: str
    reward: str  # its form
    start: float  # the cost before the first step
    baselines: Mapping[str, float]
    began: float  # seconds since 1970
    trace: list[str] = field(default_factory=list)
    costs: list[float | None] = field(default_factory=list)  # None: not measured
    rewards: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    ended: str = "abandoned"  # or terminated, truncated, crashed
    error: str = ""
    """Of a crash; the action that the compiler died of is in `trace`, though it has no effect."""


class EpisodeLog:
    """Appends episodes to a file, one line each; several processes can write to the same one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._episode: EpisodeRecord | None = None
        self._looked = 0.0

    def begin(self, episode: EpisodeRecord) -> None:
        """Begin an episode; one that has not ended is written as abandoned, if it had a step."""
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
        """Write the episode."""
        episode, self._episode = self._episode, None
        if episode:
            episode.ended, episode.error = how, error
            append_line(self.path, json.dumps(asdict(episode)))

    def abandon(self) -> None:
        """Write the episode that has not ended, if it had a step."""
        if self._episode and self._episode.trace:
            self.end("abandoned")
        self._episode = None


def append_line(path: Path, line: str) -> None:
    """Append one line in one write: lines of several processes do not mix."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        os.write(descriptor, line.encode() + b"\n")
    finally:
        os.close(descriptor)
