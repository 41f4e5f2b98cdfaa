// One function of a module as a module of its own, in time that grows with the function and not with the module.
#pragma once

#include "module.h"

namespace burnish {

// Bitcode of a module with the body of one function, which compiles there as it does in the whole: linkage,
// attributes and whether a symbol is local stay as they are. What it refers to are declarations; constants come with
// their values, and only those that nothing else uses are emitted. Debug information is left out.
// Throws PipelineError where there is no such function with a body, FatalError where it cannot be taken out alone.
std::string part_bitcode(const Module &module, const std::string &function);

} // namespace burnish
