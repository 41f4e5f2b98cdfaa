// Symbols that a module's inline assembly names; passes and the IR linker do not see them.
#pragma once

#include "module.h"

namespace burnish {

// Returns whether assembly may name a symbol: there is assembly outside of functions, or assembly in a function has a
// word that is the name of a function or variable of the module. Symbols of such a module must not be renamed or
// removed.
bool assembly_names_symbols(const Module &module);

} // namespace burnish
