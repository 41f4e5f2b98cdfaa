"""Diagrams: graphs that people read, such as the control flow of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Block(NamedTuple):
    """A node of a diagram, drawn as a box."""

    name: str  # unique in the diagram
    title: str  # in the box
    lines: tuple[str, ...] = ()  # its text, shown on demand; two blocks are equal if these are


class Arrow(NamedTuple):
    """An edge of a diagram."""

    source: str  # name of a block
    target: str
    label: str = ""


@dataclass(frozen=True)
class Diagram:
    """A graph of blocks; there may be several arrows from one block to another."""

    blocks: tuple[Block, ...] = ()
    arrows: tuple[Arrow, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """One kind of diagram of a task's states, drawn from a text observation."""

    observation: str
    diagram: Callable[[str, str], Diagram]
    """Draws the section of a name; "" draws all of the text. Without the section: no blocks."""
    by_section: bool = False  # a diagram for each section of the listing of this observation
    named: bool = True  # a block keeps its name in other states; otherwise its lines tell which one it is
