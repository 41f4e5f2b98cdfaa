import pickle
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.core.errors import InputError, UnknownName
from burnish.llvm.corpora import manifest
from burnish.llvm.corpora.pack import SUFFIX, PackRow, packed, read_pack, read_program, write_pack
from burnish.llvm.corpora.splits import write_splits
from burnish.llvm.corpora.store import Corpus, open_corpus
from burnish.llvm.toolchain import compile_to_bitcode
from burnish.workers.worker import Worker
from tests.llvm.corpora.sdists import make_package
from tests.sources import DATA

SOURCES = ("hash_table.c", "matrix.c", "strings.c", "recursion.c")
BITCODE = {name: compile_to_bitcode(DATA / name) for name in SOURCES}


def item(package: str, path: str, content: bytes, split: str = "train") -> tuple[PackRow, bytes]:
    return packed(PackRow(package, path, split, "c", "compiled"), content)


def failed(package: str, path: str, split: str = "train") -> tuple[PackRow, bytes]:
    return PackRow(package, path, split, "c", "failed", "expected ';'"), b""


def whole_of_one() -> list[tuple[PackRow, bytes]]:
    return [
        item("one", "src/matrix.c", BITCODE["matrix.c"]),
        item("one", "src/strings.c", BITCODE["strings.c"]),
        failed("one", "src/bad.c"),
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_pack(tmp_path / f"one{SUFFIX}", "one", "r", whole_of_one())
    write_pack(
        tmp_path / f"two{SUFFIX}", "two", "r", [item("two", "recursion.c", BITCODE["recursion.c"], "test")]
    )
    return tmp_path


def test_what_was_written_is_read(folder: Path) -> None:
    corpus = open_corpus(folder)
    expected = ["one/src/matrix.c", "one/src/strings.c", "two/recursion.c"]
    assert [program.name for program in corpus] == expected
    assert [program.content for program in corpus] == [BITCODE[Path(name).name] for name in expected]
    assert [row.digest for row in corpus.programs] == [program.digest for program in corpus]


def test_opening_reads_no_content(folder: Path) -> None:
    pack = read_pack(folder / f"one{SUFFIX}")
    whole = pack.path.read_bytes()
    pack.path.write_bytes(whole[: pack.content_at] + bytes(len(whole) - pack.content_at))
    corpus = open_corpus(folder)
    assert corpus.programs[0].instructions > 0
    with pytest.raises(InputError, match=r"one\.pack: .*matrix\.c is damaged"):
        corpus[0]


def test_the_same_content_is_stored_once(tmp_path: Path) -> None:
    content = BITCODE["matrix.c"]
    write_pack(tmp_path / "a.pack", "a", "r", [item("a", f"{n}.c", content) for n in range(9)])
    write_pack(tmp_path / "b.pack", "b", "r", [item("b", "0.c", content)])
    assert (tmp_path / "a.pack").stat().st_size < (tmp_path / "b.pack").stat().st_size + 600
    assert {program.content for program in open_corpus(tmp_path).part("a")} == {content}


def test_splits_packages_and_names(folder: Path) -> None:
    corpus = open_corpus(folder)
    assert len(corpus.split("train")) == 2
    assert [program.name for program in corpus.split("test")] == ["two/recursion.c"]
    assert len(corpus.part("one").rows) == 3
    assert corpus.find("two/recursion.c").content == BITCODE["recursion.c"]


@pytest.fixture
def grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a test split that "new" was added to, and with a package of one's own."""
    pinned = [make_package(b"", name=name, split="test", since=n) for name, n in (("old", 1), ("new", 2))]
    monkeypatch.setattr(manifest, "load_manifest", lambda: pinned)
    for name, source in (("old", "matrix.c"), ("new", "recursion.c"), ("own", "strings.c")):
        write_pack(tmp_path / f"{name}{SUFFIX}", name, "r", [item(name, "a.c", BITCODE[source], "test")])
    return tmp_path


def test_a_split_as_an_earlier_version_was(grown: Path) -> None:
    corpus = open_corpus(grown)
    assert [row.package for row in corpus.split("test@1").programs] == ["old"]
    assert [row.package for row in corpus.part("test@2").programs] == ["new", "old"]
    assert [row.package for row in corpus.split("test").programs] == ["new", "old", "own"]
    with pytest.raises(UnknownName, match="no version of test named '3'; known: 1, 2"):
        corpus.split("test@3")


def test_a_version_of_a_split_is_whole_or_refused(grown: Path) -> None:
    (grown / f"new{SUFFIX}").unlink()
    assert len(open_corpus(grown).split("test@1")) == 1
    with pytest.raises(InputError, match="new of test@2 not built; go on with: burnish corpus build --split"):
        open_corpus(grown).split("test@2")


def test_splits_of_one_s_own_have_no_versions(grown: Path) -> None:
    write_splits(grown, {"own": "test"}, 0)
    with pytest.raises(InputError, match="has its own splits, without versions; expected test"):
        open_corpus(grown).split("test@1")


@pytest.mark.parametrize(
    ("ask", "hint"),
    [
        (lambda corpus: corpus.split("trian"), "did you mean 'train'"),
        (lambda corpus: corpus.part("on"), "did you mean 'one'"),
        (lambda corpus: corpus.find("one/matrix.c"), "did you mean 'one/src/matrix.c'"),
        (lambda corpus: corpus.find("one/src/bad.c"), "failed: expected ';'"),
    ],
)
def test_an_unknown_name_says_what_is_near(folder: Path, ask: Callable[[Corpus], object], hint: str) -> None:
    with pytest.raises(UnknownName, match=hint):
        ask(open_corpus(folder))


def test_a_module_without_code_is_no_program(tmp_path: Path) -> None:
    source = tmp_path / "table.c"
    source.write_text("const int table[] = {1, 2, 3};\n")
    write_pack(tmp_path / "a.pack", "a", "r", [item("a", "table.c", compile_to_bitcode(source))])
    corpus = open_corpus(tmp_path)
    assert len(corpus) == 0
    assert [row.status for row in corpus.rows] == ["compiled"]


def test_slices_and_iteration_agree(folder: Path) -> None:
    corpus = open_corpus(folder)
    assert list(corpus[1:]) == [corpus[1], corpus[2]]
    assert corpus[-1] == corpus[2]
    with pytest.raises(IndexError):
        corpus[3]


def many(tmp_path: Path, sizes: Sequence[int]) -> Corpus:
    """Return a corpus of made-up sizes; nothing of it is read."""
    content = BITCODE["matrix.c"]
    rows = [item("many", f"{number:04}.c", content) for number in range(len(sizes))]
    rows = [(replace(row, instructions=size), frame) for (row, frame), size in zip(rows, sizes, strict=True)]
    write_pack(tmp_path / "many.pack", "many", "r", rows)
    return open_corpus(tmp_path)


def names(corpus: Corpus) -> list[str]:
    return [row.path for row in corpus.programs]


def test_the_order_depends_on_the_seed_only(tmp_path: Path) -> None:
    corpus = many(tmp_path, range(1, 41))
    assert names(corpus.shuffled(1)) == names(corpus.shuffled(1))
    assert names(corpus.shuffled(1)) != names(corpus.shuffled(2))
    assert sorted(names(corpus.shuffled(1))) == names(corpus)


def test_a_sample_is_of_the_size_that_was_asked_for(tmp_path: Path) -> None:
    corpus = many(tmp_path, range(1, 201))
    sample = corpus.sample(10, 0, smallest=50, largest=99)
    assert len(sample) == len(set(names(sample))) == 10
    assert all(50 <= row.instructions <= 99 for row in sample.programs)
    assert names(sample) == names(corpus.sample(10, 0, smallest=50, largest=99))
    assert len(corpus.sample(1000, 0, smallest=191)) == 10


def test_an_even_sample_has_as_many_of_every_doubling(tmp_path: Path) -> None:
    corpus = many(tmp_path, [1] * 80 + [2] * 10 + [4] * 10 + [1000] * 3)
    counts = [row.instructions for row in corpus.sample(12, 0, even=True).programs]
    assert sorted(counts) == [1] * 3 + [2] * 3 + [4] * 3 + [1000] * 3


def test_the_digest_is_of_the_content_not_of_the_order(tmp_path: Path) -> None:
    items = [item("a", name, BITCODE[name]) for name in SOURCES]
    digests = set()
    for seed in range(3):
        folder = tmp_path / str(seed)
        folder.mkdir()
        random.Random(seed).shuffle(items)
        write_pack(folder / "a.pack", "a", f"recipe {seed}", items)
        digests.add(open_corpus(folder).digest)
    assert len(digests) == 1
    write_pack(folder / "a.pack", "a", "r", items[1:])
    assert open_corpus(folder).digest not in digests


def test_another_process_reads_a_pickled_corpus(folder: Path) -> None:
    corpus = pickle.loads(pickle.dumps(open_corpus(folder)))
    worker = Worker()
    assert worker.call(find_in, corpus, "two/recursion.c") == BITCODE["recursion.c"]
    worker.close()


def find_in(corpus: Corpus, name: str) -> bytes:
    return corpus.find(name).content


def test_a_missing_corpus_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no corpus there; make one with: burnish corpus build"):
        open_corpus(tmp_path / "nowhere")


@pytest.mark.parametrize("damage", [lambda data: data[:-5], lambda data: data[:30], lambda data: b"\0" * 99])
def test_a_damaged_pack_is_named(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    path = folder / f"one{SUFFIX}"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=r"one\.pack: not a complete pack.*build again"):
        open_corpus(folder)


def test_a_pack_that_goes_away_is_named(folder: Path) -> None:
    corpus = open_corpus(folder)
    (folder / f"one{SUFFIX}").unlink()
    with pytest.raises(InputError, match=r"the pack of one/src/matrix\.c cannot be read"):
        corpus[0]


@pytest.mark.parametrize(
    "items",
    [
        # the first frame begins elsewhere, or at the same place with another program, or is not there
        lambda: [item("one", "src/another.c", BITCODE["recursion.c"]), *whole_of_one()],
        lambda: [item("one", "src/matrix.c", BITCODE["hash_table.c"]), *whole_of_one()[1:]],
        lambda: [failed("one", "src/matrix.c"), failed("one", "src/strings.c")],
    ],
)
def test_a_pack_that_was_rebuilt_is_to_be_opened_again(
    folder: Path, items: Callable[[], list[tuple[PackRow, bytes]]]
) -> None:
    corpus = open_corpus(folder)
    write_pack(folder / f"one{SUFFIX}", "one", "r2", items())
    with pytest.raises(
        InputError, match=r"one\.pack: the pack was rebuilt since it was opened; open the corpus again"
    ):
        corpus.find("one/src/matrix.c")
    assert corpus.find("two/recursion.c").content == BITCODE["recursion.c"]


def test_another_program_at_the_place_of_a_frame_is_not_returned(tmp_path: Path) -> None:
    """The rows of both packs have the same length, so the frame of one is read with the row of the other."""
    _, frame = item("a", "x.c", BITCODE["matrix.c"])
    for digest in "ab":
        row = PackRow("a", "x.c", "train", "c", "compiled", digest=digest * 32, instructions=1)
        write_pack(tmp_path / f"{digest}.pack", "a", "r", [(row, frame)])
    row, content_at = read_pack(tmp_path / "a.pack").rows[0], read_pack(tmp_path / "a.pack").content_at
    with pytest.raises(InputError, match="was rebuilt since"):
        read_program(tmp_path / "b.pack", content_at, row)
    with pytest.raises(InputError, match=r"x\.c is damaged \(it contains another program\)"):
        read_program(tmp_path / "a.pack", content_at, row)


def test_a_pack_that_was_rebuilt_the_same_is_read(folder: Path) -> None:
    corpus = open_corpus(folder)
    write_pack(folder / f"one{SUFFIX}", "one", "s", whole_of_one())
    assert corpus.find("one/src/matrix.c").content == BITCODE["matrix.c"]
