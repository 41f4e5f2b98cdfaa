"""What is written of a schedule, what is shown of it, and whether it is right."""

from __future__ import annotations

from burnish.core.behaviour import Behaviour
from burnish.core.errors import Miscompiled
from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.peak import GIGA, peak_flops
from burnish.tasks.loop_nests.session import open_nest

UNCHANGED = "These are the loops as they are written: no other schedule that was tried is right and faster."


class AsNumPy(Behaviour):
    """What a schedule makes of random arrays, as far as that is not what NumPy does: "" where it is."""

    same = "computes what NumPy does, as"
    unoptimized = ""

    def run(self, session: Session, expected: str | None = None) -> str:
        """Measure, which compares; see Behaviour."""
        try:
            session.measure("seconds")
        except Miscompiled as error:
            return str(error)
        return ""

    def differences(self, seen: str, expected: str) -> list[str]:
        """See Behaviour."""
        return [seen] if seen else []


def behaviour(program: Program) -> Behaviour:
    """Return what to compare a nest's schedules by."""
    return AsNumPy()


def write_loops(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return a file that ends in .loops: the loop tree, and the trace that leads there."""
    steps = "".join(f"# {entry}\n" for entry in session.trace)
    return f"{_text(session, 'loop_tree')}\n{steps}".encode()


def write_ir(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return a file that ends in .ll: a function of LLVM's IR, before its passes."""
    return _text(session, "ir").encode()


def write_picture(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return a file that ends in .svg: the loop tree beside its GFLOP/s."""
    from burnish.tasks.loop_nests.picture import draw_schedule  # which needs a library for pictures

    nest = parse(_text(session, "nest"))
    naive = open_nest(nest.program()).measure("seconds")
    return draw_schedule(nest, _text(session, "loop_tree"), {"naive": naive, "": session.measure("seconds")})


def describe(program: Program, session: Session, result: Result) -> str:
    """Return the loop tree, and how fast it is."""
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
