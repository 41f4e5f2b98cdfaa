// Translation units of a program as a linker with plugins sees them, and the units that it took as one module.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace burnish {

// A symbol of a unit, as plugin-api.h of the GNU binutils describes one.
struct UnitSymbol {
  std::string name;
  int kind = 0;       // ld_plugin_symbol_kind
  int visibility = 0; // ld_plugin_symbol_visibility
  uint64_t size = 0;  // of a common symbol
  std::string group;  // its COMDAT group; empty: none
};

// The symbols of a unit's bitcode that are not local. Throws InputError if it is not bitcode.
std::vector<UnitSymbol> unit_symbols(const std::string &bitcode);

// The bitcode, before any pass, of one module of all units, which are in the linker's order. The linker's answers
// (ld_plugin_symbol_resolution) for the symbols of `unit_symbols` say which definitions remain, and which of these
// nothing but the units refers to: they become internal. Definitions that the code generator may call, that are in
// sections of their own, or that are marked as used, remain visible. Throws InputError if the units do not fit
// together.
std::string merge_units(const std::vector<std::string> &units, const std::vector<std::vector<int>> &resolutions);

} // namespace burnish
