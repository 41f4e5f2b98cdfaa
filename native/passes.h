// Runs of passes: pipeline texts, clang's own -O levels, the catalogue.
#pragma once

#include "module.h"

#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PassManager.h"

#include <functional>

namespace burnish {

// Runs a pipeline text (the syntax of opt -passes, plus the parameterised passes below) and
// returns whether LLVM reports a change. `level` ("O0" ... "O3", "Os", "Oz") sets the tuning that
// clang gives to default<...>.
//
// With `functions`, a function-level text (simplifycfg, loop-mssa(licm), ...) runs only on those.
//
// Beyond LLVM's text syntax, through the passes' constructors (llvm/Transforms and here):
//   clang<LEVEL[;inline-threshold=N]>   the whole pipeline that clang runs at that level; on a module with the counts
//                                       of a profile, its rest: see counts.h
//   inliner-wrapper<threshold=N>        ModuleInlinerWrapperPass(InlineParams)
//   module-inline<threshold=N>          ModuleInlinerPass(InlineParams)
//   hoist-common, hoist-common<no-free> Hoist(free), of hoist.h
//   sink-common                         Sink(), of sink/
//   frame-pointer<calls=N>, no-jump-tables, no-minsize
//                                       FramePointer(calls), NoJumpTables(), NoMinSize(), of attributes.h
//   outline<call-cost=N[;max-frequency=F][;max-slowdown=P]>
//                                       Outline(call_cost, max_frequency, max_slowdown), of outline/; without F and P:
//                                       4 and 40, and for N = 0 any frequency and slowdown
//   argpromotion<max-elements=N>        ArgumentPromotionPass(MaxElements)
//   jump-threading<threshold=N>         JumpThreadingPass(Threshold)
bool run_pipeline(Module &module, const std::string &pipeline, const std::string &level,
                  const std::vector<std::string> *functions);

// A preparation of a run: it registers analyses, which replace LLVM's own of the same kind, and callbacks on passes.
using Prepare = std::function<void(llvm::ModuleAnalysisManager &, llvm::PassInstrumentationCallbacks &)>;

// Runs a pipeline text on the module with separate managers, which takes longer.
bool run_pipeline(Module &module, const std::string &pipeline, const std::string &level, const Prepare &prepare);

// Runs passes on the module with separate managers.
bool run_passes(Module &module, llvm::ModulePassManager passes, const std::string &level, const Prepare &prepare);

// Parses only; throws PipelineError.
void check_pipeline(const std::string &pipeline, bool function_level);

// Runs the passes that clang runs at every level: always_inline functions are inlined, coroutines are split, and with
// debug information declarations of variables become assignments.
void honour_mandatory(Module &module);

// Returns LLVM's own list of passes and their parameters (opt --print-passes).
std::string pass_catalogue();

} // namespace burnish
