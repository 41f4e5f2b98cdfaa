#include "objects.h"

#include "module.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/ARMAttributeParser.h"
#include "llvm/Support/ARMBuildAttributes.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

using namespace llvm;
using namespace llvm::object;

namespace burnish {
namespace {

[[noreturn]] void refuse(Error error, StringRef what = "ELF file") {
  throw InputError(("not a whole " + what + ": " + toString(std::move(error))).str());
}

template <class T> T whole(Expected<T> value, StringRef what = "ELF file") {
  if (!value)
    refuse(value.takeError(), what);
  return std::move(*value);
}

// Calls `read` with an ELFFile of 32 or of 64 bits.
template <class Read> auto read_elf(StringRef bytes, Read &&read) {
  if (bytes.starts_with(ELF::ElfMagic) && bytes.substr(ELF::EI_DATA).starts_with(char(ELF::ELFDATA2LSB))) {
    if (bytes[ELF::EI_CLASS] == ELF::ELFCLASS32)
      return read(whole(ELFFile<ELF32LE>::create(bytes)));
    if (bytes[ELF::EI_CLASS] == ELF::ELFCLASS64)
      return read(whole(ELFFile<ELF64LE>::create(bytes)));
  }
  throw InputError("not a little-endian ELF file");
}

template <class Elf> std::vector<ElfSection> sections_of(const Elf &elf) {
  auto headers = whole(elf.sections());
  StringRef names = headers.empty() ? "" : whole(elf.getSectionStringTable(headers));
  std::vector<ElfSection> sections;
  for (const auto &header : headers) {
    std::string_view content;
    if (header.sh_type != ELF::SHT_NULL && header.sh_type != ELF::SHT_NOBITS)
      content = toStringRef(whole(elf.getSectionContents(header)));
    uint64_t flags_at = reinterpret_cast<const uint8_t *>(&header.sh_flags) - elf.base();
    sections.push_back({whole(elf.getSectionName(header, names)).str(), header.sh_type, header.sh_flags, flags_at,
                        header.sh_size, content});
  }
  return sections;
}

// The signatures of groups, by the numbers of their sections.
template <class Elf> std::map<uint32_t, std::string> groups_of(const Elf &elf) {
  std::map<uint32_t, std::string> groups;
  for (const auto &section : whole(elf.sections())) {
    if (section.sh_type != ELF::SHT_GROUP)
      continue;
    const auto *table = whole(elf.getSection(section.sh_link));
    const auto *symbol = whole(elf.getSymbol(table, section.sh_info));
    StringRef signature = whole(symbol->getName(whole(elf.getStringTableForSymtab(*table))));
    auto words = whole(elf.template getSectionContentsAsArray<typename Elf::Elf_Word>(section));
    for (size_t i = 1; i < words.size(); ++i) // the first one has flags
      groups[words[i]] = signature.str();
  }
  return groups;
}

// The numbers of sections beyond what a symbol has room for.
template <class Elf>
ArrayRef<typename Elf::Elf_Word> large_numbers(const Elf &elf, const typename Elf::Elf_Shdr &table) {
  auto sections = whole(elf.sections());
  for (const auto &section : sections)
    if (section.sh_type == ELF::SHT_SYMTAB_SHNDX && section.sh_link == &table - sections.begin())
      return whole(elf.getSHNDXTable(section));
  return {};
}

template <class Elf> std::vector<ElfSymbol> symbols_of(const Elf &elf, uint32_t type) {
  auto groups = groups_of(elf);
  std::vector<ElfSymbol> symbols;
  for (const auto &table : whole(elf.sections())) {
    if (table.sh_type != type)
      continue;
    auto all = whole(elf.symbols(&table));
    StringRef names = whole(elf.getStringTableForSymtab(table));
    auto large = large_numbers(elf, table);
    for (const auto &symbol : all) {
      uint32_t section = whole(elf.getSectionIndex(symbol, all, DataRegion(large)));
      auto group = groups.find(section);
      symbols.push_back({whole(symbol.getName(names)).str(), symbol.getBinding(), symbol.getVisibility(),
                         symbol.getType(), symbol.st_shndx != ELF::SHN_UNDEF, section, symbol.st_value, symbol.st_size,
                         group == groups.end() ? std::nullopt : std::optional(group->second)});
    }
  }
  return symbols;
}

// The section, the longer table of names and the table of sections come after the file as it is. LLVM's objcopy lays a
// file out anew, which for a damaged alignment makes it as large as that is.
template <class Elf> std::string with_section_of(const Elf &elf, StringRef name, StringRef content) {
  auto header = elf.getHeader();
  auto sections = whole(elf.sections()).vec();
  StringRef names = whole(elf.getSectionStringTable(sections));
  if (header.e_type != ELF::ET_REL || names.empty() || sections.size() >= ELF::SHN_LORESERVE - 1)
    throw InputError("expected an object with fewer sections");
  std::string made(elf.base(), elf.end());
  auto append = [&](StringRef bytes, unsigned alignment) {
    made.resize(alignTo(made.size(), alignment));
    made += bytes;
    return made.size() - bytes.size();
  };
  typename Elf::Elf_Shdr added{};
  added.sh_name = names.size();
  added.sh_type = ELF::SHT_PROGBITS;
  added.sh_flags = ELF::SHF_EXCLUDE;
  added.sh_offset = append(content, 8);
  added.sh_size = content.size();
  added.sh_addralign = 1;
  auto &table = sections[header.e_shstrndx];
  std::string longer = (names + name + StringRef("", 1)).str();
  table.sh_offset = append(longer, 1);
  table.sh_size = longer.size();
  sections.push_back(added);
  header.e_shnum = sections.size();
  header.e_shoff = append({reinterpret_cast<const char *>(sections.data()), sections.size() * sizeof(added)}, 8);
  memcpy(made.data(), &header, sizeof(header));
  return made;
}

} // namespace

std::vector<ElfSection> elf_sections(std::string_view file) {
  return read_elf(file, [](const auto &elf) { return sections_of(elf); });
}

std::vector<ElfSymbol> elf_symbols(std::string_view file, bool dynamic) {
  return read_elf(file, [&](const auto &elf) { return symbols_of(elf, dynamic ? ELF::SHT_DYNSYM : ELF::SHT_SYMTAB); });
}

std::string with_section(std::string_view object, std::string_view name, std::string_view content) {
  return read_elf(object, [&](const auto &elf) { return with_section_of(elf, name, content); });
}

std::vector<std::pair<std::string, unsigned>> elf_abi(std::string_view object) {
  auto file = whole(ObjectFile::createELFObjectFile(MemoryBufferRef(StringRef(object), "object")));
  const auto &elf = cast<ELFObjectFileBase>(*file);
  std::vector<std::pair<std::string, unsigned>> found;
  if (elf.getEMachine() == ELF::EM_RISCV) {
    found.emplace_back("float ABI", elf.getPlatformFlags() & ELF::EF_RISCV_FLOAT_ABI);
    found.emplace_back("RVE", elf.getPlatformFlags() & ELF::EF_RISCV_RVE);
  }
  if (elf.getEMachine() != ELF::EM_ARM)
    return found;
  for (const ElfSection &section : elf_sections(object)) {
    if (section.type != ELF::SHT_ARM_ATTRIBUTES)
      continue;
    ARMAttributeParser parser;
    if (Error error = parser.parse(arrayRefFromStringRef(section.content), endianness::little))
      refuse(std::move(error));
    for (unsigned tag : {ARMBuildAttrs::ABI_enum_size, ARMBuildAttrs::ABI_PCS_wchar_t, ARMBuildAttrs::ABI_VFP_args})
      if (auto value = parser.getAttributeValue(tag); value || tag == ARMBuildAttrs::ABI_VFP_args) // absent: soft float
        found.emplace_back(ELFAttrs::attrTypeAsString(tag, ARMBuildAttrs::getARMAttributeTags()).str(),
                           value.value_or(0));
  }
  return found;
}

std::vector<std::pair<std::string, std::string_view>> archive_members(std::string_view bytes) {
  auto archive = whole(Archive::create(MemoryBufferRef(bytes, "archive")), "archive");
  std::vector<std::pair<std::string, std::string_view>> members;
  if (archive->isThin())
    return members;
  Error error = Error::success();
  for (const auto &member : archive->children(error))
    members.emplace_back(whole(member.getName(), "archive"), whole(member.getBuffer(), "archive"));
  if (error)
    refuse(std::move(error), "archive");
  return members;
}

std::vector<std::string> thin_archive_paths(std::string_view bytes) {
  auto archive = whole(Archive::create(MemoryBufferRef(bytes, "archive")), "archive");
  std::vector<std::string> paths;
  if (!archive->isThin())
    return paths;
  Error error = Error::success();
  for (const auto &member : archive->children(error))
    paths.push_back(whole(member.getName(), "archive").str());
  if (error)
    refuse(std::move(error), "archive");
  return paths;
}

// Returns the bytes of an archive, with its table of symbols.
static std::string written(ArrayRef<NewArchiveMember> members, Archive::Kind kind) {
  Error unread = Error::success();
  auto made =
      whole(writeArchiveToBuffer(members, SymtabWritingMode::NormalSymtab, kind, /*Deterministic=*/true, /*Thin=*/false,
                                 [&](Error error) { unread = joinErrors(std::move(unread), std::move(error)); }));
  if (unread)
    refuse(std::move(unread));
  return made->getBuffer().str();
}

std::string archive_of(const std::vector<std::string_view> &objects) {
  std::vector<std::string> names(objects.size());
  std::vector<NewArchiveMember> members;
  for (size_t i = 0; i < objects.size(); ++i) {
    elf_symbols(objects[i], false); // throws where it is damaged, which is fatal to LLVM's writer
    names[i] = std::to_string(i) + ".o";
    members.emplace_back(MemoryBufferRef(objects[i], names[i]));
  }
  return written(members, Archive::K_GNU);
}

std::string with_members(std::string_view bytes, const std::map<std::string, std::string_view> &contents) {
  auto archive = whole(Archive::create(MemoryBufferRef(bytes, "archive")), "archive");
  std::vector<NewArchiveMember> members;
  Error error = Error::success();
  for (const auto &child : archive->children(error)) {
    members.push_back(whole(NewArchiveMember::getOldMember(child, /*Deterministic=*/true), "archive"));
    auto &member = members.back();
    if (auto found = contents.find(member.MemberName.str()); found != contents.end()) {
      member.Buf = MemoryBuffer::getMemBuffer(found->second, found->first, /*RequiresNullTerminator=*/false);
      member.MemberName = member.Buf->getBufferIdentifier(); // it was that of the old buffer
    }
  }
  if (error)
    refuse(std::move(error), "archive");
  return written(members, archive->kind());
}

} // namespace burnish
