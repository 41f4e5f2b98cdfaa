"""A program's own text compiled by IREE for this machine's processor; it runs in the caller's thread."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from burnish.core.errors import CompilerCrash
from burnish.tasks.mlir_schedules import bindings, payload
from burnish.tasks.mlir_schedules.payload import ANY
from burnish.tasks.mlir_schedules.peers.way import Call, Way
from mlir_schedules.benches import Bench

compiler = importlib.import_module("iree.compiler")
runtime = importlib.import_module("iree.runtime")

FLAGS = ("--iree-llvmcpu-target-cpu=host",)
WAYS = {
    "default": (),
    "data-tiling": ("--iree-opt-data-tiling",),
}
"""Additional flags by way."""
UNKNOWN = ("add", "sub", "mul", "div", "max", "min", "exp", "negf")
"""Element-wise ops that IREE's MLIR does not have: it gets linalg.generic, to which it lowers all ops."""


def ways(bench: Bench) -> Iterator[Way]:
    """Yield a way for each set of flags."""
    for name, flags in WAYS.items():
        yield Way(name, partial(_make, bench, flags), _result)


def _make(bench: Bench, flags: tuple[str, ...]) -> Call:
    text, extra = program_text(bench.text), [*FLAGS, *flags]
    try:
        code = compiler.compile_str(text, target_backends=["llvm-cpu"], input_type="auto", extra_args=extra)
    except compiler.CompilerToolError as error:
        raise CompilerCrash(str(error)) from None
    config = runtime.Config("local-sync")
    module = runtime.VmModule.copy_buffer(config.vm_instance, code)
    context = runtime.SystemContext(config=config)
    context.add_vm_module(module)
    arrays = [runtime.asdevicearray(config.device, array) for array in bench.trial.inputs]
    arguments = runtime.VmVariantList(len(arrays))
    for array in arrays:
        arguments.push_ref(array._buffer_view)
    function, invoke = module.lookup_function("main"), context.vm_context.invoke
    variants: Callable[[int], Any] = runtime.VmVariantList

    def call() -> Any:
        results = variants(1)
        invoke(function, arguments, results)
        return config, results  # the config's device owns the results' memory

    return call


def _result(output: Any) -> Any:
    config, results = output
    view = results.get_as_object(0, runtime.HalBufferView)
    return np.array(runtime.DeviceArray(config.device, view, implicit_host_transfer=True))


def program_text(text: str) -> str:
    """Return a program with the ops that IREE cannot parse as linalg.generic."""
    unknown = [f"linalg.{name}" for name in UNKNOWN if f"linalg.{name} " in text]
    if not unknown:
        return text
    names = ", ".join(f'"{name}"' for name in unknown)
    module = bindings.parse(text)
    payload.apply(
        module,
        f"    %ops = transform.structured.match ops{{[{names}]}} in %module : ({ANY}) -> {ANY}\n"
        f"    %generic = transform.structured.generalize %ops : ({ANY}) -> {ANY}\n",
    )
    return str(module)
