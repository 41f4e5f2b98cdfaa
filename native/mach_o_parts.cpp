#include "object_parts.h"

#include "llvm/BinaryFormat/MachO.h"
#include "llvm/Object/MachO.h"
#include "llvm/Support/MathExtras.h"

#include <map>

using namespace llvm;
using namespace llvm::object;

namespace burnish {
namespace {

using Kind = ObjectParts::Kind;

// Of __unwind_info in a linked program: an entry of a compressed page, and one of the index of tables of exceptions.
// mach-o/compact_unwind_encoding.h; lld/MachO/UnwindInfoSection.cpp.
constexpr int64_t UNWIND_ENTRY = 4, LSDA_ENTRY = 8;
constexpr uint32_t MODE = 0x0f000000, DWARF_OF_X86 = 0x04000000, DWARF_OF_ARM64 = 0x03000000;

class MachObject {
public:
  explicit MachObject(const MachOObjectFile &file) : file(file), sections(file) {
    read_parts(parts, file, sections,
               {[&](const SymbolRef &symbol, const SectionRef &section, uint64_t size) { read(symbol, section, size); },
                [&](const SectionRef &section) { return read(section); },
                [&](const SectionRef &section, const RelocationRef &item) { return reference(section, item); }});
    if (!file.isRelocatableObject())
      return;
    for (const SectionRef &section : sections)
      if (name_of(section) == "__compact_unwind")
        read_compact(section);
    for (const SectionRef &section : sections)
      if (name_of(section) == "__eh_frame")
        read_frames(section);
  }

  ObjectParts parts;

private:
  const MachOObjectFile &file;
  Sections sections;
  std::map<size_t, bool> compact; // by function: whether .eh_frame is needed beside its compact entry

  size_t number(const SectionRef &section) const { return sections.number(section); }
  static StringRef name_of(const SectionRef &section) { return checked(section.getName()); }

  std::optional<Place> place_of(uint64_t address) const {
    for (const SectionRef &section : sections)
      if (address >= section.getAddress() && address - section.getAddress() < section.getSize())
        return Place{number(section), address - section.getAddress()};
    return std::nullopt;
  }

  void read(const SymbolRef &symbol, const SectionRef &section, uint64_t size) {
    Place begin{number(section), checked(symbol.getAddress()) - section.getAddress()};
    if (section.isText())
      parts.functions.push_back({checked(symbol.getName()).str(), begin, int64_t(size)});
    else
      parts.data.push_back({begin, (checked(symbol.getFlags()) & SymbolRef::SF_Global) != 0});
  }

  ObjectParts::Section read(const SectionRef &section) {
    if (section.isText())
      parts.text_bytes += section.getSize();
    StringRef segment = file.getSectionFinalSegmentName(section.getRawDataRefImpl());
    StringRef name = name_of(section);
    ObjectParts::Section made{Kind::NotLoaded, section.isBSS() || section.isVirtual(), section.getSize(), 0};
    if (file.isRelocatableObject() && (name == "__compact_unwind" || name == "__eh_frame")) {
      made.kind = Kind::Unwind;
      return made;
    }
    switch (file.getSectionType(section)) {
    case MachO::S_SYMBOL_STUBS: // the linker makes those of a program
    case MachO::S_NON_LAZY_SYMBOL_POINTERS:
    case MachO::S_LAZY_SYMBOL_POINTERS: return made;
    }
    if (segment == "__DWARF" || segment == "__LD" || segment == "__LLVM")
      return made;
    if (section.isText())
      made.kind = Kind::Code;
    else
      made.kind = segment == "__TEXT" ? Kind::ReadOnly : Kind::Data;
    if (!made.zeros)
      made.bytes = alignTo(content_bytes(section), section.getAlignment());
    else if (made.kind == Kind::Data)
      parts.zero_bytes += section.getSize();
    return made;
  }

