// From IR to machine code.
#pragma once

#include "module.h"

#include <utility>

namespace burnish {

struct Sizes {
  int64_t text_bytes = 0;   // all executable sections
  int64_t object_bytes = 0; // the whole file
  std::vector<std::pair<std::string, int64_t>> functions; // symbol sizes, in symbol-table order
};

// The object file that clang's back end would write at the level ("O0" ... "Oz") for the CPU. The
// module is not changed.
std::string emit_object(const Module &module, const std::string &level, const std::string &cpu);

// Reads the sizes off an object file. Throws InputError.
Sizes object_sizes(const std::string &object);

} // namespace burnish
