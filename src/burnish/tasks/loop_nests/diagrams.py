"""The tree of loops, as people read it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from burnish.core.diagram import Arrow, Block, Diagram, Drawing

_LOOP = re.compile(r"for (\w+(?:\.\d+)?) ")


def loop_tree(text: str, _: str) -> Diagram:
    """Draw the tree of the observation `loop_tree`: a block for the nest, each loop and each statement."""
    blocks, arrows = [Block("", "nest")], list[Arrow]()
    path: list[str] = [""]
    for line in text.splitlines():
        title = line.strip()
        depth = (len(line) - len(title)) // 2
        loop = _LOOP.match(title)
        name = f"loop {loop[1]}" if loop else title
        del path[depth + 1 :]
        blocks.append(Block(name, title.removeprefix("for "), (title,)))
        arrows.append(Arrow(path[-1], name))
        path.append(name)
    return Diagram(tuple(blocks), tuple(arrows))


DRAWINGS: Mapping[str, Drawing] = {"loops": Drawing("loop_tree", loop_tree)}
