// Sinking: equal code at the ends of several blocks is executed once, after them. Their terminators are merged, too, so
// that equal ends of a function become one.
//
// This replaces LLVM's gvn-sink, whose results depend on the memory addresses of instructions. It sinks more than
// simplifycfg: the instructions may be in different orders, blocks may end in equal branches, returns or unreachable,
// and a subset of a block's predecessors is enough. Blocks before a computed goto are not changed.
#pragma once

#include "llvm/IR/PassManager.h"

namespace burnish {

// Operands that differ become phis. Code is sunk if that leaves fewer IR instructions and if the target's cost model
// (TargetTransformInfo, code size) expects fewer machine instructions.
struct Sink : llvm::PassInfoMixin<Sink> {
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

} // namespace burnish
