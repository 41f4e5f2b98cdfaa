"""Actions: binaryen's passes that optimize and keep the meaning, and the pipelines of wasm-opt's levels.

Left out are the passes of binaryen 116 that

- need an assumption of the user: `optimize-added-constants*` (--low-memory-unused), and passes for types of
  garbage-collected languages, most of which need --closed-world (`abstract-type-refining`, `cfp`, `gsi`,
  `gto`, `global-refining`, `remove-unused-types`, `signature-*`, `type-*`) or do nothing elsewhere
  (`heap2local`, `local-subtyping`, `optimize-casts`, `gufa-cast-all`);
- change the interface or remove sections that the user may want: `asyncify`, `dyncalls`,
  `extract-function`, `inline-main`, `legalize-*`, `limit-segments`, `minify-*`, `post-emscripten`,
  `remove-memory`, `set-globals`, `strip-*`, `stub-unsupported-js`;
- lower for other engines, or add checks: `*-lowering`, `denan`, `dealign`, `fpcast-emu`, `instrument-*`,
  `log-execution`, `optimize-for-js`, `remove-non-js-ops`, `safe-heap`, `spill-pointers`, `stack-check`,
  `trap-mode-*`;
- print or rename: `print*`, `metrics`, `nm`, `name-types`, `souperify*`, `symbolmap`, `dwarfdump`;
- need another form of the module or take too long: `poppify`; `dfo` takes 27 s where others take 0.02 s.

Passes on flat code are actions together with `flatten`: binaryen ends the process on other code. Each action
on the whole module reads it from its binary form (`roundtrip`), and optimizes its stack code before it is
written (`generate-stack-ir`, `optimize-stack-ir`), so these are not actions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from burnish.core.action import Action
from burnish.core.trace import Trace
from burnish.core.view import Mask
from burnish.tasks.wasm_passes.binaryen import DEFAULTS, LEVELS, STACK_PASSES, Module, Settings

LIST_VERSION = 0  # of the list of actions

# Binaryen's own lines, by pass, from `wasm-opt --help`.
OF_FUNCTIONS = {
    "avoid-reinterprets": "Avoid reinterpret operations by more loads",
    "coalesce-locals": "Reduce the number of locals by coalescing",
    "coalesce-locals-learning": "Reduce the number of locals by coalescing, in an order that is learned",
    "code-folding": "Fold code, merging duplicates",
    "code-pushing": "Push code forward, so that it is not always executed",
    "const-hoisting": "Hoist repeated constants to a local",
    "dce": "Remove unreachable code",
    "flatten": "Flatten out code, removing nesting",
    "licm": "Move loop-invariant code out of loops",
    "local-cse": "Eliminate common subexpressions inside basic blocks",
    "merge-blocks": "Merge blocks into their parents",
    "merge-locals": "Merge locals when beneficial",
    "optimize-instructions": "Optimize combinations of instructions",
    "pick-load-signs": "Pick the signs of loads by their uses",
    "precompute": "Compute expressions that are known at compile time",
    "precompute-propagate": "Compute expressions that are known at compile time, also through locals",
    "remove-unused-brs": "Remove branches that are not needed",
    "remove-unused-names": "Remove names of locations that are never branched to",
    "reorder-locals": "Sort locals by how often they are accessed",
    "rse": "Remove redundant sets of locals",
    "simplify-locals": "Optimize accesses of locals",
    "simplify-locals-nonesting": "Optimize accesses of locals, without nesting",
    "simplify-locals-nostructure": "Optimize accesses of locals, without values of blocks and ifs",
    "simplify-locals-notee": "Optimize accesses of locals, without tees",
    "simplify-locals-notee-nostructure": "Optimize accesses of locals, without tees or values of blocks",
    "ssa": "Give each variable a single assignment",
    "ssa-nomerge": "Give each variable a single assignment, ignoring merges",
    "untee": "Replace tees by sets and gets",
    "vacuum": "Remove code that is obviously not needed",
}
OF_MODULES = {
    "dae": "Remove arguments of calls",
    "dae-optimizing": "Remove arguments of calls, and optimize where some were removed",
    "directize": "Turn indirect calls into direct ones",
    "duplicate-function-elimination": "Remove duplicate functions",
    "duplicate-import-elimination": "Remove duplicate imports",
    "gufa": "Use what content can actually appear in each location of the whole program",
    "gufa-optimizing": "Use what content can appear in each location, and optimize functions that changed",
    "inlining": "Inline functions",
    "inlining-optimizing": "Inline functions, and optimize where some were inlined",
    "memory-packing": "Pack memory into separate segments, skipping zeros",
    "merge-similar-functions": "Merge similar functions when beneficial",
    "monomorphize": "Create specialized versions of functions",
    "once-reduction": "Reduce calls to code that only runs once",
    "remove-unused-module-elements": "Remove unused elements of the module",
    "remove-unused-nonfunction-module-elements": "Remove unused elements of the module except functions",
    "reorder-functions": "Sort functions by how often they are called",
    "reorder-functions-by-name": "Sort functions by name",
    "reorder-globals": "Sort globals by how often they are accessed",
    "simplify-globals": "Optimize accesses of globals",
    "simplify-globals-optimizing": "Optimize accesses of globals, and optimize where constants replaced them",
}
# On flat code only, so each begins with `flatten`; the second one is how -O4 begins.
ON_FLAT_CODE = {
    "flatten,rereloop": "Flatten the code, and make its control flow anew by the relooper",
    "flatten,simplify-locals-notee-nostructure,local-cse": "Flatten the code, sink, eliminate subexpressions",
    "flatten,local-cse": "Flatten the code, and eliminate common subexpressions",
}
# The effects of functions are known until the end of an action, so each has the passes that use them.
WITH_EFFECTS = {
    "generate-global-effects,vacuum": "Find the effects of functions, and remove calls that have none",
    "generate-global-effects,simplify-locals,vacuum": "Find the effects of functions, and sink across calls",
    "generate-global-effects,local-cse": "Find the effects of functions, and reuse loads across calls",
}
PIPELINE = "default"  # of a level, as `wasm-opt -Oz` runs it
OF_EACH = "functions"  # the part of that pipeline that works function by function
BY_LEVEL = ("code-folding", "local-cse", "optimize-instructions", "precompute", "remove-unused-brs")
"""Passes of functions that decide differently for speed: each is also there with the settings of -O3."""

ALWAYS = (0, 1, 4, 8, 16)  # of --always-inline-max-function-size, whose default is 2
ONE_CALLER = (0, 8, 32, 128)  # of --one-caller-inline-max-function-size, by default without a limit


@dataclass(frozen=True)
class PassAction:
    """An action: passes in order and their settings."""

    passes: tuple[str, ...]  # (): the pipeline of the settings' level, or its passes of functions
    settings: Settings = DEFAULTS
    of_functions: bool = False  # also legal at a function

    def run(self, module: Module, function: str = "") -> None:
        """Run the passes, on one function or on the whole module."""
        if self.passes:
            module.run(self.passes, self.settings, function)
        elif self.of_functions:
            module.run_function_pipeline(self.settings, function)
        else:
            module.run_pipeline(self.settings)

    def words(self) -> tuple[str, ...]:
        """Return the options of wasm-opt for this action on the whole module."""
        passes = [f"--{name}" for name in self.passes] or [f"-{self.settings.level}"]
        return (*self.settings.words(), *passes)


def _make_actions() -> dict[str, PassAction]:
    made = {name: PassAction((name,), of_functions=True) for name in OF_FUNCTIONS}
    made |= {text: PassAction(tuple(text.split(",")), of_functions=True) for text in ON_FLAT_CODE}
    made |= {f"{name}(O3)": PassAction((name,), Settings("O3"), of_functions=True) for name in BY_LEVEL}
    made |= {name: PassAction((name,)) for name in OF_MODULES}
    made |= {text: PassAction(tuple(text.split(","))) for text in WITH_EFFECTS}
    for name in ("dae-optimizing", "simplify-globals-optimizing"):
        made[f"{name}(O3)"] = PassAction((name,), Settings("O3"))
    for name in ("inlining", "inlining-optimizing"):
        for size in ALWAYS:
            made[f"{name}(always={size})"] = PassAction((name,), Settings(always_inline_max_size=size))
        for size in ONE_CALLER:
            limited = Settings(one_caller_inline_max_size=size)
            made[f"{name}(one-caller={size})"] = PassAction((name,), limited)
        made[f"{name}(O3)"] = PassAction((name,), Settings("O3"))
        made[f"{name}(loops)"] = PassAction((name,), Settings("O3", inline_functions_with_loops=True))
    made |= {f"{OF_EACH}<{level}>": PassAction((), Settings(level), of_functions=True) for level in LEVELS}
    made |= {f"{PIPELINE}<{level}>": PassAction((), Settings(level)) for level in LEVELS}
    no_inlining = Settings(always_inline_max_size=0, one_caller_inline_max_size=0)
    for level in ("Oz", "O3"):
        made[f"{PIPELINE}<{level};one-caller=0>"] = PassAction((), replace(no_inlining, level=level))
    return made


ALL = _make_actions()
ACTIONS = tuple(ALL)
AT_FUNCTIONS: Mask = np.array([action.of_functions for action in ALL.values()])
AT_MODULE: Mask = np.ones(len(ACTIONS), dtype=bool)


def _description(text: str) -> str:
    parsed = Action.parse(text)
    level = f"at the level {parsed.parameters[0]}" if parsed.parameters else ""
    match parsed.kind, parsed.parameters:
        case "default", (_, _):
            return f"Run the pipeline {level}, without inlining"
        case "default", _:
            return f"Run the pipeline {level}"
        case "functions", _:
            return f"Run the pipeline's passes of functions {level}"
    line = (OF_FUNCTIONS | OF_MODULES | ON_FLAT_CODE | WITH_EFFECTS)[parsed.kind]
    if not parsed.parameters:
        return line
    (parameter,) = parsed.parameters
    name, _, size = parameter.partition("=")
    if name == "always":
        return f"{line}; all up to a size of {size} in every call"
    if name == "one-caller":
        return f"{line}; those with one call up to a size of {size}"
    return f"{line}; with loops, too" if parameter == "loops" else f"{line}; {level}"


DESCRIPTIONS = {text: _description(text) for text in ACTIONS}


def commandline(trace: Trace) -> str:
    """Return wasm-opt's commands that apply a trace: one for each entry, so that settings are its own.

    wasm-opt has no option for a single function, nor for the part of a pipeline; such entries are a comment.
    """
    lines = []
    for number, text in enumerate(trace, 1):
        source, target = "in.wasm" if number == 1 else "out.wasm", "-o out.wasm"
        names = "" if number == len(trace) else "-g "  # functions keep their names until the last command
        if ": " in text or text.startswith(OF_EACH):
            lines.append(f"# only by burnish: {text}")
        else:
            words = (*ALL[text].words(), *(f"--{name}" for name in STACK_PASSES))
            lines.append(f"wasm-opt {names}{source} {' '.join(words)} {target}")
    return "\n".join(lines)
