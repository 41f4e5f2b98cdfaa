// The expected time of a call of each function, without running it.
#pragma once

#include "module.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"

#include <utility>

namespace burnish {

// Returns for each function with a body, in module order, the expected cost of one call, including calls of other
// functions of the module. The unit is the target's reciprocal throughput (TargetTransformInfo, about cycles). Block
// frequencies come from a profile, or else from an estimate (BlockFrequencyInfo: Wu and Larus 1994). Only ratios
// between states of one module are meaningful.
std::vector<std::pair<std::string, double>> expected_run_time(const Module &module);

// The same, for passes.
using TargetOf = llvm::function_ref<const llvm::TargetTransformInfo &(llvm::Function &)>;
llvm::DenseMap<const llvm::Function *, double> expected_run_time(llvm::Module &module, TargetOf target);

// Returns the cost of a call without the callee's, in the same units.
double call_time(size_t arguments);

} // namespace burnish
