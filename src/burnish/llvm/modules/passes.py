"""The actions: LLVM 23's passes with their parameters (version 1 of the list).

The list is chosen from LLVM's own catalogue (`burnish._native.pass_catalogue()`,
llvm/lib/Passes/PassRegistry.def). OMITTED has the other passes, with reasons. A test checks every entry
against the catalogue, and every pass of CompilerGym's list of 124 against ACTIONS and OMITTED.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from burnish.core.action import Action
from burnish.core.errors import InputError, UnknownName
from burnish.core.view import Mask

LIST_VERSION = 1

Unit = Literal["module", "cgscc", "function", "loop", "loop-mssa"]


@dataclass(frozen=True)
class Pass:
    """One action: a pass with its parameters, and the unit of IR that it runs on."""

    text: str
    unit: Unit

    @property
    def function_pipeline(self) -> str | None:
        """The text for a function pass manager; None if the pass needs more than one function."""
        if self.unit in ("module", "cgscc"):
            return None
        return self.text if self.unit == "function" else f"{self.unit}({self.text})"

    @property
    def pipeline(self) -> str:
        """The text for a module pass manager: the syntax of `opt -passes=`."""
        if self.unit == "module":
            return self.text
        if self.unit == "cgscc":
            return f"cgscc({self.text})"
        return f"function({self.function_pipeline})"


_MODULE = """
always-inline called-value-propagation canonicalize-aliases constmerge deadargelim elim-avail-extern
expand-variadics globaldce global-merge global-merge<merge-const> global-merge<merge-const-aggressive>
global-merge-func globalopt globalsplit hotcoldsplit inferattrs ipsccp ipsccp<no-func-spec>
mergefunc partial-inliner rel-lookup-table-converter rpo-function-attrs
strip-dead-prototypes scc-oz-module-inliner
inliner-wrapper<threshold=0> inliner-wrapper<threshold=5> inliner-wrapper<threshold=25>
inliner-wrapper<threshold=50> inliner-wrapper<threshold=100> inliner-wrapper<threshold=225>
module-inline<threshold=0> module-inline<threshold=25> module-inline<threshold=100>
outline<call-cost=0> outline<call-cost=1> outline<call-cost=2> outline<call-cost=3>
clang<O1> clang<O2> clang<O3> clang<Os> clang<Oz>
clang<Oz;inline-threshold=0> clang<Oz;inline-threshold=25> clang<Oz;inline-threshold=75>
"""

_CGSCC = """
argpromotion argpromotion<max-elements=0> argpromotion<max-elements=8>
function-attrs function-attrs<skip-non-recursive-function-attrs> inline inline<only-mandatory>
"""

_FUNCTION = """
adce aggressive-instcombine alignment-from-assumptions assume-simplify bdce break-crit-edges
callsite-splitting chr consthoist constraint-elimination correlated-propagation dce dfa-jump-threading
div-rem-pairs drop-unnecessary-assumes dse early-cse early-cse<memssa> expand-memcmp flatten-cfg float2int
function-simplification<O1> function-simplification<O2> function-simplification<O3>
guard-widening gvn gvn<no-load-pre> gvn<no-scalar-pre> gvn<memoryssa;no-memdep>
infer-address-spaces infer-alignment inject-tli-mappings instcombine<no-verify-fixpoint>
instcombine<no-verify-fixpoint;max-iterations=1> instsimplify interleaved-load-combine irce
jump-table-to-switch jump-threading jump-threading<threshold=0> jump-threading<threshold=2>
jump-threading<threshold=12> lcssa libcalls-shrinkwrap load-store-vectorizer loop-data-prefetch
loop-distribute loop-fusion loop-load-elim loop-simplify loop-sink loop-unroll<O2;no-runtime;no-partial>
loop-unroll<O3> loop-unroll<O3;full-unroll-max=2> loop-unroll<O3;full-unroll-max=8>
loop-unroll<O2;no-peeling;no-runtime;no-partial> loop-vectorize
loop-vectorize<no-interleave-forced-only;vectorize-forced-only> loop-versioning lower-constant-intrinsics
lower-expect lower-guard-intrinsic lower-matrix-intrinsics lower-matrix-intrinsics<minimal> lower-switch
lower-widenable-condition make-guards-explicit mem2reg memcpyopt mergeicmps mldst-motion
mldst-motion<split-footer-bb> move-auto-init nary-reassociate partially-inline-libcalls reassociate
reg2mem sccp scalarizer scalarizer<load-store> separate-const-offset-from-gep
separate-const-offset-from-gep<lower-gep> simplifycfg
simplifycfg<hoist-common-insts;sink-common-insts>
simplifycfg<bonus-inst-threshold=0> simplifycfg<bonus-inst-threshold=4>
simplifycfg<bonus-inst-threshold=2;forward-switch-cond;switch-range-to-icmp;switch-to-lookup;no-keep-loops;hoist-common-insts;sink-common-insts>
simplifycfg<bonus-inst-threshold=0;no-speculate-blocks;no-simplify-cond-branch;hoist-common-insts;sink-common-insts>
simplifycfg<forward-switch-cond;switch-range-to-icmp;switch-to-arithmetic;switch-to-lookup>
simplifycfg<hoist-loads-stores-with-cond-faulting;speculate-unpredictables> simplifycfg<no-keep-loops>
sink slp-vectorizer slsr speculative-execution sroa<preserve-cfg> sroa<modify-cfg>
tailcallelim typepromotion unreachableblockelim vector-combine
loop-flatten loop-interchange loop-unroll-and-jam
hoist-common hoist-common<no-free> sink-common
frame-pointer<calls=0> frame-pointer<calls=2> frame-pointer<calls=4> no-jump-tables no-minsize
"""

_LOOP = """
canon-freeze indvars loop-deletion loop-idiom loop-idiom-vectorize loop-instsimplify loop-predication
loop-reduce loop-rotate<header-duplication> loop-rotate<no-header-duplication> loop-simplifycfg
loop-term-fold loop-unroll-full loop-versioning-licm
"""

_LOOP_MSSA = """
licm<allowspeculation> licm<no-allowspeculation> lnicm<allowspeculation>
simple-loop-unswitch<nontrivial> simple-loop-unswitch<no-nontrivial;trivial>
"""

# Passes of native/, which LLVM's tools lack.
OURS = ("outline<", "hoist-common", "sink-common", "frame-pointer<", "no-jump-tables", "no-minsize")

_OWN = ("clang<", "inliner-wrapper<", "module-inline<", "argpromotion<", "jump-threading<", *OURS)

_LOOP_NEST = frozenset({"loop-flatten", "loop-interchange", "loop-unroll-and-jam"})


def _passes(unit: Unit, texts: str) -> tuple[Pass, ...]:
    return tuple(Pass(text, "loop" if text in _LOOP_NEST else unit) for text in texts.split())


PASSES: tuple[Pass, ...] = (
    *_passes("module", _MODULE),
    *_passes("cgscc", _CGSCC),
    *_passes("function", _FUNCTION),
    *_passes("loop", _LOOP),
    *_passes("loop-mssa", _LOOP_MSSA),
)

ACTIONS: tuple[str, ...] = tuple(item.text for item in PASSES)

NEED_BACK_END = frozenset({"interleaved-load-combine", "typepromotion"})
"""Passes that use LLVM's model of the processor: illegal if this build has no back end for it."""

