"""Graphs of observations as networkx's, with named columns, flows and positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from burnish.core.errors import InputError, MissingTool, install
from burnish.core.objective import GraphArrays
from burnish.core.session import Session
from burnish.core.task import Task

if TYPE_CHECKING:
    from networkx import MultiDiGraph


def observed_networkx(task: Task, session: Session, name: str) -> MultiDiGraph[int]:
    """Observe a graph, and return it as networkx's; `text` is an attribute of nodes if the task has texts.

    Raises:
        UnknownName: the task has no such observation.
        InputError: the observation is not a graph.
        MissingTool: networkx is not installed.
    """
    observation = task.observation(name)
    if observation.kind != "graph":
        known = ", ".join(one.name for one in task.observations.values() if one.kind == "graph")
        raise InputError(f"{name}: {observation.kind}; expected a graph: {known or f'{task.name} has none'}")
    arrays = session.observe(name)
    assert isinstance(arrays, GraphArrays)
    texts = (
        str(session.observe(observation.texts)).splitlines()[: len(arrays.nodes)] if observation.texts else ()
    )
    return to_networkx(arrays, observation.columns, observation.flows, observation.position, texts)


def to_networkx(
    graph: GraphArrays,
    columns: Sequence[str],
    flows: Sequence[str] = (),
    position: str = "position",
    texts: Sequence[str] = (),
) -> MultiDiGraph[int]:
    """Return a networkx graph; the nodes are the rows' numbers.

    Args:
        graph: The arrays.
        columns: The names of the nodes' columns, which become attributes.
        flows: The names of flows; without names, the attribute `flow` of an edge is its number.
        position: The name of the edges' last column.
        texts: The attribute `text` of each node; () leaves it out.

    Raises:
        MissingTool: networkx is not installed.
    """
    try:
        from networkx import MultiDiGraph
    except ImportError:
        raise MissingTool(f"networkx is not installed; {install('train')}") from None
    made: MultiDiGraph[int] = MultiDiGraph()
    for number, row in enumerate(graph.nodes.tolist()):
        made.add_node(number, **dict(zip(columns, row, strict=True)))
    for number, text in enumerate(texts):
        made.nodes[number]["text"] = text
    for source, target, flow, last in graph.edges.tolist():
        made.add_edge(source, target, flow=flows[flow] if flows else flow, **{position: last})
    return made
