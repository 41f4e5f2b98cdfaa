// Execution counts as LLVM's profile of a module.
#pragma once

#include "module.h"

#include <cstdint>
#include <vector>

namespace burnish {

// Writes a profile into a module, as clang does with -fprofile-use: branch weights, entry counts, the summary, and the
// attributes of hot and cold functions. `split` is a copy whose critical edges have blocks of their own, so that the
// counts of blocks are those of edges, too; `counts`: a record that `counting(split)` has written. Throws InputError if
// the record or the copy is of another module.
void set_profile(Module &module, const Module &split, const std::vector<uint64_t> &counts);

} // namespace burnish
