"""Numbers for the texts of nodes and tokens."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from burnish.core.errors import InputError

UNKNOWN: Final = "[unknown]"
EXTERNAL: Final = "[external]"
FUNCTION: Final = "[function]"
RESERVED: Final = (UNKNOWN, EXTERNAL, FUNCTION)
SHIPPED: Final = "vocabulary.json"
SIZE: Final = 2048  # rows for a table of embeddings: all numbers of the shipped vocabulary are smaller


@dataclass(frozen=True)
class Vocabulary:
    """Texts by number; 0 stands for every unknown text."""

    texts: tuple[str, ...]
    origin: str = ""  # the programs whose texts were counted, and the method

    def __post_init__(self) -> None:
        if self.texts[:1] != (UNKNOWN,) or len(set(self.texts)) != len(self.texts):
            raise InputError(f"a vocabulary begins with {UNKNOWN!r} and has every text once")

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {text: number for number, text in enumerate(self.texts)}

    def __len__(self) -> int:
        return len(self.texts)

    def lookup(self, texts: Iterable[str]) -> NDArray[np.int64]:
        """Return each text's number: int64[len(texts)], 0 for an unknown text."""
        numbers = self._numbers
        return np.array([numbers.get(text, 0) for text in texts], dtype=np.int64)

    def save(self, path: Path) -> None:
        """Write the vocabulary as JSON, one text a line."""
        lines = ",\n".join(json.dumps(text) for text in self.texts)
        path.write_text(f'{{"origin": {json.dumps(self.origin)}, "texts": [\n{lines}\n]}}\n')


def most_frequent(counts: Mapping[str, int], *, at_least: int, origin: str = "") -> Vocabulary:
    """Return a vocabulary: reserved texts, then texts with a count of `at_least`, most frequent first."""
    frequent = [text for text, count in counts.items() if count >= at_least and text not in RESERVED]
    frequent.sort(key=lambda text: (-counts[text], text))
    return Vocabulary((*RESERVED, *frequent), origin)


def load_vocabulary(path: Path) -> Vocabulary:
    """Read a file that `Vocabulary.save` wrote."""
    try:
        return _parsed(path.read_text())
    except (OSError, ValueError, KeyError, TypeError, InputError) as error:
        raise InputError(f"{path}: not a vocabulary; expected JSON with origin and texts: {error}") from None


@cache
def shipped_vocabulary() -> Vocabulary:
    """Return the vocabulary of the public corpus' training split (benchmarks/vocabulary.py makes it)."""
    return _parsed(resources.files("burnish.llvm.representations").joinpath("data", SHIPPED).read_text())


def _parsed(text: str) -> Vocabulary:
    content = json.loads(text)
    return Vocabulary(tuple(content["texts"]), content["origin"])