ANY = "*"


def left_out(names: Iterable[str]) -> str:
    """Return excluded actions as the text of a task's option: sorted, each once, separated by commas.

    A name is an action, or a prefix with a wildcard: "mergefunc", "outline*".
    """
    patterns = sorted({name.strip() for name in names} - {""})
    for pattern in patterns:
        if not any(_matches(text, pattern) for text in ACTIONS):
            beginning = [text for text in ACTIONS if Action.parse(text).kind == pattern]
            raise UnknownName.among("action", pattern, [f"{pattern}{ANY}"] if beginning else ACTIONS)
    without = ",".join(patterns)
    if not indices(without):
        raise InputError(f"without {without}: no action is left")
    return without


@cache
def indices(without: str = "") -> tuple[int, ...]:
    """Return the indices of PASSES without the excluded ones; `without` is as `left_out` returns it."""
    patterns = without.split(",") if without else []
    return tuple(i for i, text in enumerate(ACTIONS) if not any(_matches(text, one) for one in patterns))


def _matches(text: str, pattern: str) -> bool:
    return text.startswith(pattern[:-1]) if pattern.endswith(ANY) else text == pattern


_GONE = "no longer in LLVM"
_DEBUG = "touches debug information only"
_INSTRUMENTS = "adds instrumentation or needs its results"
_CRASHES = "crashes on valid modules (LLVM 23.1.1 and opt 23.1.4)"
_FATAL = "ends the process with a fatal error outside its own pipeline"
_UNSTABLE = "two runs on the same module differ: it iterates over addresses"
_ALREADY = "done when a program is opened, as clang does at every level"
_NO_EFFECT = "has no effect without flags or data that programs here lack"
_UNSOUND = "changes the meaning of a program"

