"""What cannot be used is refused in one line."""

from __future__ import annotations

import pytest

from burnish import _native
from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.llvm.modules.session import open_baseline, open_session
from burnish.tasks.llvm_passes import TASK, Options, make_task
from burnish.workers.sandbox import Sandbox
from tests.conftest import OpenSandbox
from tests.sources import program

EPOCH_BIT = 227  # of the number in the identification block that a new format would raise
ATTRIBUTE_BIT = 1962  # of an attribute's number in NEWER
NEWER = b"define void @f() nounwind {\n  ret void\n}\n"

INVALID = b"""
define i32 @f(i1 %c) {
entry:
  br i1 %c, label %then, label %end
then:
  %v = add i32 1, 2
  br label %end
end:
  ret i32 %v
}
"""
COROUTINE = b"""
define ptr @f() presplitcoroutine {
  %id = call token @llvm.coro.id.retcon(i32 0, i32 8, ptr null, ptr null, ptr null, ptr null)
  %h = call ptr @llvm.coro.begin(token %id, ptr null)
  ret ptr %h
}
declare token @llvm.coro.id.retcon(i32, i32, ptr, ptr, ptr, ptr)
declare ptr @llvm.coro.begin(token, ptr)
"""

REFUSED = {
    "empty": (b"", "empty input"),
    "NUL bytes": (b"\0" * 100, "neither LLVM bitcode nor textual LLVM IR"),
    "an image": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "neither LLVM bitcode nor textual LLVM IR"),
    "prose": (b"Dear compiler,\nplease optimize this.\n", "line 1: expected top-level entity"),
    "C": (b"int main(void) { return 0; }\n", "line 1: expected top-level entity"),
    "unfinished text": (b"define i32 @f() {\n  ret i32\n", "line 3: "),
    "signature only": (b"BC\xc0\xde", "Expected a single module"),
    "foreign data layout": (b'target datalayout = "E-p:16:16"\n', "does not fit the target"),
    "broken data layout": (b'target datalayout = "nonsense"\n', "line 1: "),
    "invalid IR": (INVALID, "invalid module: Instruction does not dominate all uses"),
    "impossible coroutine": (COROUTINE, "coro.id.retcon"),
    "unknown type": (b"define void @f() {\n  %x = alloca %nowhere\n  ret void\n}\n", "line 2: "),
}


def flipped(content: bytes, bit: int) -> bytes:
    """Return the content with one bit changed."""
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << (bit % 8)
    return bytes(changed)


@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused_in_one_line(what: str) -> None:
    content, message = REFUSED[what]
    with pytest.raises(ProgramError, match=message) as caught:
        open_session(Program("input", "llvm", content))
    text = str(caught.value)
    assert text.startswith("input: ")
    assert "\n" not in text
    assert len(text) < 300


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_truncated_bitcode_is_refused(open_sandbox: OpenSandbox, share: float) -> None:
    content = program("recursion.c").content
    with pytest.raises(ProgramError) as caught:
        open_sandbox(TASK.open, Program("input", "llvm", content[: int(len(content) * share)]))
    assert "\n" not in str(caught.value)


def test_bitcode_of_a_newer_llvm_is_refused(open_sandbox: OpenSandbox) -> None:
    content = _native.Module(NEWER).bitcode()
    with pytest.raises(ProgramError, match="Incompatible epoch: Bitcode '1' vs current: '0'"):
        open_sandbox(TASK.open, Program("input", "llvm", flipped(content, EPOCH_BIT)))


def test_unknown_attribute_is_refused(open_sandbox: OpenSandbox) -> None:
    content = _native.Module(NEWER).bitcode()
    with pytest.raises(ProgramError, match="Unknown attribute kind") as caught:
        open_sandbox(TASK.open, Program("input", "llvm", flipped(content, ATTRIBUTE_BIT)))
    assert "\n" not in str(caught.value)


def test_source_that_is_empty_is_a_program() -> None:
    assert open_session(Program("input", "llvm", b"; nothing\n")).sites() == ()


def test_name_of_the_program_is_in_the_message() -> None:
    with pytest.raises(ProgramError, match=r"^folder/a\.bc: "):
        Sandbox(TASK.open, Program("folder/a.bc", "llvm", b"BC\xc0\xde"))


def test_baseline_of_an_impossible_coroutine_is_a_crash() -> None:
    with pytest.raises(CompilerCrash, match=r"-Oz: .*coro\.id\.retcon"):
        open_baseline(Program("input", "llvm", COROUTINE), "Oz")


def test_options_that_llvm_does_not_know_are_input_errors() -> None:
    with pytest.raises(InputError, match="unknown level 'O9'"):
        make_task(Options(level="O9")).open(program("matrix.c"))
    with pytest.raises(InputError, match="unknown level 'O9'"):
        open_baseline(program("matrix.c"), "O9")
    with pytest.raises(InputError, match="unknown CPU 'abacus'"):
        make_task(Options(cpu="abacus")).open(program("matrix.c")).measure("text-bytes")


def test_names_may_be_any_bytes() -> None:
    content = b'define void @"\\F8"() {\n  ret void\n}\n'
    assert len(open_session(Program("input", "llvm", content)).sites()) == 1
