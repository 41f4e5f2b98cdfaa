"""Output files of a schedule, and its description."""

from __future__ import annotations

from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.peak import GIGA, peak_flops
from burnish.tasks.loop_nests.session import open_nest

UNCHANGED = (
    "These are the loops as they are written: no other schedule that was tried is both correct and faster."
)


def write_loops(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .loops file: the loop tree, then the trace that leads to it."""
    steps = "".join(f"# {entry}\n" for entry in session.trace)
    return f"{_text(session, 'loop_tree')}\n{steps}".encode()


def write_ir(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .ll file: the kernel in LLVM IR, before LLVM's passes."""
    return _text(session, "ir").encode()


def write_picture(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .svg file: the loop tree beside its GFLOP/s."""
    from burnish.tasks.loop_nests.picture import draw_schedule  # late: only pictures need it

    nest = parse(_text(session, "nest"))
    naive = open_nest(nest.program()).measure("seconds")
    return draw_schedule(nest, _text(session, "loop_tree"), {"naive": naive, "": session.measure("seconds")})


def describe(program: Program, session: Session, result: Result) -> str:
    """Return the loop tree and its GFLOP/s, with those of the baselines and this core's peak."""
    nest = parse(program.content.decode(), program.name)
    rates = {"burnish": result.cost, **result.baselines}
    texts = [f"{name} {nest.flops / seconds / GIGA:.3g}" for name, seconds in rates.items()]
    texts.append(f"this core's peak {peak_flops(nest.dtype) / GIGA:.3g}")
    unchanged = "" if session.trace else f"\n{UNCHANGED}"
    return f"{_text(session, 'loop_tree')}\nGFLOP/s: {', '.join(texts)}{unchanged}"


def _text(session: Session, space: str) -> str:
    text = session.observe(space)
    assert isinstance(text, str)
    return text
