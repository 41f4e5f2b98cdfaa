"""Numbers for texts, and sequences of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish import _native
from burnish.core.errors import InputError
from burnish.llvm.representations.graph import by_function, program_graph, tokens
from burnish.llvm.representations.vocabulary import (
    EXTERNAL,
    FUNCTION,
    SIZE,
    UNKNOWN,
    Vocabulary,
    load_vocabulary,
    most_frequent,
    shipped_vocabulary,
)
from tests.sources import FILES, program

DATA = Path(__file__).parent / "data"


def test_most_frequent_first_then_by_text() -> None:
    counts = {"ret": 2, "add": 5, "br": 2, "rare": 1, EXTERNAL: 9}
    vocabulary = most_frequent(counts, at_least=2, origin="a test")
    assert vocabulary.texts == (UNKNOWN, EXTERNAL, FUNCTION, "add", "br", "ret")
    assert vocabulary.lookup(["ret", "rare", UNKNOWN, "add"]).tolist() == [5, 0, 0, 3]


def test_saved_vocabulary_is_read_again(tmp_path: Path) -> None:
    vocabulary = Vocabulary((UNKNOWN, 'quo"te', "é"), "here")
    vocabulary.save(tmp_path / "own.json")
    assert load_vocabulary(tmp_path / "own.json") == vocabulary


@pytest.mark.parametrize(
    "content", ["", "{}", '{"origin": "", "texts": ["a"]}', '{"origin": "", "texts": 3}']
)
def test_what_is_no_vocabulary_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(InputError, match=r"bad\.json: not a vocabulary"):
        load_vocabulary(tmp_path / "bad.json")


def test_shipped_vocabulary_fits_its_size() -> None:
    assert len(shipped_vocabulary()) <= SIZE
    assert shipped_vocabulary().origin


@pytest.mark.parametrize("name", FILES)
def test_shipped_vocabulary_knows_other_programs(name: str) -> None:
    graph = program_graph(program(name), types=True)
    assert (graph.nodes[:, 1] == 0).mean() < 0.02


def test_tokens_by_hand() -> None:
    module = _native.Module((DATA / "views.ll").read_bytes())
    texts = [shipped_vocabulary().texts[token] for token in tokens(module)]
    leaf, never, rest = ["[function]", "call llvm.abs", "ret i32"], ["[function]", "unreachable"], 16
    assert texts[:6] == [*leaf, *never, "[function]"]
    assert texts[6:12] == ["br", "phi i32", "phi i32", "icmp ult i32", "br i1", "getelementptr i32"]
    assert len(texts) == 6 + rest
    assert [len(part) for part in by_function(tokens(module))] == [3, 2, 1 + rest]
    assert by_function(tokens(_native.Module(b"declare void @f()"))) == []


@pytest.mark.parametrize("name", FILES)
def test_tokens_are_the_graph_s_instructions(name: str) -> None:
    module = _native.Module(program(name).content)
    graph = program_graph(module)
    code = (graph.nodes[:, 0] == 0) & (graph.nodes[:, 3] >= 0)
    sequence = tokens(module)
    marker = shipped_vocabulary().lookup([FUNCTION])[0]
    assert (sequence[sequence != marker] == graph.nodes[code, 1]).all()
    assert (sequence == marker).sum() == len(module.functions) == len(by_function(sequence))
