"""inst2vec's statements, whose LLVM had typed pointers, and the texts of the same instructions here."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burnish.core.errors import InputError
from burnish.llvm.representations.inst2vec import DICTIONARY, EMBEDDINGS, node_text, token_vectors


def write_inst2vec(folder: Path, vectors: Mapping[str, Sequence[float]]) -> None:
    """Write the two files as inst2vec did, with a statement for what is unknown at the end."""
    statements = [*vectors, "!UNK"]
    numbers = {statement: number for number, statement in enumerate(statements)}
    rows = np.array([*vectors.values(), [9.0] * len(next(iter(vectors.values())))])
    for name, content in ((DICTIONARY, numbers), (EMBEDDINGS, rows)):
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("<%ID> = add nuw nsw i32 <%ID>, <INT>", "add i32"),
        ("<%ID> = fadd fast <2 x float> <%ID>, <%ID>", "fadd <2 x float>"),
        ("<%ID> = icmp slt i64 <%ID>, <INT>", "icmp slt i64"),
        ("<%ID> = icmp eq { i8*, i32 }* <%ID>, null", "icmp eq ptr"),
        ("<%ID> = icmp eq i24 <%ID>, <INT>", "icmp eq iN"),
        ("<%ID> = fcmp fast olt double <%ID>, <FLOAT>", "fcmp olt double"),
        ("<%ID> = load i32, i32* <%ID>, align 4", "load i32"),
        ("<%ID> = load void (i32, opaque*)*, void (i32, opaque*)** <%ID>, align 8", "load ptr"),
        ("store volatile <{ i8, i32 }> <%ID>, <{ i8, i32 }>* <%ID>, align 1", "store struct"),
        ("<%ID> = alloca [103 x [5 x double]], align 16", "alloca [array]"),
        ("<%ID> = alloca [8 x i8*], align 16", "alloca [ptr]"),
        (
            "<%ID> = getelementptr inbounds { { i8* }, i64 }, { { i8* }, i64 }* <%ID>, i64 <INT>, i32 <INT>",
            "getelementptr struct",
        ),
        ("<%ID> = bitcast i64* <%ID> to i8*", ""),
        ("<%ID> = bitcast <2 x i64> <%ID> to <3 x i32>", "bitcast <2 x i64> to <n x i32>"),
        ("<%ID> = ptrtoint i8** <%ID> to i64", "ptrtoint ptr to i64"),
        ("<%ID> = zext <8 x i1> <%ID> to <8 x i8>", "zext <8 x i1> to <8 x i8>"),
        ("<%ID> = phi i8* [ <%ID>, <%ID> ], [ null, <%ID> ]", "phi ptr"),
        ("<%ID> = select i1 <%ID>, { i8*, i32 }* null, { i8*, i32 }* <%ID>", "select ptr"),
        ("<%ID> = select <4 x i1> <%ID>, <4 x i32> <%ID>, <4 x i32> <%ID>", "select <4 x i32>"),
        ("call void <@ID>(i8* nonnull dereferenceable(8) <%ID>)", "call void"),
        ("<%ID> = tail call fastcc zeroext i1 <@ID>()", "call i1"),
        ("<%ID> = call dereferenceable(272) { i32 (...)** }* <%ID>({ i8 }* <%ID>)", "call indirect ptr"),
        ("invoke void <@ID>(i8* <%ID>)\n to label <%ID> unwind label <%ID>", "invoke void"),
        ("br label <%ID>", "br"),
        ("br i1 undef, label <%ID>, label <%ID>", "br i1"),
        ("switch i16 <%ID>, label <%ID> [\n i16 <INT>, label <%ID>]", "switch i16"),
        ("ret void", "ret void"),
        ("ret double <%ID>", "ret double"),
        ("<%ID> = landingpad { i8*, i32 }\n cleanup", "landingpad struct"),
        ("resume { i8*, i32 } <%ID>", "resume"),
        ("unreachable", "unreachable"),
        ("<@ID> = private unnamed_addr constant [26 x i8]  <STRING>, align 1", "constant [i8]"),
        ("<@ID> = internal global { i8 } zeroinitializer, align 1", "global struct"),
        ("define linkonce_odr i64 <@ID>({ i8 }*, i8*, i64) local_unnamed_addr", "[function]"),
        ("!UNK", ""),
    ],
)
def test_texts_of_statements(statement: str, text: str) -> None:
    assert node_text(statement) == text


def test_texts_get_the_mean_of_their_statements_or_of_their_opcode(tmp_path: Path) -> None:
    vectors = {
        "<%ID> = load i32, i32* <%ID>, align 4": [1.0, 2.0],
        "<%ID> = load i32, i32* <%ID>, align 8": [3.0, 4.0],
        "<%ID> = load i8*, i8** <%ID>, align 8": [8.0, 0.0],
        "ret void": [5.0, 5.0],
    }
    write_inst2vec(tmp_path, vectors)
    found = token_vectors(tmp_path, ["load i32", "load ptr", "load double", "ret void", "i32", "[unknown]"])
    assert found.dtype == np.float32
    assert found.tolist() == [[2, 3], [8, 0], [4, 2], [5, 5], [0, 0], [0, 0]]


def test_files_that_are_not_inst2vec(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected inst2vec's dictionary.pickle and embeddings.pickle"):
        token_vectors(tmp_path, [])
    write_inst2vec(tmp_path, {"ret void": [1.0]})
    (tmp_path / EMBEDDINGS).write_bytes(pickle.dumps(np.zeros((1, 2))))
    with pytest.raises(InputError, match="is not a row of the matrix"):
        token_vectors(tmp_path, [])
    (tmp_path / EMBEDDINGS).write_bytes(b"no pickle")
    with pytest.raises(InputError, match="expected inst2vec's"):
        token_vectors(tmp_path, [])


class Harm:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("harm"),)


def test_pickles_that_call_functions_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_inst2vec(tmp_path, {"ret void": [1.0]})
    (tmp_path / DICTIONARY).write_bytes(pickle.dumps(Harm()))
    with pytest.raises(InputError, match="which a table of vectors does not need"):
        token_vectors(tmp_path, [])
    assert not Path("harm").exists()
