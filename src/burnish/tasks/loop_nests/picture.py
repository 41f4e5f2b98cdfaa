"""A schedule as an SVG picture: the loop tree beside bars of its GFLOP/s."""

from __future__ import annotations

import math
from collections.abc import Mapping
from xml.sax.saxutils import escape

from burnish.tasks.loop_nests.nest import Nest
from burnish.tasks.loop_nests.peak import GIGA, peak_flops

LINE, LETTER = 18, 7.8  # pixels: height of a text line, width of a letter
MARGIN, BARS, BAR = 16, 260, 16
KINDS = {"vectorize": "#0072B2", "unroll": "#E69F00", "pack": "#009E73", "parallel": "#CC79A7"}
OTHER = "#666666"


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
    parts = [_text(MARGIN, MARGIN + LINE * (i + 1), line, _colour(line)) for i, line in enumerate(lines)]
    parts.append(_text(left, MARGIN + LINE, f"GFLOP/s; the frame is this core's peak, {peak / GIGA:.0f}"))
    for i, (name, each) in enumerate(seconds.items()):
        rate = nest.flops / each
        top = MARGIN + LINE * (3 * i + 2)
        share = min(1.0, rate / peak)
        parts += [
            f'<rect x="{left}" y="{top}" width="{BARS}" height="{BAR}" fill="none" stroke="#999999"/>',
            f'<rect x="{left}" y="{top}" width="{BARS * share:.1f}" height="{BAR}" fill="#0072B2"/>',
            _text(left + BARS + 8, top + 13, f"{rate / GIGA:.3g}"),
            _text(left, top + BAR + 14, f"{name or 'these loops'}: {_time(each)}, {rate / peak:.0%} of peak"),
        ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{right:.0f}" height="{height}" '
        f'font-family="monospace" font-size="13">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    ).encode()


def _text(x: float, y: float, text: str, colour: str = "#000000") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" xml:space="preserve" fill="{colour}">{escape(text)}</text>'


def _colour(line: str) -> str:
    """Return the colour of a loop's kind; statements are black."""
    if not line.lstrip().startswith("for "):
        return "#000000"
    return next((colour for kind, colour in KINDS.items() if f"[{kind}" in line), OTHER)


def _time(seconds: float) -> str:
    """Format a time in seconds with three significant digits, without an exponent: 0.0000811 s."""
    places = max(0, 2 - math.floor(math.log10(seconds))) if seconds > 0 else 0
    return f"{seconds:.{places}f} s"
