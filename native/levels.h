// clang's -O levels: the pipeline, its tuning and the function attributes of each.
#pragma once

#include "module.h"

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/PGOOptions.h"

#include <optional>

namespace burnish {

struct Level {
  llvm::OptimizationLevel speed;
  int size; // 0, 1 (-Os) or 2 (-Oz)
};

// "O0" ... "O3", "Os", "Oz"; throws PipelineError.
Level parse_level(llvm::StringRef text);

// clang/lib/CodeGen/BackendUtil.cpp with the driver's defaults (clang/lib/Driver/ToolChains/Clang.cpp):
// no loop vectorization at -O1 and -Oz, no unrolling and no SLP at -O1.
llvm::PipelineTuningOptions clang_tuning(const Level &level);

// Returns the whole pipeline; an `inline_threshold` of 0 or more replaces the level's own. `profile`: what clang gives
// to the pipeline for -fprofile-use and -fprofile-sample-use.
llvm::ModulePassManager clang_pipeline(llvm::TargetMachine *target, const Level &level, int inline_threshold = -1,
                                       const std::optional<llvm::PGOOptions> &profile = std::nullopt);

// Sets the function attributes that clang's front end sets at the level (optsize, minsize; at O0
// noinline and optnone), and removes those of other levels.
void set_level_attributes(Module &module, const std::string &level);

} // namespace burnish
