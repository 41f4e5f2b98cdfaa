"""Graphs, tokens and vectors as observations."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from burnish.core.objective import GraphArrays
from burnish.envs.env import Env
from burnish.llvm.modules.session import ModuleSession
from burnish.llvm.representations.graph import block_graph, call_graph, program_graph, tokens
from burnish.llvm.representations.ir2vec import program_vector
from burnish.llvm.representations.vocabulary import shipped_vocabulary
from burnish.tasks.llvm_passes import TASK
from tests.sources import program

GRAPHS = {"programl": program_graph, "cfg": block_graph, "callgraph": call_graph}


@pytest.fixture
def session() -> ModuleSession:
    opened = TASK.open(program("hash_table.c"))
    assert isinstance(opened, ModuleSession)
    opened.apply(opened.index("sroa<modify-cfg>"))
    return opened


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_are_of_the_current_state(name: str, session: ModuleSession) -> None:
    observed = session.observe(name)
    expected = GRAPHS[name](session.module)
    assert isinstance(observed, GraphArrays)
    assert (observed.nodes == expected.nodes).all()
    assert (observed.edges == expected.edges).all()
    assert expected.columns == TASK.observations[name].columns


def test_tokens_and_vector_are_of_the_current_state(session: ModuleSession) -> None:
    assert np.array_equal(session.observe("tokens"), tokens(session.module))
    assert np.array_equal(session.observe("ir2vec"), program_vector(session.module))


def test_tokens_are_below_their_bound() -> None:
    assert len(shipped_vocabulary()) - 1 <= TASK.observations["tokens"].high


@pytest.mark.usefixtures("nothing_left")
def test_environment_observes_a_graph() -> None:
    env = Env(TASK, program("matrix.c"), observation="programl", max_steps=2)
    observed, _ = env.reset()
    assert isinstance(observed, gymnasium.spaces.GraphInstance)
    assert env.observation_space.contains(observed)
    assert isinstance(observed.nodes, np.ndarray)
    before = len(observed.nodes)
    observed, *_ = env.step(env.task.actions.index("sroa<modify-cfg>"))
    assert env.observation_space.contains(observed)
    assert len(observed.nodes) < before
    assert np.asarray(observed.edge_links).max() < len(observed.nodes)
    env.close()
