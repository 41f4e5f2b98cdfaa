// What linkers keep or drop together: the groups (COMDATs) of inline functions and templates, of which several objects
// define the same one, and the sections of strings.
#pragma once

#include "module.h"

namespace burnish {

// Puts each local function that only one group uses into that group, and returns whether there were any. So code that
// was outlined from an inline function is dropped with that function when the linker keeps another object's copy.
// Call this after all passes: linkers reject a reference from outside to a local symbol of a group, and the inliner
// creates such references.
bool join_groups(Module &module);

// Gives the strings of each function a section of their own, as GCC does with -fdata-sections. LLVM has one section for
// all strings, which GNU ld keeps whole if any is used. Strings can still be merged. For ELF.
void separate_strings(Module &module);

} // namespace burnish
