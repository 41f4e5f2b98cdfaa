// The inliner's advisor that asks.
#pragma once

#include "inlining.h"

#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PassManager.h"

namespace burnish {

// Has the inliner ask `inlining` in the run whose analyses and callbacks these are; in the thread that runs it.
void register_advisor(Inlining &inlining, llvm::ModuleAnalysisManager &analyses,
                      llvm::PassInstrumentationCallbacks &callbacks);

} // namespace burnish
