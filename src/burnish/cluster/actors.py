"""Actors: shards that play episodes for a learner until it ends, and get its newest policy in return.

An actor sends the episodes that have ended and the version of the oldest policy with which another began; the
answer is the newest policy, if the actor's is older. Actors connect to the learner, so they may be anywhere.
"""

from __future__ import annotations

import os
import pickle
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Condition, Thread
from typing import Any, NamedTuple

import numpy as np
from gymnasium.vector.utils import iterate

from burnish.cluster.engine import Engine
from burnish.cluster.shards import failure_of, make_folder
from burnish.core.errors import BurnishError
from burnish.envs.vector import VectorEnv
from burnish.learning.agents.async_ppo import Played
from burnish.learning.agents.policy import Policy
from burnish.learning.agents.ppo import draw_actions
from burnish.learning.agents.rollout import begun, record
from burnish.learning.training.algorithms import Note
from burnish.learning.training.chosen_programs import choose
from burnish.learning.training.config import Config, config_of
from burnish.learning.training.learning import PolicySetup, PolicyTraining
from burnish.workers.executor import Shard

ACTORS = "actors"
LOOK_SECONDS = 0.2
LOSSES = 3  # of actors in a row without an episode, after which the training has failed
AHEAD = 2  # iterations' steps, at which actors wait for the learner
LEARNER = "async-ppo"

Address = tuple[str, int]


class Newest(NamedTuple):
    """The learner's newest policy, and its version."""

    version: int
    first: int  # number of the first actor's first program
    policy: Mapping[str, Any]


class ActorPool:
    """See burnish.learning.agents.async_ppo.Actors."""

    def __init__(
        self,
        engine: Engine,
        folder: Path,
        config: Config,
        order: tuple[tuple[int, int], ...],
        *,
        everywhere: bool = False,
    ) -> None:
        """Begin an actor in each slot of an engine.

        Args:
            engine: Where actors run; it is closed by `close`.
            folder: The folder of the engine's shards, which `close` removes.
            config: The configuration of the training.
            order: The programs: see Chosen.order.
            everywhere: Whether actors on other machines may connect.
        """
        make_folder(folder)
        self.count, self.lost = engine.slots, 0
        self._engine, self._folder, self._looked = engine, folder, 0.0
        self._changed = Condition()  # guards all that follows
        self._newest: Newest | None = None
        self._ready: list[Played] = []
        self._oldest: dict[int, int] = {}  # by actor: the oldest version with which an episode in hand began
        self._wanted = 0  # steps, while the learner waits
        self._most = 0  # steps that wait for the learner
        self._losses = self._number = 0
        self._actors: dict[int, int] = {}  # by the number of the engine's batch
        self._closed = False
        key = secrets.token_bytes(32)
        self._listener = Listener(("0.0.0.0" if everywhere else "127.0.0.1", 0), authkey=key)
        name = socket.gethostname() if everywhere else "127.0.0.1"
        self._arguments = (name, self._listener.address[1]), key, config.to_dict(), config.name, order
        Thread(target=self._accept, daemon=True).start()
        for actor in range(self.count):
            self._begin(actor)

    def publish(self, version: int, first: int, policy: Mapping[str, Any]) -> None:
        """See Actors."""
        copied = {name: value.detach().cpu().clone() for name, value in policy.items()}
        with self._changed:
            self._newest = Newest(version, first, copied)
            self._changed.notify_all()

    def take(self, steps: int, oldest: int) -> list[Played]:
        """See Actors.

        Raises:
            BurnishError: LOSSES actors in a row were lost before one sent an episode.
        """

        def complete() -> bool:
            return _steps(self._ready) >= steps and all(one >= oldest for one in self._oldest.values())

        while True:
            if time.monotonic() > self._looked + LOOK_SECONDS:
                self._looked = time.monotonic()
                self._replace()
            with self._changed:
                self._wanted, self._most = steps, AHEAD * steps
                self._changed.notify_all()
                if self._changed.wait_for(complete, LOOK_SECONDS):
                    self._wanted = 0
                    found, self._ready = self._ready, []
                    self._changed.notify_all()
                    return found

    def close(self) -> None:
        """End all actors."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._listener.close()
        self._engine.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self, actor: int) -> None:
        name = f"actor-{actor}-{self._number}"
        self._actors[self._number] = actor
        self._engine.begin(self._number, [Shard(name, act, (*self._arguments, actor, self.count))])
        self._number += 1

    def _replace(self) -> None:
        """Begin new actors for those that were lost."""
        for ended in self._engine.ended(0.0):
            actor = self._actors.pop(ended.number)
            self.lost += 1
            self._losses += 1
            if self._losses >= LOSSES:
                failure = failure_of(self._folder, f"actor-{actor}-{ended.number}").strip()
                why = failure.splitlines()[-1] if failure else ended.lost
                raise BurnishError(f"{LOSSES} actors were lost before one had played an episode: {why}")
            self._begin(actor)

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except (OSError, EOFError, AuthenticationError):
                continue
            Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        """Answer one actor until it or the learner ends."""
        actor = None
        try:
            with connection:
                _send_at_once(connection)
                actor = _receive(connection)
                with self._changed:
                    self._changed.wait_for(lambda: self._newest is not None or self._closed)
                    newest = self._newest
                    assert newest
                    self._oldest[actor] = newest.version
                _send(connection, newest)
                while not self._closed:
                    played, oldest, version = _receive(connection)
                    with self._changed:
                        self._ready += played
                        self._oldest[actor] = oldest
                        self._losses = 0
                        self._changed.notify_all()
                        self._changed.wait_for(self._has_room)
                        newest = self._newest or newest
                    _send(connection, newest if newest.version > version else None)
        except (EOFError, OSError):
            pass
        finally:
            with self._changed:
                if actor is not None:
                    self._oldest.pop(actor, None)
                self._changed.notify_all()

    def _has_room(self) -> bool:
        return self._closed or self._wanted > 0 or _steps(self._ready) < max(self._most, 1)


def _send_at_once(connection: Connection) -> None:
    """Turn off Nagle's algorithm, which holds back the second part of each message for 40 ms."""
    with socket.socket(fileno=os.dup(connection.fileno())) as shared:
        shared.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _send(connection: Connection, item: Any) -> None:
    """Send an object by value; `Connection.send` would share the memory of tensors."""
    connection.send_bytes(pickle.dumps(item, pickle.HIGHEST_PROTOCOL))


