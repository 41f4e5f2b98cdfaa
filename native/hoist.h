// Hoisting: an expression that is computed on all paths from a branch is computed once, before the branch.
//
// This replaces LLVM's gvn-hoist, whose results depend on the memory addresses of instructions. It hoists "very busy"
// expressions; also loads, stores and calls, if nothing on the path conflicts with them.
#pragma once

#include "llvm/IR/PassManager.h"

namespace burnish {

// `free`: also hoists instructions on their own that are free by the target's cost model, such as an address. This
// leaves fewer IR instructions, but may keep a register occupied.
struct Hoist : llvm::PassInfoMixin<Hoist> {
  bool free;
  explicit Hoist(bool free) : free(free) {}
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

} // namespace burnish
