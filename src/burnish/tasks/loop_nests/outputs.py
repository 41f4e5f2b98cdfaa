"""Output files of a schedule, its description, and its picture: the loop tree beside bars of its GFLOP/s."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

from burnish.core.program import Program
from burnish.core.result import Result
from burnish.core.session import Session
from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.parsing import parse
from burnish.tasks.loop_nests.peak import GIGA, peak_flops
from burnish.tasks.loop_nests.session import open_nest

LINE, LETTER = 18, 7.8  # pixels: height of a text line, width of a letter
MARGIN, BARS, BAR = 16, 260, 16
KINDS = {"vectorize": "#0072B2", "unroll": "#E69F00", "pack": "#009E73", "parallel": "#CC79A7"}
OTHER = "#666666"

UNCHANGED = (
    "These are the loops as they are written: no other schedule that was tried is both correct and faster."
)


def write_loops(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .loops file: the loop tree, then the trace that leads to it."""
    steps = "".join(f"# {entry}\n" for entry in session.trace)
    return f"{_text(session, 'loop_tree')}\n{steps}".encode()


def write_ir(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .ll file: the kernel in LLVM IR, before LLVM's passes."""
    return _text(session, "llvm_ir").encode()


def write_picture(session: Session, arguments: tuple[str, ...], baseline: str) -> bytes:
    """Return the content of a .svg file: the loop tree beside its GFLOP/s."""
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


def draw_schedule(nest: Nest, tree: str, seconds: Mapping[str, float]) -> bytes:
    """Return an SVG picture.

    Args:
        nest: The nest.
        tree: Its loops as text.
        seconds: The time of a call for each schedule, by name; `tree` has the name "".
    """
    lines = [*str(nest).splitlines(), "", *tree.splitlines()]
    peak = peak_flops(nest.dtype)
    left = MARGIN + LETTER * max(map(len, lines)) + 2 * MARGIN
    right = left + BARS + 90
    height = MARGIN * 2 + LINE * max(len(lines), 3 * len(seconds) + 2)
    parts = [_drawn(MARGIN, MARGIN + LINE * (i + 1), line, _colour(line)) for i, line in enumerate(lines)]
    parts.append(_drawn(left, MARGIN + LINE, f"GFLOP/s; the frame is this core's peak, {peak / GIGA:.0f}"))
    for i, (name, each) in enumerate(seconds.items()):
        rate = nest.flops / each
        top = MARGIN + LINE * (3 * i + 2)
        share, title = min(1.0, rate / peak), name or "these loops"
        parts += [
            f'<rect x="{left}" y="{top}" width="{BARS}" height="{BAR}" fill="none" stroke="#999999"/>',
            f'<rect x="{left}" y="{top}" width="{BARS * share:.1f}" height="{BAR}" fill="#0072B2"/>',
            _drawn(left + BARS + 8, top + 13, f"{rate / GIGA:.3g}"),
            _drawn(left, top + BAR + 14, f"{title}: {_time(each)}, {rate / peak:.0%} of peak"),
        ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right:.0f}" height="{height}" '
        f'font-family="monospace" font-size="13">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    ).encode()


def _drawn(x: float, y: float, text: str, colour: str = "#000000") -> str:
    content = escape(text, quote=False)
    return f'<text x="{x:.0f}" y="{y:.0f}" xml:space="preserve" fill="{colour}">{content}</text>'


def _colour(line: str) -> str:
    """Return the colour of a loop's kind; statements are black."""
    if not line.lstrip().startswith("for "):
        return "#000000"
    return next((colour for kind, colour in KINDS.items() if f"[{kind}" in line), OTHER)


def _time(seconds: float) -> str:
    """Format a time in seconds with three significant digits, without an exponent: 0.0000811 s."""
    places = max(0, 2 - math.floor(math.log10(seconds))) if seconds > 0 else 0
    return f"{seconds:.{places}f} s"
