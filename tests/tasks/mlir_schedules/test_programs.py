"""Where programs come from: each text stands for what it says, and says what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.errors import InputError, MissingTool, ProgramError, UnknownName
from burnish.tasks.mlir_schedules import bindings
from burnish.tasks.mlir_schedules.programs import MlirSource, program
from burnish.tasks.mlir_schedules.writing import sets
from burnish.tasks.mlir_schedules.writing.families import FAMILIES, OF_BATCHES, find
from burnish.tasks.mlir_schedules.writing.generator import random_text

SOURCE = MlirSource()
PRODUCT = """
// A product, written by hand.
#rows = affine_map<(i, j, p) -> (i, p)>
module @mine {
  func.func public @main(%a: tensor<4x6xf32> {bufferization.writable = false}, %b: tensor<6x5xf32>)
      -> tensor<4x5xf32> attributes {llvm.emit_c_interface} {
    %zero = arith.constant 0.0 : f32 loc("model.py":3:4)
    %none = tensor.empty() : tensor<4x5xf32>
    %start = linalg.fill ins(%zero : f32) outs(%none : tensor<4x5xf32>) -> tensor<4x5xf32>
    %product = linalg.matmul ins(%a, %b : tensor<4x6xf32>, tensor<6x5xf32>)
                             outs(%start : tensor<4x5xf32>) -> tensor<4x5xf32>
    return %product : tensor<4x5xf32>
  }
}
"""


def function(body: str, result: str = "tensor<4xf32>", argument: str = "tensor<4xf32>") -> str:
    """Return the text of a program with one argument, %a, whose body begins in its second line."""
    return f"func.func @main(%a: {argument}) -> {result} {{\n{body}\nreturn %a : {argument}\n}}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a/one.mlir").write_text(PRODUCT)
    (tmp_path / "two.mlir").write_text(find("matmul:4x5x6"))
    (tmp_path / "binary.mlir").write_bytes(b"// \xff")
    (tmp_path / "other.txt").write_text("nothing")
    return tmp_path


def test_a_program_is_the_same_in_every_form(folder: Path) -> None:
    names = ["a/one.mlir", "two.mlir", "matmul:4x5x6", PRODUCT, find("matmul:4x5x6")]
    assert all(map(SOURCE.takes, names))
    programs = [SOURCE.load(name).program for name in names]
    assert len({one.digest for one in programs}) == 1
    assert {one.language for one in programs} == {"mlir"}
    assert [one.name for one in programs[:3]] == names[:3]
    assert programs[3].name == programs[4].name == f"mlir-{programs[0].digest[:8]}"
    assert program(programs[0].content.decode(), "again").content == programs[0].content


def test_folder_stands_for_its_files(folder: Path) -> None:
    assert SOURCE.expand(".") == ["a/one.mlir", "binary.mlir", "two.mlir"]


def test_files_are_seen_from_another_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert (
        SOURCE.load("a/one.mlir", directory=folder).program.digest
        == SOURCE.load("matmul:4x5x6").program.digest
    )


def test_names_stand_for_sets() -> None:
    assert SOURCE.expand("matmul:test") == sets.names("matmul", "test")
    assert SOURCE.expand("set17:all") == sets.names("set17")
    assert SOURCE.expand("random:3..5") == ["random:3", "random:4", "random:5"]
    assert SOURCE.expand("random:7") == ["random:7"] and SOURCE.expand(PRODUCT) == [PRODUCT]
    assert len(SOURCE.open("set1250:all")) == 1250
    assert SOURCE.open("set1250:all")[-1].name.startswith("random:")
    assert {name.partition(":")[0] for name in SOURCE.expand("sample:train")} == {*FAMILIES} - {OF_BATCHES}


def test_a_random_program_is_that_of_its_seed() -> None:
    (one,) = SOURCE.open("random:7")
    assert one == program(random_text(7), "random:7")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("matmul:4x5", "matmul:4x5: expected mxnxk, a number for each"),
        ("set17:4", "set17:4: this is a set; expected set17:train, set17:test, set17:all"),
        ("random:x", "random:x: expected a seed, such as random:7"),
        ("random:0..9", "the text names 10 programs; expected one seed"),
        ("random:9..0", "expected seeds from the smaller to the larger"),
        ("missing.mlir", "missing.mlir: No such file"),
        ("binary.mlir", "binary.mlir: byte 3 is not UTF-8"),
        ("other.txt", "expected a file (.mlir)"),
    ],
)
def test_what_cannot_be_used_is_said(folder: Path, text: str, what: str) -> None:
    with pytest.raises(InputError) as caught:
        SOURCE.load(text)
    assert what in str(caught.value)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("hello", "x.mlir: line 1, column 1: custom op 'hello' is unknown"),
        ("", "x.mlir: 0 functions in the module; expected one, func.func @main("),
        ("module {\nmodule {}\n}", "x.mlir: line 2: builtin.module; expected func.func @main("),
        ("func.func @foo() {return}", "line 1: the function is @foo; expected @main"),
        ("func.func @main() {return} func.func @g() {return}", "2 functions in the module; expected one"),
        ("func.func private @main(tensor<4xf32>)", "expected a public function with a body of one block"),
        ("func.func @main(%a: tensor<4xf32>) { return }", "@main returns nothing; expected func.func"),
        (function("", "tensor<4xi8>", "tensor<4xi8>"), "argument 0 of @main is tensor<4xi8>; expected"),
        (
            function("", "tensor<?xf32>", "tensor<?xf32>"),
            "expected a tensor of f32, f64, i32, i64 with known, positive",
        ),
        (function("", "tensor<0xf32>", "tensor<0xf32>"), "argument 0 of @main is tensor<0xf32>"),
        (function("", "memref<4xf32>", "memref<4xf32>"), "argument 0 of @main is memref<4xf32>"),
        (function("", "tensor<5xf32>"), "line 3, column 1: type of return operand 0"),
        (
            function("%0 = arith.addf %a, %a : tensor<4xf32>"),
            "line 2: arith.addf on tensors; expected a linalg op",
        ),
        (
            function("%0 = memref.alloc() : memref<4xf32>"),
            "line 2: memref.alloc is not scheduled; expected ops of",
        ),
        (
            function("%0 = tensor.cast %a : tensor<4xf32> to tensor<?xf32>"),
            "line 2: tensor.cast has the result tensor<?xf32>; expected a tensor with known",
        ),
    ],
)
def test_what_is_no_program_is_said_with_its_line(text: str, what: str) -> None:
    with pytest.raises(ProgramError) as caught:
        program(text, "x.mlir")
    assert what in str(caught.value)


def test_doubles_are_programs_too() -> None:
    double = program(function("", "tensor<4xf64>", "tensor<4xf64>"), "x")
    assert double.digest != program(function(""), "x").digest


def test_sets_that_are_not_there_are_said() -> None:
    with pytest.raises(UnknownName, match="no split of set1250 named 'tset'; did you mean 'test'"):
        SOURCE.expand("set1250:tset")
    with pytest.raises(InputError, match="set17:train: there is no program"):
        SOURCE.expand("set17:train")


def test_there_is_no_compiler_to_take_arguments() -> None:
    with pytest.raises(InputError, match="-O2"):
        SOURCE.load("matmul:4x5x6", ["-O2"])


def test_outputs_are_named_after_programs() -> None:
    assert SOURCE.file("matmul:4x5x6") is None and SOURCE.file(PRODUCT) is None
    assert SOURCE.file("a.mlir") == Path("a.mlir").absolute()
    assert SOURCE.stem("matmul:4x5x6") == "matmul:4x5x6"
    assert SOURCE.stem(PRODUCT) == SOURCE.load(PRODUCT).program.name
    assert (SOURCE.project("matmul:4x5x6"), SOURCE.project("/x/a.mlir")) == ("matmul", "x")


@pytest.mark.parametrize("text", ["hot.c", "kernels:fft", "corpus:train", "module.mlir.c", "func.func"])
def test_what_others_take_stays_theirs(text: str) -> None:
    assert not SOURCE.takes(text) and not SOURCE.is_text(text)


def test_without_mlir_the_command_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}")

    bindings.bindings.cache_clear()
    monkeypatch.setattr("importlib.import_module", missing)
    try:
        with pytest.raises(MissingTool, match=r"pip install '\.\[mlir\]'"):
            SOURCE.load("matmul:4x5x6")
    finally:
        bindings.bindings.cache_clear()
