"""Binaryen's library, by its C API: modules are read, transformed by passes and written in this process."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from burnish.core.errors import MissingTool, install

WHEEL = "icpp-binaryen"
INSTALL = install("wasm")

# The part of binaryen-c.h that this task calls; the wheel's own declarations have no passes.
_DECLARATIONS = """
typedef uint32_t BinaryenIndex;
typedef uint32_t BinaryenFeatures;
typedef struct BinaryenModule *BinaryenModuleRef;
typedef struct BinaryenFunction *BinaryenFunctionRef;
typedef struct { void *binary; size_t binaryBytes; char *sourceMap; } BinaryenModuleAllocateAndWriteResult;

BinaryenModuleRef BinaryenModuleRead(char *input, size_t inputSize);
BinaryenModuleRef BinaryenModuleCreate(void);
void BinaryenModuleDispose(BinaryenModuleRef module);
void _ZN4wasm11ModuleUtils10copyModuleERKNS_6ModuleERS1_(BinaryenModuleRef from, BinaryenModuleRef to);
bool BinaryenModuleValidate(BinaryenModuleRef module);
BinaryenFeatures BinaryenModuleGetFeatures(BinaryenModuleRef module);
void BinaryenModuleSetFeatures(BinaryenModuleRef module, BinaryenFeatures features);
BinaryenModuleAllocateAndWriteResult
BinaryenModuleAllocateAndWrite(BinaryenModuleRef module, const char *sourceMapUrl);
char *BinaryenModuleAllocateAndWriteText(BinaryenModuleRef module);
void free(void *pointer);

BinaryenIndex BinaryenGetNumFunctions(BinaryenModuleRef module);
BinaryenFunctionRef BinaryenGetFunctionByIndex(BinaryenModuleRef module, BinaryenIndex index);
BinaryenFunctionRef BinaryenGetFunction(BinaryenModuleRef module, const char *name);
const char *BinaryenFunctionGetName(BinaryenFunctionRef function);
const char *BinaryenFunctionImportGetBase(BinaryenFunctionRef function);

void BinaryenModuleOptimize(BinaryenModuleRef module);
void BinaryenModuleRunPasses(BinaryenModuleRef module, const char **passes, BinaryenIndex numPasses);
void BinaryenFunctionOptimize(BinaryenFunctionRef function, BinaryenModuleRef module);
void BinaryenFunctionRunPasses(BinaryenFunctionRef function, BinaryenModuleRef module, const char **passes,
                               BinaryenIndex numPasses);

void BinaryenSetOptimizeLevel(int level);
void BinaryenSetShrinkLevel(int level);
void BinaryenSetDebugInfo(bool on);
void BinaryenSetFastMath(bool on);
void BinaryenSetLowMemoryUnused(bool on);
void BinaryenSetZeroFilledMemory(bool on);
void BinaryenClearPassArguments(void);
void BinaryenSetAlwaysInlineMaxSize(BinaryenIndex size);
void BinaryenSetFlexibleInlineMaxSize(BinaryenIndex size);
void BinaryenSetOneCallerInlineMaxSize(BinaryenIndex size);
void BinaryenSetAllowInliningFunctionsWithLoops(bool enabled);
"""

_COPY = "_ZN4wasm11ModuleUtils10copyModuleERKNS_6ModuleERS1_"  # copyModule(Module const&, Module&)

LEVELS = {"O1": (1, 0), "O2": (2, 0), "O3": (3, 0), "O4": (4, 0), "Os": (2, 1), "Oz": (2, 2)}
"""Optimize level and shrink level of each of wasm-opt's options."""

FEATURES = {
    "atomics": 1 << 0,
    "mutable-globals": 1 << 1,
    "nontrapping-fptoint": 1 << 2,
    "simd128": 1 << 3,
    "bulk-memory": 1 << 4,
    "sign-ext": 1 << 5,
    "exception-handling": 1 << 6,
    "tail-call": 1 << 7,
    "reference-types": 1 << 8,
    "multivalue": 1 << 9,
    "memory64": 1 << 11,
    "relaxed-simd": 1 << 13,
    "extended-const": 1 << 14,
    "multi-memory": 1 << 16,
}
"""wasm-features.h of binaryen 116, without those of garbage-collected languages."""

