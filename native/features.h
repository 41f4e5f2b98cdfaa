// Numeric features of a module.
#pragma once

#include "module.h"

#include <utility>

namespace burnish {

inline constexpr size_t opcode_count_size = 70; // CompilerGym's InstCount
inline constexpr size_t autophase_size = 56;

std::vector<std::string> opcode_count_names();
std::vector<std::string> function_property_names();

int64_t instruction_count(const Module &module);
std::vector<std::pair<std::string, int64_t>> instruction_count_by_function(const Module &module);
// `out`: int64[70], for the module or for one function.
void opcode_counts(const Module &module, const std::string *function, int64_t *out);
// `out`: int64[56].
void autophase(const Module &module, int64_t *out);
// `out`: int64[functions, properties], the rows in module order.
void function_properties(Module &module, std::vector<int64_t> &out);

} // namespace burnish
