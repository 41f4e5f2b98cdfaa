// One function of a module as a separate module, in time proportional to the function and not to the module.
#pragma once

#include "module.h"

namespace burnish {

// Returns the bitcode of a module with the body of one function, which compiles as in the whole module: linkage,
// attributes and whether a symbol is local stay the same. References become declarations; constants keep their values,
// and only constants without other users are emitted. Debug information is left out.
// Throws PipelineError if there is no such function with a body, FatalError if it cannot be separated.
std::string part_bitcode(const Module &module, const std::string &function);

} // namespace burnish
