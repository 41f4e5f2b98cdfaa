// What inline functions and templates bring along. Several objects define them; a linker keeps one object's group
// (COMDAT) of each.
#pragma once

#include "module.h"

namespace burnish {

// Puts each local function that is used by one group alone into that group, and returns whether there were some. What
// was outlined of an inline function then leaves the program with it, where the linker keeps another object's copy.
// It has to come after all passes: no linker takes a reference from elsewhere to what is local to a group, and the
// inliner makes such.
bool join_groups(Module &module);

} // namespace burnish
