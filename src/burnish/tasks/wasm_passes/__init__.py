"""WebAssembly modules: binaryen's passes, on the whole module and on each function."""

from __future__ import annotations

from collections.abc import Mapping

from burnish.core.program_source import ProgramSource
from burnish.core.task import Checks, Files, Presentation, SearchHints, Task
from burnish.tasks.wasm_passes.actions import ACTIONS, DESCRIPTIONS, LIST_VERSION, commandline
from burnish.tasks.wasm_passes.binaryen import versions
from burnish.tasks.wasm_passes.hints import INITIAL_TRACES, SUFFIXES
from burnish.tasks.wasm_passes.objectives import OBJECTIVES
from burnish.tasks.wasm_passes.observations import LISTING, OBSERVATIONS
from burnish.tasks.wasm_passes.outputs import write_binary, write_text
from burnish.tasks.wasm_passes.running import behaviour
from burnish.tasks.wasm_passes.session import BASELINES, open_program

__all__ = ["TASK"]


def _source() -> ProgramSource:
    from burnish.tasks.wasm_passes.programs import WasmSource  # late: workers do not need it

    return WasmSource()


def _toolchain() -> Mapping[str, str]:
    return versions()


TASK = Task(
    name="wasm_passes",
    version=LIST_VERSION,
    language="wasm",
    actions=ACTIONS,
    observations=OBSERVATIONS,
    objectives=OBJECTIVES,
    open=open_program,
    baselines=BASELINES,
    reference="Oz",
    max_steps=40,
    hints=SearchHints(initial_traces=INITIAL_TRACES, suffixes=SUFFIXES),
    files=Files(make_source=_source, emitters={".wasm": write_binary, ".wat": write_text}),
    checks=Checks(behaviour, toolchain=_toolchain, commandline=commandline),
    shown=Presentation(
        ("wasm-bytes", "brotli-bytes"),
        ("unoptimized", "Oz", "O3"),
        label="{}",
        listings=(LISTING,),
        title="WasmPasses",
    ),
    descriptions=DESCRIPTIONS,
)
