// ELF files and archives: read, written with one more section, made of objects.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace burnish {

// Numbers are those of the ELF specification (https://gabi.xinuos.com): SHT_*, SHF_*, STB_*, STV_*, STT_*.
struct ElfSection {
  std::string name;
  uint32_t type;
  uint64_t flags;
  uint64_t flags_at; // where the flags are in the file
  uint64_t size;
  std::string_view content; // in the file, which has none of zeros
};

struct ElfSymbol {
  std::string name;
  uint8_t binding, visibility, type;
  bool is_defined;
  uint32_t section; // 0 where it is in no section of the file
  uint64_t value, size;
  std::optional<std::string> group; // the signature of its section's group: COMDAT
};

// Both throw InputError where a file is not a whole little-endian ELF file.
std::vector<ElfSection> elf_sections(std::string_view file);
// The symbol table, local symbols too, or what it has for the dynamic linker.
std::vector<ElfSymbol> elf_symbols(std::string_view file, bool dynamic);

// What the objects of one program have to agree on, by name, as far as an ELF object says it: on ARM the bytes of an
// enumeration and of wchar_t, and which registers have arguments of floating point; the last is also in RISC-V's flags.
std::vector<std::pair<std::string, unsigned>> elf_abi(std::string_view object);

// An object with one more section, which no linker loads nor copies to a program: SHF_EXCLUDE.
std::string with_section(std::string_view object, std::string_view name, std::string_view content);

// The names and contents of an archive's files, in order; none of a thin archive, whose files are elsewhere.
std::vector<std::pair<std::string, std::string_view>> archive_members(std::string_view archive);

// The paths of a thin archive's files, relative to its folder or absolute; none of an archive that has its files.
std::vector<std::string> thin_archive_paths(std::string_view archive);

// An archive of objects, in order, with its table of symbols. They are named by their numbers.
std::string archive_of(const std::vector<std::string_view> &objects);

// An archive with other contents in some of its files, by their names, and with its table of symbols.
std::string with_members(std::string_view archive, const std::map<std::string, std::string_view> &contents);

} // namespace burnish
