// What a module's inline assembly says by name, which no pass and no linker of IR sees.
#pragma once

#include "module.h"

namespace burnish {

// Whether assembly may name a symbol: there is some outside of functions, or some in a function has a word that is the
// name of one of the module's functions or variables. Such a module must not get other names, nor lose any.
bool assembly_names_symbols(const Module &module);

} // namespace burnish
