"""What actions gain at functions, on programs of the train split: which to try first."""

from __future__ import annotations

from burnish.tasks.llvm_codegen.actions import ACTIONS

# Per cent of a program's loaded bytes, at those functions that gain; the mean of 24 programs. Made by
# python benchmarks/codegen.py worth --split train --programs 24 --most 5000
_GAINED = {
    "skip(loop-reduce)": 0.417,
    "skip(consthoist)": 0.034,
    "skip(partially-inline-libcalls)": 0.072,
    "skip(codegenprepare)": 0.584,
    "skip(early-machinelicm)": 0.551,
    "skip(machine-cse)": 0.391,
    "skip(machine-sink)": 0.251,
    "skip(peephole-opt)": 0.001,
    "skip(x86-optimize-leas)": 0.176,
    "skip(x86-cf-opt)": 0.145,
    "skip(twoaddressinstruction)": 0.071,
    "skip(machine-scheduler)": 0.061,
    "skip(machine-cp)": 0.054,
    "skip(postra-machine-sink)": 0.054,
    "skip(shrink-wrap)": 0.056,
    "skip(tailduplication)": 0.001,
    "skip(block-placement)": 0.440,
    "skip(x86-execution-domain-fix)": 0.081,
    "skip(x86-fixup-leas)": 0.142,
}
_BY_SEED = {"allocate": 0.367, "noise": 0.262}  # of all seeds: none is better than the others

WORTH: dict[str, float] = {
    text: worth for text in ACTIONS if (worth := _GAINED.get(text, _BY_SEED.get(text.partition("(")[0], 0.0)))
}
