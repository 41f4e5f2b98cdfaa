"""The tree of loops as a diagram."""

from __future__ import annotations

from burnish.tasks.loop_nests import TASK
from burnish.tasks.loop_nests.diagrams import loop_tree
from burnish.tasks.loop_nests.parsing import parse

NEST = "f32 m=20 n=24 k=9\nc[m,n] += a[m,k] * b[k,n]\nd[m,n] = max(c[m,n], 0)"


def test_tree_has_a_block_for_each_loop_and_statement() -> None:
    session = TASK.open(parse(NEST).program("product"))
    session.replay(["split(8)"])
    found = loop_tree(str(session.observe("loop_tree")), "")
    titles = {block.name: block.title for block in found.blocks}
    first, second = "c[m,n] += a[m,k] * b[k,n]", "d[m,n] = max(c[m,n], 0.0)"
    assert titles["loop m"] == "m in 2 r 4"
    assert [(one.source, one.target) for one in found.arrows] == [
        ("", "loop m"),
        ("loop m", "loop m.1"),
        ("loop m.1", "loop n"),
        ("loop n", "loop k"),
        ("loop k", first),
        ("", "loop m.2"),
        ("loop m.2", "loop n.1"),
        ("loop n.1", second),
    ]
    observed = session.observe("ir_tree_networkx")
    assert len(found.blocks) == len(observed.nodes)  # type: ignore[union-attr]
