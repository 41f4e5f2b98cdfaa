// ThinLTO of several modules, up to the functions that each one imports from the others.
#pragma once

#include "module.h"

#include <string>
#include <vector>

namespace burnish {

// The bitcode of each module as a ThinLTO link leaves it before its passes: promoted, internalized if a module defines
// `main`, with what LLVM imports as available_externally. The combined index is made of summaries of the modules.
// Throws InputError if two modules define one symbol, or if no back end supports their machine.
std::vector<std::string> thin_link(const std::vector<const Module *> &parts);

} // namespace burnish
