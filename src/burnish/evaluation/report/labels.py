"""Short texts that keep differences: labels of programs, and ratios."""

from __future__ import annotations

from collections.abc import Sequence

MOST_PLACES = 4


def distinct_labels(names: Sequence[str], *, most: int = 28) -> list[str]:
    """Return the fewest last components of each path with which different names stay different.

    A label of more than `most` letters is shortened in the middle, unless two labels would become equal.
    """
    parts = [name.split("/") for name in names]
    different = len(set(names))
    labels = list(names)
    for count in range(1, max(map(len, parts), default=0)):
        labels = ["/".join(own[-count:]) for own in parts]
        if len(set(labels)) == different:
            break
    else:
        labels = list(names)
    fitting = [shortened(label, most) for label in labels]
    return fitting if len(set(fitting)) == different else labels


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` letters, shortened in the middle."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\N{HORIZONTAL ELLIPSIS}{text[-(most - most // 2 - 1) :]}"


def places(ratios: Sequence[float], *, distinct: bool = False) -> int:
    """Return the decimals of a column of ratios: two, or more where a difference would vanish.

    A ratio other than 1 does not read as 1, and with `distinct` no two different ratios read alike, both
    within MOST_PLACES.
    """
    for count in range(2, MOST_PLACES):
        texts = {ratio: f"{ratio:.{count}f}" for ratio in ratios}
        hidden = any(text == f"{1:.{count}f}" for ratio, text in texts.items() if ratio != 1)
        if not hidden and not (distinct and len(set(texts.values())) < len(texts)):
            return count
    return MOST_PLACES
