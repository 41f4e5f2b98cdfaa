#include "object_parts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/COFF.h"
#include "llvm/Object/COFF.h"
#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace llvm;
using namespace llvm::object;

namespace burnish {
namespace {

using Kind = ObjectParts::Kind;

constexpr uint64_t PDATA_ENTRY = 12; // of x86-64: begin, end, unwind information

class Coff {
public:
  explicit Coff(const COFFObjectFile &file) : file(file), sections(file) {
    parts.relocation_bytes = 2; // an entry of .reloc; each 4 KiB of memory have 8 more (PE format, .reloc)
    read_parts(parts, file, sections,
               {[&](const SymbolRef &symbol, const SectionRef &section, uint64_t size) { read(symbol, section, size); },
                [&](const SectionRef &section) { return read(section); },
                [&](const SectionRef &section, const RelocationRef &item) { return reference(section, item); }});
    if (!file.isRelocatableObject())
      return;
    for (const SectionRef &section : sections)
      if (auto &made = parts.sections[number(section)]; is_eh_frame(section) && made.kind == Kind::Unwind)
        made.bytes = add_frames(parts, number(section), checked(section.getContents()), /*little_endian=*/true, 0);
    read_frames();
  }

  ObjectParts parts;

private:
  const COFFObjectFile &file;
  Sections sections;
  std::map<Place, size_t> frame_of; // by entry of .pdata

  size_t number(const SectionRef &section) const { return sections.number(section); }

  void read(const SymbolRef &symbol, const SectionRef &section, uint64_t size) {
    Place begin{number(section), file.getCOFFSymbol(symbol).getValue()};
    StringRef name = checked(symbol.getName());
    if (checked(symbol.getType()) == SymbolRef::ST_Function) {
      parts.functions.push_back({name.str(), begin, int64_t(size)});
      return;
    }
    // Names of strings and constants, by which linkers merge equal ones: other objects do not refer to this copy.
    bool constant = any_of(ArrayRef({"??_C@", "__real@", "__xmm@", "__ymm@", "__zmm@"}),
                           [&](const char *begin) { return name.starts_with(begin); });
    if (checked(symbol.getType()) == SymbolRef::ST_Data)
      parts.data.push_back({begin, file.getCOFFSymbol(symbol).isExternal() && !constant});
  }

  ObjectParts::Section read(const SectionRef &section) {
    if (section.isText())
      parts.text_bytes += section.getSize();
    uint32_t flags = file.getCOFFSection(section)->Characteristics;
    ObjectParts::Section made{Kind::NotLoaded, section.isBSS(), section.getSize(), 0};
    if (flags & (COFF::IMAGE_SCN_LNK_REMOVE | COFF::IMAGE_SCN_LNK_INFO | COFF::IMAGE_SCN_MEM_DISCARDABLE))
      return made;
    StringRef name = checked(section.getName()).split('$').first;
    if (name.starts_with(".debug_")) // DWARF, of MinGW
      return made;
    bool tables = is_x86_64() && (name == ".pdata" || name == ".xdata");
    if (file.isRelocatableObject() && (tables || is_eh_frame(section)))
      made.kind = Kind::Unwind;
    else if (section.isText())
      made.kind = Kind::Code;
    else
      made.kind = flags & COFF::IMAGE_SCN_MEM_WRITE ? Kind::Data : Kind::ReadOnly;
    if (!made.zeros)
      made.bytes = alignTo(section.getSize(), section.getAlignment());
    else if (made.kind == Kind::Data)
      parts.zero_bytes += section.getSize();
    return made;
  }

  static bool is_eh_frame(const SectionRef &section) { return checked(section.getName()).starts_with(".eh_frame"); }

  bool is_x86_64() const { return file.getMachine() == COFF::IMAGE_FILE_MACHINE_AMD64; }

  ObjectParts::Reference reference(const SectionRef &section, const RelocationRef &item) const {
    uint64_t offset = item.getOffset();
    ObjectParts::Reference made{{number(section), offset}, std::nullopt, is_absolute(item.getType())};
    if (auto symbol = item.getSymbol(); symbol != file.symbol_end())
      if (auto target = checked(symbol->getSection()); target != file.section_end()) {
        unsigned bytes = made.relocated && is_x86_64() ? 8 : 4;
        int64_t beyond = number_at(checked(section.getContents()), offset, bytes);
        made.to = {number(*target), file.getCOFFSymbol(*symbol).getValue() + beyond};
      }
    return made;
  }

  bool is_absolute(uint64_t type) const {
    if (is_x86_64())
      return type == COFF::IMAGE_REL_AMD64_ADDR64;
    return file.getMachine() == COFF::IMAGE_FILE_MACHINE_I386 && type == COFF::IMAGE_REL_I386_DIR32;
  }

  // An entry of .pdata refers to its function, and by its third field to the function's piece of .xdata. A piece ends
  // at the next one. (PE format, the .pdata section)
  void read_frames() {
    std::set<Place> pieces;
    for (const auto &reference : parts.references)
      if (is_entry(reference.from) && reference.from.second % PDATA_ENTRY == 8 && reference.to)
        pieces.insert(*reference.to);
    for (const auto &reference : parts.references) {
      if (!is_entry(reference.from) || !reference.to || reference.from.second % PDATA_ENTRY == 4)
        continue;
      auto [section, offset] = reference.from;
      Place entry{section, offset - offset % PDATA_ENTRY};
      auto [found, added] = frame_of.try_emplace(entry, parts.frames.size());
      if (added)
        parts.frames.push_back({entry, std::nullopt, PDATA_ENTRY});
      ObjectParts::Frame &frame = parts.frames[found->second];
      if (offset == entry.second) {
        frame.function = parts.function_of(*reference.to);
        continue;
      }
      auto next = pieces.upper_bound(*reference.to);
      bool same = next != pieces.end() && next->first == reference.to->first;
      uint64_t end = same ? next->second : parts.sections[reference.to->first].size;
      frame.bytes += end - reference.to->second;
    }
  }

  bool is_entry(const Place &from) const {
    return parts.sections[from.first].kind == Kind::Unwind &&
           checked(sections[from.first].getName()).starts_with(".pdata");
  }
};

} // namespace

ObjectParts coff_parts(const COFFObjectFile &file) { return Coff(file).parts; }

} // namespace burnish
