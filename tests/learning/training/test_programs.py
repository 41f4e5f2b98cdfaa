"""Which programs a configuration stands for."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.learning.training.chosen_programs import Chosen, choose
from burnish.learning.training.config import Source
from burnish.llvm.corpora.building import build
from burnish.llvm.corpora.random_modules import random_job
from burnish.llvm.corpora.store import open_corpus
from burnish.tasks.llvm_passes import TASK
from tests.sources import DATA


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a corpus of twelve random programs."""
    folder = tmp_path_factory.mktemp("corpus")
    build(folder, [random_job(12, 0, 200)])
    return folder


def chosen(*sources: Source) -> Chosen:
    return choose(sources, "programs", TASK)


def names(programs: Chosen) -> list[str]:
    return [program.name for program in programs]


def test_a_corpus_is_in_a_random_order(corpus: Path) -> None:
    all_of_it = names(chosen(Source(f"corpus@{corpus}:train")))
    assert sorted(all_of_it) == sorted(row.name for row in open_corpus(corpus).programs)
    assert all_of_it != sorted(all_of_it)
    assert names(chosen(Source(f"corpus@{corpus}:train"))) == all_of_it
    assert names(chosen(Source(f"corpus@{corpus}:train", seed=1))) != all_of_it


def test_some_of_a_size(corpus: Path) -> None:
    sizes = sorted(row.instructions for row in open_corpus(corpus).programs)
    some = chosen(Source(f"corpus@{corpus}:", smallest=sizes[2], largest=sizes[8], count=5))
    assert len(some) == 5
    known = {row.name: row.instructions for row in open_corpus(corpus).programs}
    assert all(sizes[2] <= known[name] <= sizes[8] for name in names(some))
    with pytest.raises(InputError, match=r"programs\[0\]: no program of the 12 in .* has such a size"):
        chosen(Source(f"corpus@{corpus}:", smallest=10**6))


def test_several_sources_are_mixed(corpus: Path) -> None:
    sources = (Source(f"corpus@{corpus}:", count=4), Source("random:100..199:50", count=4))
    mixed = chosen(*sources, Source(str(DATA / "matrix.c")))
    assert len(mixed) == 9
    kinds = [part for part, _ in mixed.order]
    assert kinds != sorted(kinds)
    assert [program.name for program in mixed[2:4]] == names(mixed)[2:4]


def test_a_card_says_what_was_learned_from(corpus: Path) -> None:
    mixed = chosen(Source(f"corpus@{corpus}:train"), Source("random:0..4"), Source(str(DATA / "matrix.c")))
    of_corpus, of_random, of_file = (part.describe() for part in mixed.parts)
    assert of_corpus["splits"] == ["train"]
    assert of_corpus["digest"] == open_corpus(corpus).digest
    assert of_random["count"] == 5
    assert of_random["names_digest"] != of_file["names_digest"]


def test_variants_are_other_programs_of_other_names(corpus: Path) -> None:
    both = chosen(
        Source(f"corpus@{corpus}:train"), Source(f"corpus@{corpus}:train", variant="without-unwind-tables")
    )
    assert len(set(names(both))) == len({program.digest for program in both}) == 24
    assert {name.removesuffix(" without-unwind-tables") for name in names(both)} == {
        row.name for row in open_corpus(corpus).programs
    }
    plain, changed = (part.describe() for part in both.parts)
    assert changed == plain | {"variant": "without-unwind-tables"}
    with pytest.raises(UnknownName, match="no variant named 'without-tables'; did you mean"):
        chosen(Source(f"corpus@{corpus}:train", variant="without-tables"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Source("corpus@nowhere:train"), r"programs\[0\]\.use: nowhere: no corpus there"),
        (Source("kernels:ffft"), r"programs\[0\]\.use: no kernel named 'ffft'; did you mean 'fft'"),
        (Source("random:0..9", largest=5), r"programs\[0\]: sizes apply to a corpus only"),
    ],
)
def test_what_stands_for_nothing_is_named(source: Source, message: str) -> None:
    with pytest.raises(InputError, match=message):
        chosen(source)