STACK_PASSES = ("generate-stack-ir", "optimize-stack-ir")
"""The last two passes of -O2 and of all levels above."""


@dataclass(frozen=True)
class Settings:
    """The options of wasm-opt that passes look at; sizes are binaryen's count of expressions."""

    level: str = "Oz"
    always_inline_max_size: int = 2
    flexible_inline_max_size: int = 20
    one_caller_inline_max_size: int = 0xFFFFFFFF
    inline_functions_with_loops: bool = False

    def words(self) -> tuple[str, ...]:
        """Return the options of wasm-opt for a pass with these settings."""
        default = Settings(self.level)
        optimize, shrink = LEVELS[self.level]
        sizes = ("always", "flexible", "one_caller")
        changed = [f"{size}_inline_max_size" for size in sizes]
        return (
            f"--optimize-level={optimize}",
            f"--shrink-level={shrink}",
            *(
                f"--{name.replace('max_size', 'max_function_size').replace('_', '-')}={getattr(self, name)}"
                for name in changed
                if getattr(self, name) != getattr(default, name)
            ),
            *(("--inline-functions-with-loops",) if self.inline_functions_with_loops else ()),
        )


DEFAULTS = Settings()


class Module:
    """A module in memory.

    Binaryen ends the process if it cannot read or transform a module: `programs.check` finds unreadable ones
    before, and workers survive the rest.
    """

    def __init__(self, content: bytes, features: int | None = None) -> None:
        """Read a module; `features`, bits of FEATURES, replaces those of its section target_features."""
        ffi, self._lib = library()
        self._ref = self._lib.BinaryenModuleRead(ffi.from_buffer("char[]", content), len(content))
        if features is not None:
            self.set_features(features)

    def copy(self) -> Module:
        """Return a second module with the same content.

        The C API has no function for this; the library also has binaryen's own, ModuleUtils::copyModule. It
        leaves out the sections target_features and dylink, which sessions do not give to binaryen.
        """
        made = Module.__new__(Module)
        made._lib = self._lib
        made._ref = self._lib.BinaryenModuleCreate()
        getattr(self._lib, _COPY)(self._ref, made._ref)
        return made

    def close(self) -> None:
        """Free the memory; the module must not be used afterwards."""
        if self._ref is not None:
            self._lib.BinaryenModuleDispose(self._ref)
            self._ref = None

    def __enter__(self) -> Module:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    @property
    def features(self) -> int:
        """The features that passes may use, bits of FEATURES."""
        return int(self._lib.BinaryenModuleGetFeatures(self._ref))

    def set_features(self, features: int) -> None:
        """Set the features that passes may use."""
        self._lib.BinaryenModuleSetFeatures(self._ref, features)

    def is_valid(self) -> bool:
        """Return whether binaryen's validator accepts the module; it prints its errors."""
        return bool(self._lib.BinaryenModuleValidate(self._ref))

    def functions(self) -> tuple[str, ...]:
        """Return the names of the functions with a body, in the order of the code section."""
        ffi, lib = library()
        names = []
        for i in range(lib.BinaryenGetNumFunctions(self._ref)):
            function = lib.BinaryenGetFunctionByIndex(self._ref, i)
            if not ffi.string(lib.BinaryenFunctionImportGetBase(function)):
                names.append(ffi.string(lib.BinaryenFunctionGetName(function)).decode())
        return tuple(names)

    def run(self, passes: Sequence[str], settings: Settings, function: str = "") -> None:
        """Run passes in order, on one function or on the whole module."""
        _, lib = library()
        _set(settings)
        names = _array(tuple(passes))
        if function:
            found = lib.BinaryenGetFunction(self._ref, function.encode())
            lib.BinaryenFunctionRunPasses(found, self._ref, names, len(passes))
        else:
            lib.BinaryenModuleRunPasses(self._ref, names, len(passes))

    def run_pipeline(self, settings: Settings) -> None:
        """Run the whole pipeline of the settings' level."""
        _set(settings)
        self._lib.BinaryenModuleOptimize(self._ref)

    def run_function_pipeline(self, settings: Settings, function: str = "") -> None:
        """Run the pipeline's passes of functions, on one function or on every one."""
        _, lib = library()
        _set(settings)
        for name in [function] if function else self.functions():
            lib.BinaryenFunctionOptimize(lib.BinaryenGetFunction(self._ref, name.encode()), self._ref)

    def optimize_stack_code(self, settings: Settings) -> None:
        """Run STACK_PASSES on the code that `write` writes; afterwards, the module cannot be copied."""
        self.run(STACK_PASSES, settings)

    def write(self, names: bool) -> bytes:
        """Return the module's binary form, with or without the names of its functions."""
        ffi, lib = library()
        lib.BinaryenSetDebugInfo(names)
        made = lib.BinaryenModuleAllocateAndWrite(self._ref, ffi.NULL)
        try:
            return bytes(ffi.buffer(made.binary, made.binaryBytes))
        finally:
            lib.free(made.binary)

    def text(self) -> str:
        """Return the module's text form."""
        ffi, lib = library()
        made = lib.BinaryenModuleAllocateAndWriteText(self._ref)
        try:
            return str(ffi.string(made).decode())
        finally:
            lib.free(made)