def _receive(connection: Connection) -> Any:
    return pickle.loads(connection.recv_bytes())


def _steps(played: list[Played]) -> int:
    return sum(len(one.episode) for one in played)


def act(
    address: Address,
    key: bytes,
    table: Mapping[str, Any],
    name: str,
    order: tuple[tuple[int, int], ...],
    number: int,
    count: int,
) -> int:
    """Play episodes for a learner until it closes the connection; return their number.

    Args:
        address: Where the learner listens.
        key: Its secret.
        table: Config.to_dict() of the training.
        name: The configuration's name.
        order: The programs: see Chosen.order.
        number: The actor's number.
        count: The number of actors.
    """
    config = config_of(table, name)
    setup = PolicySetup(config)
    programs = choose(config.programs, "programs", setup.task)
    envs = VectorEnv(partial(setup.env, programs.ordered(order)), config.environment.count)
    player = _Player(envs, setup.policy().eval(), number)
    try:
        with Client(address, authkey=key) as connection:
            _send_at_once(connection)
            _send(connection, number)
            player.take(_receive(connection))
            player.begin(count)
            while True:
                if played := player.play():
                    _send(connection, (played, min(player.versions), player.version))
                    if newest := _receive(connection):
                        player.take(newest)
    except (EOFError, ConnectionError):
        return player.episodes
    finally:
        envs.close()


class _Player:
    """Plays in all environments, each of which goes on as soon as it is ready."""

    def __init__(self, envs: VectorEnv, policy: Policy, number: int) -> None:
        self._envs, self._policy, self._number = envs, policy, number
        self._rng = np.random.default_rng((number, os.getpid()))
        self.version = self._first = self.episodes = 0
        self.versions = [0] * envs.num_envs  # of the policy with which each environment's episode began

    def take(self, newest: Newest) -> None:
        """Act by a newer policy from now on."""
        self.version, self._first = newest.version, newest.first
        self._policy.load_state_dict(newest.policy)

    def begin(self, count: int) -> None:
        """Begin the first episodes."""
        envs = self._envs
        for env in envs.envs:
            env.sampler.stride = count * envs.num_envs
        observed, infos = envs.reset(seed=self._first + self._number * envs.num_envs)
        starts = zip(iterate(envs.observation_space, observed), infos["mask"], infos["program"], strict=True)
        self._playing = [[begun(*start)] for start in starts]
        self.versions = [self.version] * envs.num_envs
        self._act(list(range(envs.num_envs)))

    def play(self) -> list[Played]:
        """Wait for steps, and act in their environments; return the episodes that ended."""
        over, going = [], []
        for i, step in self._envs.ready():
            episodes = self._playing[i]
            if record(episodes, step):
                over.append(Played(episodes[-1], self.versions[i]))
                self._envs.send(i, 0)  # begins the next episode
                self.versions[i] = self.version
            else:
                del episodes[:-1]
                going.append(i)
        if going:
            self._act(going)
        self.episodes += len(over)
        return over

    def _act(self, numbers: list[int]) -> None:
        episodes = [self._playing[i][-1] for i in numbers]
        masks = np.stack([episode.masks[-1] for episode in episodes])
        observations = [episode.observations[-1] for episode in episodes]
        actions, notes = draw_actions(self._policy, observations, masks, self._rng.random(len(numbers)))
        for i, episode, action, note in zip(numbers, episodes, actions.tolist(), notes, strict=True):
            episode.actions.append(action)
            episode.notes.append(note)
            self._envs.send(i, action)


class ActorTraining(PolicyTraining):
    """A Training of AsyncPPO, whose actors run on an engine."""

    def __init__(
        self,
        config: Config,
        folder: Path,
        note: Note,
        *,
        open_engine: Callable[[Path], Engine],
        everywhere: bool = False,
    ) -> None:
        """See PolicyTraining; `everywhere`: see ActorPool."""
        self._open_engine, self._everywhere = open_engine, everywhere
        super().__init__(config, folder, note)

    def close(self) -> None:
        """See Training; the actors end, too."""
        self.learner.actors.close()
        super().close()

    def _of_learner(self, settings: Any, folder: Path, note: Note) -> dict[str, Any]:
        shards = folder / ACTORS
        shutil.rmtree(shards, ignore_errors=True)  # of a learner that was killed
        engine, order = self._open_engine(shards), self.programs.order
        return {"actors": ActorPool(engine, shards, self.config, order, everywhere=self._everywhere)}