OMITTED: dict[str, str] = {
    # LLVM 10's or LLVM 23's name: the reason why it is not an action
    "add-discriminators": _DEBUG,
    "attributor": _CRASHES,
    "attributor-cgscc": _CRASHES,
    "attributor-light": f"{_UNSOUND}: lz4's round trip failed after it",
    "attributor-light-cgscc": "the same pass on another unit",
    "barrier": _GONE,
    "codegenprepare": _FATAL,
    "coro-cleanup": _ALREADY,
    "coro-early": _ALREADY,
    "coro-elide": _ALREADY,
    "coro-split": _ALREADY,
    "cross-dso-cfi": _INSTRUMENTS,
    "ee-instrument": _INSTRUMENTS,
    "fix-irreducible": _FATAL,
    "forceattrs": _NO_EFFECT,
    "free-machine-function": _CRASHES,
    "function-import": _FATAL,
    "gvn-hoist": f"{_UNSTABLE}; hoist-common does its work",
    "gvn-sink": f"{_UNSTABLE}; sink-common does its work",
    "insert-gcov-profiling": _INSTRUMENTS,
    "instnamer": "changes names only",
    "internalize": f"{_UNSOUND}: it hides symbols that other files may use",
    "iroutliner": "miscompiles, and is gone after LLVM 23 (llvm-project#211971); outline does its work",
    "loop-bound-split": _CRASHES,
    "loop-reroll": _GONE,
    "lower-atomic": f"{_UNSOUND}: atomic operations become plain ones",
    "loweratomic": f"{_UNSOUND}: atomic operations become plain ones (now lower-atomic)",
    "lower-invoke": f"{_UNSOUND}: exceptions are no longer caught",
    "lowerinvoke": f"{_UNSOUND}: exceptions are no longer caught (now lower-invoke)",
    "mergereturn": _GONE,
    "name-anon-globals": "changes names only",
    "newgvn": _UNSTABLE,
    "openmp-opt": _NO_EFFECT,
    "pgo-memop-opt": _INSTRUMENTS,
    "post-inline-ee-instrument": _INSTRUMENTS,
    "prune-eh": f"{_GONE}; function-attrs and simplifycfg do its work",
    "redundant-dbg-inst-elim": _DEBUG,
    "rewrite-statepoints-for-gc": "for garbage-collected languages only",
    "sancov": _INSTRUMENTS,
    "select-optimize": _FATAL,
    "strip": "removes symbol names that linking needs",
    "strip-debug-declare": _DEBUG,
    "strip-nondebug": "removes symbol names that linking needs",
    "structurizecfg": "two runs may differ, and it miscompiles: it deleted all of lz4's LZ4F_decompress",
    "unify-loop-exits": _CRASHES,
    "wholeprogramdevirt": _NO_EFFECT,
}


def legal_masks(numbers: NDArray[np.int64], has_back_end: bool) -> tuple[Mask, Mask]:
    """Return two masks of bool[actions]: passes that apply to a program, and those that apply to a function.

    `numbers` are indices into PASSES: int64[actions].
    """
    passes = [PASSES[number] for number in numbers]
    legal: Mask = np.array([has_back_end or item.text not in NEED_BACK_END for item in passes])
    at_function: Mask = np.array([item.function_pipeline is not None for item in passes])
    return legal, legal & at_function


def as_opt_pipeline(entries: Sequence[str]) -> str:
    """Return a trace as text for `opt -passes=`; "" if opt has no text for one of its entries.

    Opt has no text for an action at a single function, or for a pass that native/passes.h adds.
    """
    by_text = {item.text: item for item in PASSES}
    if any(text not in by_text or text.startswith(_OWN) for text in entries):
        return ""
    return ",".join(by_text[text].pipeline for text in entries)


def opt_commandline(entries: Sequence[str]) -> str:
    """Return a trace as a command of stock opt; opened.bc is the `bitcode` observation before the trace.

    Raises:
        InputError: opt has no text for one of the entries.
    """
    pipeline = as_opt_pipeline(entries)
    if entries and not pipeline:
        own = next(text for text in entries if not as_opt_pipeline([text]))
        raise InputError(
            f"opt has no text for {own!r}: the action applies to one function, or only burnish has it"
        )
    return f"opt -passes='{pipeline}' opened.bc -o optimized.bc"
