"""Operations on LLVM modules: CompilerCrash where LLVM fails, ProgramError if a program cannot be read."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from burnish import _native
from burnish.core.errors import CompilerCrash, InputError, NotMeasurable, ProgramError
from burnish.core.program import Program
from burnish.core.trace import WHOLE_PROGRAM
from burnish.llvm.modules.passes import PASSES
from burnish.llvm.toolchain import is_native


def run_pass(module: _native.Module, action: int, site: str, level: str) -> bool:
    """Run one of PASSES on a module, or on one of its functions; return whether LLVM reports a change."""
    item = PASSES[action]
    try:
        if site == WHOLE_PROGRAM or item.function_pipeline is None:
            return module.run(item.pipeline, level)
        return module.run(item.function_pipeline, level, [site])
    except _native.FatalError as error:
        raise CompilerCrash(f"{item.text}: {error}") from None


def run_answered(module: _native.Module, action: int, level: str, answers: Mapping[str, bool]) -> bool:
    """Run one of PASSES on a module, with the inliner's answers by site; see native/inlining.h."""
    item = PASSES[action]
    try:
        return _native.run_with_answers(module, item.pipeline, level, dict(answers))
    except _native.FatalError as error:
        raise CompilerCrash(f"{item.text}: {error}") from None


def clone_module(module: _native.Module) -> _native.Module:
    """Return a copy of a module, made through bitcode."""
    try:
        return module.clone()
    except _native.FatalError as error:
        raise CompilerCrash(str(error)) from None


def back_end_of(module: _native.Module, level: str, cpu: str) -> _native.BackEnd:
    """Return the settings of code generation for a level and a CPU.

    Code for another machine has a section for each function and each variable, as firmware is built: its
    linkers leave out what is not used.
    """
    back_end = _native.BackEnd()
    back_end.level, back_end.cpu = level, cpu
    back_end.function_sections = back_end.data_sections = not is_native(module.triple)
    return back_end


def emit_object(module: _native.Module, level: str, cpu: str) -> bytes:
    """Return the object file that the back end makes of a module.

    Raises:
        InputError: there is no such CPU.
        NotMeasurable: this build has no back end for the module's target.
    """
    with _code_generation(module):
        return module.emit_object(back_end_of(module, level, cpu))


def emit_as_told(module: _native.Module, level: str, arguments: Sequence[str]) -> bytes:
    """Return the object file of a module; of clang's `arguments`, those for sections have an effect."""
    back_end = back_end_of(module, level, "")
    for word in arguments:
        match word:
            case "-ffunction-sections" | "-fno-function-sections":
                back_end.function_sections = word == "-ffunction-sections"
            case "-fdata-sections" | "-fno-data-sections":
                back_end.data_sections = word == "-fdata-sections"
    with _code_generation(module):
        return module.emit_object(back_end)


def emit_assembly(module: _native.Module, level: str, cpu: str) -> str:
    """Return the code of `emit_object` as assembly, with LLVM's comments."""
    back_end = back_end_of(module, level, cpu)
    back_end.assembly = True
    with _code_generation(module):
        return module.emit_object(back_end).decode(errors="replace")


def emit_described(module: _native.Module, level: str, cpu: str) -> _native.Generated:
    """Return the object file of `emit_object` with facts about its code, such as run times."""
    with _code_generation(module):
        return _native.generate_code(module, back_end_of(module, level, cpu), {}, scores=True)


@contextlib.contextmanager
def _code_generation(module: _native.Module) -> Iterator[None]:
    try:
        yield
    except _native.FatalError as error:
        raise CompilerCrash(f"code generation: {error}") from None
    except _native.PipelineError as error:
        raise refusal(module, error) from None


def refusal(module: _native.Module, error: _native.PipelineError) -> InputError:
    """Return the error for refused code generation: NotMeasurable if there is no back end."""
    return InputError(str(error)) if module.has_back_end else NotMeasurable(str(error))


def object_sizes(code: bytes, module: _native.Module) -> _native.Sizes:
    """Return the sizes of a module's object file; see native/sizes.h."""
    try:
        return _native.object_sizes(code, module)
    except _native.InputError as error:
        raise NotMeasurable(f"made for '{module.triple}': {error}") from None


def without_unwind_tables(program: Program) -> Program:
    """Return a program as by -fno-asynchronous-unwind-tables: tables remain only where exceptions pass."""
    module = read_module(program)
    module.drop_unwind_tables()
    return replace(program, content=module.bitcode())


def read_module(program: Program) -> _native.Module:
    """Parse and verify a program's bitcode or IR text."""
    try:  # a fixed name: IR text without a source_filename takes it, and every digest includes it
        return _native.Module(program.content, "program")
    except _native.InputError as error:
        raise ProgramError(f"{program.name}: {error}") from None
    except _native.FatalError as error:
        raise ProgramError(f"{program.name}: LLVM cannot read this: {error}") from None
