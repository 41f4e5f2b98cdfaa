#include "object_parts.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::object;

namespace burnish {
namespace {

using Kind = ObjectParts::Kind;

constexpr int64_t HEADER = 8; // of .eh_frame_hdr for each FDE (lld/ELF/SyntheticSections.cpp, EhFrameSection)

class Elf {
public:
  Elf(const ELFObjectFileBase &file, bool position_independent) : file(file), sections(file) {
    if (position_independent)
      parts.relocation_bytes = file.getBytesInAddress() == 8 ? 24 : 8;
    read_symbols();
    parts.index_functions();
    for (const SectionRef &section : sections)
      parts.sections.push_back(read(section));
    if (!file.isRelocatableObject())
      return;
    read_references();
    for (const SectionRef &section : sections)
      if (auto &made = parts.sections[number(section)]; made.kind == Kind::Unwind)
        made.bytes = add_frames(parts, number(section), checked(section.getContents()), file.isLittleEndian(), HEADER);
  }

  ObjectParts parts;

private:
  const ELFObjectFileBase &file;
  Sections sections;

  size_t number(const SectionRef &section) const { return sections.number(section); }
  static uint64_t flags(const SectionRef &section) { return ELFSectionRef(section).getFlags(); }

  void read_symbols() {
    for (const ELFSymbolRef symbol : file.symbols()) {
      auto type = checked(symbol.getType());
      auto section = checked(symbol.getSection());
      if (section == file.section_end())
        continue;
      Place begin{number(*section), checked(symbol.getValue())};
      if (type == SymbolRef::ST_Function)
        parts.functions.push_back({checked(symbol.getName()).str(), begin, int64_t(symbol.getSize())});
      else if (type == SymbolRef::ST_Data)
        parts.data.push_back({begin, symbol.getBinding() != ELF::STB_LOCAL});
    }
  }

  ObjectParts::Section read(const SectionRef &section) {
    if (section.isText())
      parts.text_bytes += section.getSize();
    unsigned type = ELFSectionRef(section).getType();
    ObjectParts::Section made{Kind::NotLoaded, type == ELF::SHT_NOBITS, section.getSize(), 0};
    if (!(flags(section) & ELF::SHF_ALLOC) || type == ELF::SHT_NOTE)
      return made;
    bool unwind = type == ELF::SHT_X86_64_UNWIND || checked(section.getName()) == ".eh_frame";
    if (unwind && file.isRelocatableObject())
      made.kind = Kind::Unwind;
    else if (section.isText())
      made.kind = Kind::Code;
    else
      made.kind = flags(section) & ELF::SHF_WRITE ? Kind::Data : Kind::ReadOnly;
    if (!made.zeros && made.kind != Kind::Unwind)
      made.bytes = alignTo(content_bytes(section), section.getAlignment());
    return made;
  }

  static uint64_t content_bytes(const SectionRef &section) {
    if (!(flags(section) & ELF::SHF_MERGE))
      return section.getSize();
    return merged_bytes(checked(section.getContents()), entry_bytes(section), flags(section) & ELF::SHF_STRINGS);
  }

  static uint64_t entry_bytes(const SectionRef &section) {
    const auto *object = section.getObject();
    auto entry = [&](const auto *elf) { return elf->getSection(section.getRawDataRefImpl())->sh_entsize; };
    if (const auto *elf = dyn_cast<ELF64LEObjectFile>(object))
      return entry(elf);
    if (const auto *elf = dyn_cast<ELF32LEObjectFile>(object))
      return entry(elf);
    return 0;
  }

  void read_references() {
    for (const SectionRef &table : sections) {
      auto relocated = checked(table.getRelocatedSection());
      if (relocated == file.section_end() || parts.sections[number(*relocated)].kind == Kind::NotLoaded)
        continue;
      for (const ELFRelocationRef item : table.relocations()) {
        bool absolute = is_absolute(item.getType());
        ObjectParts::Reference reference{{number(*relocated), item.getOffset()}, std::nullopt, absolute};
        if (auto symbol = item.getSymbol(); symbol != file.symbol_end()) {
          auto target = checked(symbol->getSection());
          auto addend = item.getAddend();
          if (!addend) // REL: it is in the field
            consumeError(addend.takeError());
          int64_t beyond =
              addend ? *addend : number_at(checked(relocated->getContents()), item.getOffset(), sizeof(uint32_t));
          // Counted from the end of the field, which for code is mostly that of the instruction.
          if (relocated->isText() && !absolute)
            beyond += 4;
          if (target != file.section_end())
            reference.to = {number(*target), checked(symbol->getValue()) + beyond};
        }
        parts.references.push_back(reference);
      }
    }
  }

  // An address in a field of the machine's word size.
  bool is_absolute(uint64_t type) const {
    switch (file.getEMachine()) {
    case ELF::EM_X86_64: return type == ELF::R_X86_64_64;
    case ELF::EM_386: return type == ELF::R_386_32;
    case ELF::EM_AARCH64: return type == ELF::R_AARCH64_ABS64;
    default: return false;
    }
  }
};

} // namespace

ObjectParts elf_parts(const ELFObjectFileBase &file, bool position_independent) {
  return Elf(file, position_independent).parts;
}

} // namespace burnish
