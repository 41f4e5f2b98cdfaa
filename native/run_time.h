// How long a call of each function is expected to take, without running it.
#pragma once

#include "module.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"

#include <utility>

namespace burnish {

// Of each function with a body, in module order: the expected cost of one call of it, in the target's units of
// reciprocal throughput (TargetTransformInfo, about cycles), calls of other functions of the module included. How
// often a block runs is what a profile says, or else guessed (BlockFrequencyInfo: Wu and Larus 1994). Only
// ratios between states of one module mean something.
std::vector<std::pair<std::string, double>> expected_run_time(const Module &module);

// The same, for passes.
using TargetOf = llvm::function_ref<const llvm::TargetTransformInfo &(llvm::Function &)>;
llvm::DenseMap<const llvm::Function *, double> expected_run_time(llvm::Module &module, TargetOf target);

// What a call costs beside what is called, in the same units.
double call_time(size_t arguments);

} // namespace burnish