  uint64_t content_bytes(const SectionRef &section) const {
    auto merged = [&](uint64_t entry, bool strings) {
      return merged_bytes(checked(section.getContents()), entry, strings);
    };
    switch (file.getSectionType(section)) {
    case MachO::S_CSTRING_LITERALS: return merged(1, true);
    case MachO::S_4BYTE_LITERALS: return merged(4, false);
    case MachO::S_8BYTE_LITERALS: return merged(8, false);
    case MachO::S_16BYTE_LITERALS: return merged(16, false);
    default: return section.getSize();
    }
  }

  ObjectParts::Reference reference(const SectionRef &section, const RelocationRef &item) const {
    return {{number(section), item.getOffset()}, target_of(section, item), false};
  }

  std::optional<Place> target_of(const SectionRef &section, const RelocationRef &item) const {
    auto info = file.getRelocation(item.getRawDataRefImpl());
    if (file.isRelocationScattered(info))
      return place_of(file.getScatteredRelocationValue(info));
    unsigned bytes = 1u << file.getAnyRelocationLength(info);
    int64_t number = number_at(checked(section.getContents()), item.getOffset(), bytes);
    if (file.getPlainRelocationExternal(info)) {
      auto symbol = item.getSymbol();
      auto target = symbol == file.symbol_end() ? file.section_end() : checked(symbol->getSection());
      if (target == file.section_end())
        return std::nullopt;
      return place_of(checked(symbol->getAddress()) + number);
    }
    // The address itself, or counted from the end of the field.
    uint64_t end = section.getAddress() + item.getOffset() + bytes;
    return place_of(number + (file.getAnyRelocationPCRel(info) ? end : 0));
  }

  // An entry is an address, 4 bytes of length, 4 of encoding, and the addresses of a personality and of a table of
  // exceptions, or 0. A linker leaves out an entry that says the same as the one before.
  void read_compact(const SectionRef &section) {
    StringRef content = checked(section.getContents());
    const uint64_t word = file.getBytesInAddress(), size = 3 * word + 8;
    std::map<uint64_t, const ObjectParts::Reference *> by_field;
    for (const auto &reference : parts.references)
      if (reference.from.first == number(section))
        by_field[reference.from.second] = &reference;
    std::map<Place, uint64_t> entries; // by function, as they are in a program
    for (uint64_t offset = 0; offset + size <= content.size(); offset += size)
      if (auto found = by_field.find(offset); found != by_field.end() && found->second->to)
        entries[*found->second->to] = offset;
    std::optional<uint32_t> before;
    for (const auto &[place, offset] : entries) {
      auto encoding = uint32_t(number_at(content, offset + word + 4, 4));
      bool lsda = by_field.count(offset + 2 * word + 8);
      bool said = !lsda && before == encoding;
      before = lsda ? std::nullopt : std::optional(encoding);
      int64_t bytes = (said ? 0 : UNWIND_ENTRY) + (lsda ? LSDA_ENTRY : 0);
      auto function = parts.function_of(place);
      if (function)
        compact[*function] = (encoding & MODE) == (is_x86() ? DWARF_OF_X86 : DWARF_OF_ARM64);
      parts.frames.push_back({{number(section), offset}, function, bytes});
      parts.sections[number(section)].bytes += bytes;
    }
  }

  bool is_x86() const { return file.getArch() == Triple::x86_64 || file.getArch() == Triple::x86; }

  // Linkers keep the frames that no compact entry makes superfluous, and write an entry that leads to them. The
  // address of the function is counted from the field.
  void read_frames(const SectionRef &section) {
    StringRef content = checked(section.getContents());
    for (const FrameRecord &record : frame_records(content, file.isLittleEndian())) {
      int64_t distance = number_at(content, record.function_field, file.getBytesInAddress());
      auto place = place_of(section.getAddress() + record.function_field + distance);
      auto function = place ? parts.function_of(*place) : std::nullopt;
      auto known = function ? compact.find(*function) : compact.end();
      if (known != compact.end() && !known->second)
        continue;
      int64_t bytes = record.bytes + (known == compact.end() ? UNWIND_ENTRY : 0);
      parts.frames.push_back({{number(section), record.begin}, function, bytes});
      parts.sections[number(section)].bytes += bytes;
    }
  }
};

} // namespace

ObjectParts mach_o_parts(const MachOObjectFile &file) { return MachObject(file).parts; }

} // namespace burnish
