"""Reading programs: text and binary form, features, and errors that say what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from burnish.core.errors import CompilerCrash, InputError, ProgramError
from burnish.core.program import Program
from burnish.core.registry import load_task, task_for
from burnish.tasks.wasm_passes import TASK
from burnish.tasks.wasm_passes.binaryen import FEATURES, Module
from burnish.tasks.wasm_passes.programs import prepared, used_features
from burnish.tasks.wasm_passes.running import wat_to_wasm
from burnish.tasks.wasm_passes.session import WasmSession, open_program
from burnish.workers.sandbox import Sandbox
from tests.conftest import OpenSandbox
from tests.tasks.wasm_passes.modules import CONSTANTS, COUNT, compiled, count


def test_files_of_both_forms_are_one_program(tmp_path: Path) -> None:
    (tmp_path / "count.wat").write_text(COUNT)
    (tmp_path / "count.wasm").write_bytes(count().content)
    assert task_for([str(tmp_path / "count.wasm")]).name == "wasm_passes"
    source = TASK.source()
    programs = [source.load(name).program for name in source.expand(str(tmp_path))]
    assert len({program.digest for program in programs}) == 1


def test_errors_in_a_text_name_the_line(tmp_path: Path) -> None:
    (tmp_path / "wrong.wat").write_text("(module\n  (func (i32.no)))")
    with pytest.raises(ProgramError, match=r"wrong\.wat: (?s:.*)i32\.no"):
        TASK.source().load(str(tmp_path / "wrong.wat"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"int main(void) { return 0; }", "not a module"),
        (b"\0asm\1\0\0\0\1\x7f\0", "cut off"),
        (b"\0asm\1\0\0\0\x0a\x04\1\2\0\x0b", "b: "),  # code without a function section
        (b"\0asm\1\0\0\0\0\x09\x07linking\2", "link it first"),
        (b"\0asm\1\0\0\0\0\x09\x08dylink.0", "a shared library"),
    ],
)
def test_wrong_files_are_refused_in_this_process(content: bytes, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        open_program(Program("b", "wasm", content))


def test_a_truncated_program_is_refused_everywhere() -> None:
    content = compiled().content
    for length in range(0, len(content), 97):
        program = Program("cut", "wasm", content[:length])
        try:
            open_program(program)
        except ProgramError:
            continue
        assert length >= content.rindex(b"target_features") - 200 or length == 8, (
            "only sections for tools are missing"
        )


def test_other_languages_are_refused() -> None:
    with pytest.raises(InputError, match="expected 'wasm'"):
        open_program(Program("a", "llvm", count().content))


def test_features_are_those_of_the_section() -> None:
    content = compiled().content
    with Module(content) as module:
        assert prepared("c", content).features == module.features
    assert b"+\x08sign-ext" in prepared("c", content).last_section


def test_features_without_a_section_are_those_in_use() -> None:
    text = "(module (memory 1) (func (memory.fill (i32.const 0) (i32.const 0) (i32.const 9))))"
    found = prepared("fill", wat_to_wasm("fill", text.encode())).features
    assert found == FEATURES["bulk-memory"] | FEATURES["mutable-globals"] | FEATURES["sign-ext"]
    with Module(wat_to_wasm("c", CONSTANTS.encode())) as module:
        assert used_features(module.text()) == FEATURES["mutable-globals"] | FEATURES["sign-ext"]


def test_debug_information_is_left_out() -> None:
    content = count().content + b"\0\x0d\x0b.debug_info\0"
    assert open_program(Program("d", "wasm", content)).digest() == open_program(count()).digest()


def test_a_fatal_error_of_binaryen_is_a_crash(open_sandbox: OpenSandbox) -> None:
    """rereloop ends the process on code that is not flat: an action has flatten before it for this reason."""
    session = open_sandbox(_open_for_fatal, compiled())
    assert isinstance(session, Sandbox)
    with pytest.raises(CompilerCrash, match="flat"):
        session.digest()
    with pytest.raises(CompilerCrash):
        session.digest()


class _Fatal(WasmSession):
    """A session whose digest is taken after a pass that ends the process."""

    def digest(self) -> str:
        from burnish.tasks.wasm_passes.binaryen import Settings

        with self._read() as module:
            module.run(["rereloop"], Settings())
        return ""


def _open_for_fatal(program: Program) -> WasmSession:
    return _Fatal(program.name, prepared(program.name, program.content), None)


def test_the_task_is_listed_and_registered() -> None:
    assert load_task("wasm_passes-v0") is TASK
    assert TASK.gymnasium_ids == ("burnish/WasmPasses-v0",)
