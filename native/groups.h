// The groups (COMDATs) of inline functions and templates. Several objects define the same group; a linker keeps that
// of one object.
#pragma once

#include "module.h"

namespace burnish {

// Puts each local function that only one group uses into that group, and returns whether there were any. So code that
// was outlined from an inline function is dropped with that function when the linker keeps another object's copy.
// Call this after all passes: linkers reject a reference from outside to a local symbol of a group, and the inliner
// creates such references.
bool join_groups(Module &module);

} // namespace burnish
