"""Random programs without end, one for each seed: chains of the ops of networks.

Every op reads the result of the one before; sums sometimes read the result of an earlier one, too.
"""

from __future__ import annotations

import random

from burnish.tasks.mlir_schedules.writing.draft import Draft
from burnish.tasks.mlir_schedules.writing.random_layers import LAYERS, Layer
from burnish.tasks.mlir_schedules.writing.random_values import Value, first_value

VERSION = 1  # increased whenever a seed gives another program
MOST_LAYERS = 10
FEWEST_POINTS, MOST_POINTS = 10**5, 2 * 10**9  # of all iteration spaces: the multiply-adds of contractions
MOST_BYTES = 64 << 20  # of all arguments and of the results of all ops
TRIES = 20  # layers to draw in place of one that does not fit


def random_text(seed: int) -> str:
    """Return the random program of a seed, the same on every machine; the text is not normalised."""
    rng = random.Random(f"burnish mlir {VERSION} {seed}")
    while True:
        draft = Draft()
        made = [first_value(draft, rng)]
        if _fits(draft):
            draft = _extended(draft, made, rng.randint(1, MOST_LAYERS), rng)
        if len(made) > 1 and _fits(draft) and draft.points >= FEWEST_POINTS:
            return draft.text(made[-1].tensor)


def _extended(draft: Draft, made: list[Value], count: int, rng: random.Random) -> Draft:
    """Return a draft with `count` more layers, or as many as fit; their results are added to `made`."""
    tries = 0
    while count and tries < TRIES:
        layer = _drawn(made[-1], rng)
        longer = draft.copy()
        value = layer.write(longer, made, rng)
        if value is not None and _fits(longer):
            draft, count, tries = longer, count - 1, 0
            made.append(value)
        tries += 1
    return draft


def _drawn(value: Value, rng: random.Random) -> Layer:
    """Draw a layer that takes values of this kind."""
    known = [layer for layer in LAYERS if value.kind in layer.kinds]
    return rng.choices(known, [layer.weight for layer in known])[0]


def _fits(draft: Draft) -> bool:
    return draft.points <= MOST_POINTS and draft.size_bytes <= MOST_BYTES
