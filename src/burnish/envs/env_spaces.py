"""An environment's action space and observation space, made from its task."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from burnish.core.argument_checks import names_in, whole_number_in
from burnish.core.errors import IllegalAction, InputError, UnknownName
from burnish.core.objective import GraphArrays, Observation
from burnish.core.task import Task
from burnish.core.trace import WHOLE_PROGRAM, entry
from burnish.core.view import Mask, Observed


class ActionSpace:
    """Actions as the numbers of a space.

    Number `s * n + a` is action `a` of n: on the whole program (s = 0), or at the s-th site.

    Attributes:
        names: The names of the n actions.
        sites: The number of sites with actions, beside the whole program.
        texts: The text of each number: `gvn` on the whole program, `#2: gvn` at the second site.
        space: Discrete((1 + sites) * n).
    """

    def __init__(self, task: Task, names: Sequence[str] | None, sites: int) -> None:
        """Take some of a task's actions, or all of its actions (None).

        Raises:
            InputError: `names` is empty, or has a name twice.
            UnknownName: the task has no such action.
        """
        self.names = task.actions if names is None else names_in("actions", names)
        self.sites = sites = whole_number_in("sites", sites, 0)
        self.texts = tuple(
            entry(name, f"#{place}" if place else WHOLE_PROGRAM)
            for place in range(1 + sites)
            for name in self.names
        )
        self._indices = _indices(task.actions, self.names)
        self._count = (1 + sites) * len(self.names)
        self.space = gymnasium.spaces.Discrete(self._count)
        self._task_count = len(task.actions)

    def decode(self, number: int, sites: Sequence[str]) -> tuple[int, str]:
        """Return an action's index in the task, and its site.

        Raises:
            IllegalAction: the number is outside the space, or the program has fewer sites.
        """
        try:
            at, choice = divmod(operator.index(number), len(self.names))
        except TypeError:
            raise IllegalAction(f"action {number!r}: expected {self._expected}") from None
        if not 0 <= at < len(sites):
            if not 0 <= number < self._count:
                raise IllegalAction(f"action {number}: expected {self._expected}")
            raise IllegalAction(
                f"action {number} is {self.texts[number]!r}, but the program has {len(sites) - 1} "
                "sites; info['mask'] marks the legal actions"
            )
        return int(self._indices[choice]), sites[at]

    @property
    def _expected(self) -> str:
        return f"a whole number, 0 to {self._count - 1}; info['mask'] marks the legal ones"

    def nothing(self) -> Mask:
        """Return a mask without legal actions."""
        return np.zeros(self._count, dtype=bool)

    def legal(self, mask: Mask) -> Mask:
        """Return a session's mask as a mask of the space: False for sites that the program lacks.

        Args:
            mask: bool[(1 + the program's sites) * the task's actions].
        """
        if len(self.names) != self._task_count:
            mask = mask.reshape(-1, self._task_count)[:, self._indices].ravel()
        if len(mask) == self._count:
            return mask
        whole = self.nothing()  # ten times as fast as np.pad
        whole[: len(mask)] = mask
        return whole


class ObservationSpace:
    """One observation, or a Dict of several.

    Attributes:
        names: The observations' names, each once.
        space: The Gymnasium space of `member`'s values.
    """

    def __init__(self, task: Task, names: str | Sequence[str] | None) -> None:
        """Take some of a task's observations, or the first one (None).

        Raises:
            InputError: `names` is empty.
            UnknownName: the task has no such observation.
        """
        self._several = not (names is None or isinstance(names, str))
        wanted = (names,) if names is None or isinstance(names, str) else names_in("observation", names)
        self.names = tuple(dict.fromkeys(task.observation(name).name for name in wanted))
        if not self.names:
            raise InputError("an environment needs at least one observation")
        spaces = {name: space_of(task.observation(name)) for name in self.names}
        self.space: gymnasium.Space[Any] = (
            gymnasium.spaces.Dict(list(spaces.items())) if self._several else spaces[self.names[0]]
        )

    def member(self, observed: Sequence[Observed]) -> Any:
        """Return a session's observed values, given in the order of `names`, as a member of the space."""
        if self._several:
            return {name: as_member(value) for name, value in zip(self.names, observed, strict=True)}
        return as_member(observed[0])


def _indices(known: Sequence[str], names: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    index = {name: i for i, name in enumerate(known)}
    if not names or len(set(names)) != len(names):
        raise InputError(f"actions={list(names)!r:.80}: expected one or more, each only once")
    for name in names:
        if name not in index:
            raise UnknownName.among("action", name, index)
    return np.array([index[name] for name in names], dtype=np.int64)


class Content(spaces.Space[Any]):
    """Text or bytes of any length, such as a module's IR or its bitcode."""

    def __init__(self, kind: type[str] | type[bytes], seed: int | np.random.Generator | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)
        self.kind = kind

    def sample(self, mask: Any | None = None, probability: Any | None = None) -> str | bytes:
        """Return up to 64 random letters."""
        letters = self.np_random.integers(97, 123, size=int(self.np_random.integers(0, 65)), dtype=np.uint8)
        return letters.tobytes().decode("ascii") if self.kind is str else letters.tobytes()

    def contains(self, x: Any) -> bool:
        """Return whether a value is of the right type."""
        return isinstance(x, self.kind)

    @property
    def is_np_flattenable(self) -> bool:
        """False, because the length varies."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Content) and other.kind is self.kind

    def __hash__(self) -> int:
        return hash(self.kind)

    def __repr__(self) -> str:
        return f"Content({self.kind.__name__})"


def space_of(observation: Observation) -> spaces.Space[Any]:
    """Return the Gymnasium space of an observation's values."""
    match observation.kind:
        case "text":
            return Content(str)
        case "bytes":
            return Content(bytes)
        case "graph":
            edge = spaces.Box(0, _most(np.dtype(np.int64)), shape=(2,), dtype=np.int64)  # flow, position
            return spaces.Graph(_box(observation), edge)
        case "sequence":
            return spaces.Sequence(_element(observation), stack=True)
        case "array":
            return _box(observation)


def as_member(observed: Observed) -> Any:
    """Return an observed value as a member of its space; a graph becomes Gymnasium's GraphInstance.

    Its nodes are int64[N, C], edges int64[E, 2] (flow, position), edge_links int64[E, 2] (source, target).
    """
    if isinstance(observed, GraphArrays):
        edges = observed.edges
        return spaces.GraphInstance(observed.nodes, edges[:, 2:], edges[:, :2])
    return observed


def _element(observation: Observation) -> spaces.Space[Any]:
    """Return the space of a sequence's elements; single integers must be Discrete for Gymnasium."""
    dtype = np.dtype(observation.dtype)
    if observation.shape or dtype.kind not in "iu":
        return _box(observation)
    low = int(observation.low)
    high = int(min(observation.high, _most(dtype)))
    return spaces.Discrete(high - low + 1, start=low)


def _box(observation: Observation) -> spaces.Box:
    dtype = np.dtype(observation.dtype)
    high = observation.high
    if dtype.kind in "iu":
        high = min(high, _most(dtype))
    return spaces.Box(
        low=np.full(observation.shape, observation.low, dtype=dtype),
        high=np.full(observation.shape, high, dtype=dtype),
        dtype=dtype.type,
    )


def _most(dtype: np.dtype[Any]) -> int:
    """Return the largest bound that Gymnasium can sample up to; sampling adds 1 to it."""
    return int(np.iinfo(dtype).max) - 1
