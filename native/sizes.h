// What an object file is worth in bytes: its machine code, and what a linked program loads for it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace burnish {

// Of one object file, in bytes. A function's share is found by name; the order is the symbol table's.
struct Sizes {
  int64_t object_bytes = 0;     // the whole file
  int64_t text_bytes = 0;       // all executable sections, as they are
  int64_t read_only_bytes = 0;  // read-only data: constants, strings, jump tables, tables of exceptions
  int64_t data_bytes = 0;       // writable data that the file holds, so not .bss
  int64_t unwind_bytes = 0;     // FDEs, each with its entry of .eh_frame_hdr
  int64_t relocation_bytes = 0; // what the dynamic linker has to relocate in position-independent code
  int64_t loaded_bytes = 0;     // executable sections and the four above, with alignment
  std::vector<std::pair<std::string, int64_t>> functions;          // bytes of the symbol
  std::vector<std::pair<std::string, int64_t>> functions_loaded;   // with FDE and the constants that it alone uses
  std::vector<std::pair<std::string, int64_t>> functions_constant; // the same without the FDE
};

// Reads the sizes off an ELF object. In a position-independent program each absolute address in its data is
// relocated when the program is loaded. Of what is linked already, all sections are counted as they are.
// Throws InputError.
Sizes object_sizes(const std::string &object, bool position_independent);

} // namespace burnish
