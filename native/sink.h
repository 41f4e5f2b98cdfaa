// Sinking: what several blocks do at their ends is done once, after them; also how they end, so that equal ends of
// a function become one.
//
// In place of LLVM's gvn-sink, whose results follow the addresses at which instructions lie. It differs from what
// simplifycfg sinks: the instructions need not stand in the same order, blocks with equal branches, returns and
// dead ends count as well, and so do some of a block's predecessors without the others. Blocks before a computed goto
// stay as they are.
#pragma once

#include "llvm/IR/PassManager.h"

namespace burnish {

// Operands that differ become phis. Code is sunk where fewer IR instructions are left and where the target's cost
// model (TargetTransformInfo, code size) expects fewer machine instructions.
struct Sink : llvm::PassInfoMixin<Sink> {
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

} // namespace burnish
