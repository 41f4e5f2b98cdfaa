// What an ELF file says about itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace burnish {

struct ObjectFacts {
  uint64_t text_bytes = 0; // of all sections of machine code
  std::string clang;       // the version of the clang that made it, such as 23.1.4; empty: it does not say
};

// Nothing for a file that is no whole ELF file of this machine's byte order.
std::optional<ObjectFacts> read_object(const std::string &path);

} // namespace burnish
