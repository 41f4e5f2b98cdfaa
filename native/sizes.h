// The sizes of an object file in bytes: its machine code, and the bytes that a linked program loads for it.
#pragma once

#include "module.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace burnish {

// The sizes of one object file, in bytes. Functions are listed by name, in the order of the symbol table.
//
//              ELF                          Mach-O                            COFF
// read-only    not writable                 segment __TEXT, except code       not writable
// data         writable                     all other segments                writable
// unwind       FDEs, 8 more in              entries of __unwind_info, and     x86-64: .pdata and .xdata, which has the
//              .eh_frame_hdr for each       the FDEs that they refer to       tables of exceptions; else FDEs
// relocation   24 (32-bit: 8) for each      0: in the relocated pointers      2 for each address, in .reloc
//              address in PIC code          themselves
// not loaded   without SHF_ALLOC, notes     __DWARF, __LD, __LLVM; stubs and  discardable or removed by the linker:
//                                           pointers to other objects'        .debug$*, .drectve
// merged       SHF_MERGE                    C strings and literals            nothing: COMDATs are counted unmerged
// functions    the symbol's size            to the next symbol, including padding and jump tables after the code
struct Sizes {
  int64_t object_bytes = 0;     // the whole file
  int64_t text_bytes = 0;       // all executable sections
  int64_t read_only_bytes = 0;  // read-only data: constants, strings, jump tables, tables of exceptions
  int64_t data_bytes = 0;       // writable data in the file, without zero-initialized data
  int64_t ram_bytes = 0;        // writable data with zero-initialized data
  int64_t unwind_bytes = 0;     // loaded tables for unwinding the stack
  int64_t relocation_bytes = 0; // relocation entries for loading a position-independent program
  int64_t loaded_bytes = 0;     // executable sections and the four above, with alignment
  std::vector<std::pair<std::string, int64_t>> functions;          // bytes of the symbol
  std::vector<std::pair<std::string, int64_t>> functions_loaded;   // with unwind information and its own constants
  std::vector<std::pair<std::string, int64_t>> functions_constant; // the same without the unwind information
};

// Returns the sizes of an object file in the format ELF, Mach-O or COFF. In a position-independent program each
// absolute address in its data is relocated when the program is loaded. For a linked program, all sections are counted
// as they are. Throws InputError.
Sizes object_sizes(const std::string &object, bool position_independent);
// The same for the object of a module; functions get their names in the module.
Sizes object_sizes(const std::string &object, const Module &module);

} // namespace burnish
