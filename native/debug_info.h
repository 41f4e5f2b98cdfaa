// Debug information of a module, and what it is without.
#pragma once

#include "module.h"

namespace burnish {

bool has_debug_info(const Module &);

// Makes the module what clang without -g would have made it. Every state is reached once: what is read back from
// bitcode() continues as the same program does that was compiled without.
void drop_debug_info(Module &);

} // namespace burnish
