"""Observations as Gymnasium spaces."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from burnish.core.objective import GraphArrays
from burnish.envs.env import Env
from burnish.envs.env_spaces import Content, as_member, space_of
from tests.core.counting_task import OBSERVATIONS, TASK, counters

PROGRAMS = [counters("a=8"), counters("a=6 b=4"), counters("c=900 d=1 e=3")]


def test_every_kind_has_its_space() -> None:
    found = {name: type(space_of(item)) for name, item in OBSERVATIONS.items()}
    assert found == {
        "values": spaces.Box,
        "shares": spaces.Box,
        "text": Content,
        "bytes": Content,
        "digits": spaces.Sequence,
        "shares-of-each": spaces.Sequence,
        "order": spaces.Graph,
    }


def test_graph_becomes_an_instance_of_gymnasiums() -> None:
    nodes = np.array([[0, 1], [1, 6], [1, 4]])
    edges = np.array([[0, 1, 0, 0], [0, 2, 0, 1]])
    env = Env(TASK, counters("a=6 b=4"), observation="order", limits=None)
    observed, _ = env.reset()
    assert isinstance(observed, spaces.GraphInstance)
    assert isinstance(observed.nodes, np.ndarray) and isinstance(observed.edges, np.ndarray)
    assert isinstance(observed.edge_links, np.ndarray)
    assert observed.nodes.tolist() == nodes.tolist()
    assert observed.edge_links.tolist() == edges[:, :2].tolist()
    assert observed.edges.tolist() == edges[:, 2:].tolist()


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_observations_lie_in_their_space_down_to_the_empty_program(name: str) -> None:
    env = Env(TASK, counters("a=2 b=1"), observation=name, limits=None)
    observed, _ = env.reset()
    assert observed in env.observation_space
    terminated = False
    while not terminated:
        observed, _, terminated, _, _ = env.step(TASK.actions.index("subtract(1)"))
        assert observed in env.observation_space


def test_what_does_not_fit_is_outside() -> None:
    graph = space_of(OBSERVATIONS["order"])
    nodes = np.array([[0, 1]])
    assert as_member(GraphArrays(nodes, np.zeros((0, 4), dtype=np.int64))) in graph
    assert as_member(GraphArrays(nodes, np.array([[0, 0, 0, 0]]))) in graph
    assert as_member(GraphArrays(nodes, np.array([[0, 1, 0, 0]]))) not in graph  # no such node
    assert as_member(GraphArrays(nodes, np.array([[0, 0, -1, 0]]))) not in graph  # no such flow
    assert as_member(GraphArrays(np.array([[0, 1001]]), np.zeros((0, 4), dtype=np.int64))) not in graph
    digits = space_of(OBSERVATIONS["digits"])
    assert np.array([97, 127]) in digits
    assert np.array([97, 128]) not in digits


@pytest.mark.parametrize("name", OBSERVATIONS)
def test_samples_lie_in_their_space(name: str) -> None:
    space = space_of(OBSERVATIONS[name])
    space.seed(3)
    assert all(space.sample() in space for _ in range(5))
    assert space == space_of(OBSERVATIONS[name])


@pytest.mark.parametrize("name", ["digits", "shares-of-each", "order", "text"])
def test_vectors_of_what_has_no_fixed_size_are_tuples(name: str) -> None:
    several = gymnasium.vector.SyncVectorEnv(
        [lambda: Env(TASK, PROGRAMS, observation=name, limits=None) for _ in PROGRAMS]
    )
    observed, _ = several.reset(seed=0)
    assert isinstance(several.observation_space, spaces.Tuple)
    assert observed in several.observation_space
    assert len(observed) == len(PROGRAMS)


def test_flattening_keeps_graphs_and_sequences() -> None:
    """There is no vector of fixed size for them: Gymnasium's wrapper flattens their rows."""
    for name, kind in (("order", spaces.Graph), ("shares-of-each", spaces.Sequence)):
        env = gymnasium.wrappers.FlattenObservation(Env(TASK, PROGRAMS, observation=name, limits=None))
        observed, _ = env.reset()
        assert isinstance(env.observation_space, kind)
        assert observed in env.observation_space
