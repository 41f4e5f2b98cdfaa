// Hoisting: what is computed on all ways from a branch is computed once, before it.
//
// In place of LLVM's gvn-hoist, whose results follow the addresses at which instructions lie. The expressions are
// the "very busy" ones; also loads, stores and calls, where nothing on the way conflicts with them.
#pragma once

#include "llvm/IR/PassManager.h"

namespace burnish {

struct Hoist : llvm::PassInfoMixin<Hoist> {
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

} // namespace burnish
