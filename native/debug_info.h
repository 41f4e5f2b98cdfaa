// Debug information of a module, and its removal.
#pragma once

#include "module.h"

namespace burnish {

bool has_debug_info(const Module &);

// Changes the module to what clang without -g makes. The result is complete: read back from bitcode(), the module
// continues like the same program compiled without debug information.
void drop_debug_info(Module &);

} // namespace burnish
