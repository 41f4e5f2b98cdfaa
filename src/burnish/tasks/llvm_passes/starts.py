"""Traces worth trying first: any search begins with them.

The first is what clang -Oz does; for another level, that level comes before it. The others were found on
28 files of the training split and chosen, one by one, for how much the best of the portfolio gains with
them; in this order their use falls:

    python benchmarks/portfolio.py collect --state portfolio.jsonl --files 4 --budget 9s
    python benchmarks/portfolio.py select --state portfolio.jsonl --files 4 --size 16

On those files the best of the sixteen is, as a geometric mean, 1.054 times better than -Oz in bytes of .text
and 1.061 times in instructions.
"""

from __future__ import annotations

from burnish.core.trace import Trace

STARTS: tuple[Trace, ...] = (
    ("clang<Oz>",),
    (
        "iroutliner",
        "clang<Oz;inline-threshold=0>",
        "iroutliner",
        "clang<O3>",
    ),
    (
        "inliner-wrapper<threshold=5>",
        "function-simplification<O2>",
        "iroutliner",
        "loop-reduce",
        "slsr",
        "gvn<no-load-pre>",
        "simplifycfg<no-keep-loops>",
    ),
    (
        "jump-threading",
        "inliner-wrapper<threshold=5>",
        "early-cse",
        "sroa<modify-cfg>",
    ),
    (
        "simplifycfg<hoist-common-insts;sink-common-insts>",
        "function-simplification<O3>",
        "function-simplification<O3>",
        "speculative-execution",
        "clang<O2>",
    ),
    (
        "early-cse",
        "inliner-wrapper<threshold=225>",
        "clang<O2>",
        "clang<O2>",
    ),
    (
        "jump-threading",
        "clang<O1>",
        "separate-const-offset-from-gep",
        "early-cse",
    ),
    (
        "separate-const-offset-from-gep<lower-gep>",
        "clang<Oz;inline-threshold=0>",
        "load-store-vectorizer",
        "clang<Oz>",
    ),
    (
        "globalopt",
        "function-simplification<O2>",
        "deadargelim",
        "mergefunc",
    ),
    (
        "reassociate",
        "gvn<no-load-pre>",
        "sroa<modify-cfg>",
        "loop-reduce",
    ),
    (
        "instcombine<no-verify-fixpoint>",
        "loop-simplify",
        "reg2mem",
        "clang<O1>",
        "simple-loop-unswitch<no-nontrivial;trivial>",
        "loop-reduce",
    ),
    (
        "function-simplification<O1>",
        "ipsccp",
    ),
    (
        "simplifycfg<bonus-inst-threshold=2;forward-switch-cond;switch-range-to-icmp;switch-to-lookup;no-keep-loops;hoist-common-insts;sink-common-insts>",
        "clang<Oz;inline-threshold=25>",
        "iroutliner",
        "clang<Oz;inline-threshold=0>",
    ),
    (
        "sroa<preserve-cfg>",
        "inliner-wrapper<threshold=100>",
        "gvn<memoryssa;no-memdep>",
        "instcombine<no-verify-fixpoint;max-iterations=1>",
    ),
    (
        "reassociate",
        "function-simplification<O2>",
    ),
    (
        "sroa<modify-cfg>",
        "early-cse<memssa>",
        "simplifycfg<no-keep-loops>",
    ),
)
