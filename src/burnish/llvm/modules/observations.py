"""Observations of a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from burnish import _native
from burnish.core.objective import Observation
from burnish.core.view import Observed
from burnish.llvm.modules.module import emit_assembly
from burnish.llvm.modules.passes import ACTIONS
from burnish.llvm.representations.graph import (
    BLOCK_COLUMNS,
    CALL_COLUMNS,
    FLOWS,
    PROGRAM_COLUMNS,
    block_graph,
    call_graph,
    program_graph,
    tokens,
)
from burnish.llvm.representations.ir2vec import DIMENSION, program_vector
from burnish.llvm.representations.vocabulary import SIZE
from burnish.llvm.targets import MACHINES, machine_of

TRACE_LENGTH = 256

_OPCODES = tuple(_native.opcode_count_names())
_AUTOPHASE = (
    "BBNumArgsHi BBNumArgsLo onePred onePredOneSuc onePredTwoSuc oneSuccessor twoPred twoPredOneSuc "
    "twoEach twoSuccessor morePreds BB03Phi BBHiPhi BBNoPhi BeginPhi BranchCount returnInt "
    "CriticalCount NumEdges const32Bit const64Bit numConstZeroes numConstOnes UncondBranches "
    "binaryConstArg NumAShrInst NumAddInst NumAllocaInst NumAndInst BlockMid BlockLow NumBitCastInst "
    "NumBrInst NumCallInst NumGetElementPtrInst NumICmpInst NumLShrInst NumLoadInst NumMulInst "
    "NumOrInst NumPHIInst NumRetInst NumSExtInst NumSelectInst NumShlInst NumStoreInst NumSubInst "
    "NumTruncInst NumXorInst NumZExtInst TotalBlocks TotalInsts TotalMemInst TotalFuncs ArgsPhi "
    "testUnary "
).split()
_AUTOPHASE_TOTAL = _AUTOPHASE.index("TotalInsts")
_PROPERTIES = tuple(_native.function_property_names())
_MAX_LOOP_DEPTH = _PROPERTIES.index("MaxLoopDepth")


def _counts(name: str, description: str, columns: Sequence[str], dtype: str = "int64") -> Observation:
    return Observation(name, description, shape=(len(columns),), dtype=dtype, columns=columns)


def _graph(
    name: str, description: str, columns: tuple[str, ...], low: int = 0, position: str = "position"
) -> Observation:
    return Observation(
        name,
        description,
        kind="graph",
        shape=(len(columns),),
        low=low,
        columns=columns,
        flows=FLOWS,
        position=position,
    )


OBSERVATIONS: dict[str, Observation] = {
    item.name: item
    for item in (
        _counts("opcode-counts", "Totals and the count of each opcode (CompilerGym's InstCount)", _OPCODES),
        _counts("opcode-counts-normalized", "opcode-counts / the instruction count", _OPCODES, "float32"),
        _counts("autophase", "The 56 features of AutoPhase (Huang et al. 2019)", _AUTOPHASE),
        _counts("autophase-normalized", "autophase / the instruction count", _AUTOPHASE, "float32"),
        _counts(
            "function-properties",
            "LLVM's FunctionPropertiesAnalysis: sums over the functions, but the maximum of MaxLoopDepth",
            _PROPERTIES,
        ),
        Observation(
            "trace",
            f"Indices of the last {TRACE_LENGTH} actions in the whole list, plus one, oldest first; "
            "0: no action. Their sites are not included.",
            shape=(TRACE_LENGTH,),
            high=len(ACTIONS),
        ),
        _graph(
            "programl",
            "ProGraML's graph (Cummins et al. 2021): instructions, variables, constants; "
            "control, data and call edges",
            PROGRAM_COLUMNS,
            low=-1,  # in the column "function", for a constant
        ),
        _graph("cfg", "Every function's basic blocks; edges are control flow", BLOCK_COLUMNS),
        _graph(
            "callgraph",
            "Functions; edges are calls, and their position is the number of calls",
            CALL_COLUMNS,
            position="calls",
        ),
        Observation(
            "ir2vec",
            "The program's flow-aware vector of IR2Vec (VenkataKeerthy et al. 2020)",
            shape=(DIMENSION,),
            dtype="float32",
            low=float("-inf"),
        ),
        Observation(
            "tokens",
            "The instructions in program order as tokens of programl; a marker precedes each function",
            kind="sequence",
            high=SIZE - 1,
        ),
        Observation("ir", "The module as LLVM IR text", kind="text"),
        Observation("assembly", "The machine code of the object file, as assembly", kind="text"),
        Observation("bitcode", "The module as bitcode with use-list orders", kind="bytes"),
        Observation(
            "cpu", "JSON: this machine's processor and its caches; the compiler's target", kind="text"
        ),
        _counts("machine", "1 for the machine that the program is for", MACHINES),
        Observation("runnable", "1 if the program can be run: it has a workload", shape=(1,), high=1),
    )
}


def observe(module: _native.Module, space: str, applied: list[int], level: str, cpu: str) -> Observed:
    """Compute one of OBSERVATIONS that depends on the module; `applied` has the indices of the actions.

    Raises:
        KeyError: `space` is not in OBSERVATIONS.
        InputError, NotMeasurable: there is no such CPU, or no back end for the module's target.
    """
    if space == "assembly":
        return emit_assembly(module, level, cpu)
    if space != "trace":
        return _OBSERVERS[space](module)
    row = np.zeros(TRACE_LENGTH, dtype=np.int64)
    last = applied[-TRACE_LENGTH:]
    row[: len(last)] = np.asarray(last, dtype=np.int64) + 1
    return row


def _normalized(values: NDArray[np.int64], total: int) -> NDArray[np.float32]:
    return (values / max(1, int(values[total]))).astype(np.float32)


def _function_properties(module: _native.Module) -> NDArray[np.int64]:
    rows = module.function_properties()
    total: NDArray[np.int64] = rows.sum(axis=0)
    total[_MAX_LOOP_DEPTH] = rows[:, _MAX_LOOP_DEPTH].max(initial=0)
    return total


_OBSERVERS: dict[str, Callable[[_native.Module], Observed]] = {
    "opcode-counts": _native.Module.opcode_counts,
    "opcode-counts-normalized": lambda module: _normalized(module.opcode_counts(), 0),
    "autophase": _native.Module.autophase,
    "autophase-normalized": lambda module: _normalized(module.autophase(), _AUTOPHASE_TOTAL),
    "function-properties": _function_properties,
    "programl": lambda module: program_graph(module).arrays,
    "cfg": lambda module: block_graph(module).arrays,
    "callgraph": lambda module: call_graph(module).arrays,
    "ir2vec": program_vector,
    "tokens": tokens,
    "ir": _native.Module.print,
    "bitcode": _native.Module.bitcode,
    "machine": lambda module: np.array([name == machine_of(module.triple) for name in MACHINES], np.int64),
}
