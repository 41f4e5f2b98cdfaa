// From IR to machine code.
#pragma once

#include "module.h"

namespace burnish {

// The object file that clang's back end would write at the level ("O0" ... "Oz") for the CPU. The
// module is not changed.
std::string emit_object(const Module &module, const std::string &level, const std::string &cpu);

} // namespace burnish
