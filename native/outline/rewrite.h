// An outlined region becomes a function, and each of its places a call.
#pragma once

#include "region.h"

namespace burnish::outlining {

llvm::Function *make_function(llvm::Module &module, const Text &text, const Region &region, const Plan &plan);

// Replaces a place by a call. `tail`: no argument can point into the caller's stack.
void replace(Text &text, unsigned start, unsigned length, const Plan &plan, llvm::Function *function, bool tail);

} // namespace burnish::outlining