@cache
def library() -> tuple[Any, Any]:
    """Return cffi's FFI and binaryen's library.

    Raises:
        MissingTool: the wheel is not installed.
    """
    os.environ["BINARYEN_CORES"] = "1"  # binaryen reads it when it starts its threads: a worker has one core
    try:
        wheel = importlib.import_module("icpp_binaryen")
        ffi = importlib.import_module("cffi").FFI()
    except ImportError as error:
        raise MissingTool(f"Binaryen is not installed ({error}): {INSTALL}") from None
    ffi.cdef(_DECLARATIONS)
    assert wheel.__file__
    return ffi, ffi.dlopen(str(Path(wheel.__file__).parent / "lib" / "libbinaryen.so"))


def versions() -> dict[str, str]:
    """Return the versions of binaryen and of its wheel; "" if it is not installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        wheel = installed(WHEEL)
    except PackageNotFoundError:
        return {"binaryen": ""}
    return {"binaryen": wheel.partition(".")[0], WHEEL: wheel}


def _set(settings: Settings) -> None:
    """Set all of binaryen's options, which are the process's own."""
    _, lib = library()
    optimize, shrink = LEVELS[settings.level]
    lib.BinaryenSetOptimizeLevel(optimize)
    lib.BinaryenSetShrinkLevel(shrink)
    lib.BinaryenSetDebugInfo(False)
    lib.BinaryenSetFastMath(False)
    lib.BinaryenSetLowMemoryUnused(False)
    lib.BinaryenSetZeroFilledMemory(False)
    lib.BinaryenClearPassArguments()
    lib.BinaryenSetAlwaysInlineMaxSize(settings.always_inline_max_size)
    lib.BinaryenSetFlexibleInlineMaxSize(settings.flexible_inline_max_size)
    lib.BinaryenSetOneCallerInlineMaxSize(settings.one_caller_inline_max_size)
    lib.BinaryenSetAllowInliningFunctionsWithLoops(settings.inline_functions_with_loops)


@cache
def _array(passes: tuple[str, ...]) -> Any:
    """Return the names as an array of C strings, which lives as long as the process."""
    ffi, _ = library()
    strings = [ffi.new("char[]", name.encode()) for name in passes]
    array = ffi.new("char *[]", strings)
    _KEPT.append(strings)
    return array


_KEPT: list[Any] = []  # strings that arrays of `_array` point to
