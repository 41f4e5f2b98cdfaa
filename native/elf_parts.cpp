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
    if (position_independent) // an entry with its addend, which 32-bit machines but RISC-V have in the field
      parts.relocation_bytes = file.getBytesInAddress() == 8 ? 24 : machine() == ELF::EM_RISCV ? 12 : 8;
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

  unsigned machine() const { return file.getEMachine(); }
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
      if (machine() == ELF::EM_RISCV && relocated->isText())
        relax(*relocated, table);
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
          // x86 counts from the end of the field, which for code is mostly that of the instruction.
          if (is_x86() && relocated->isText() && !absolute)
            beyond += 4;
          if (target != file.section_end())
            reference.to = {number(*target), checked(symbol->getValue()) + beyond};
        }
        parts.references.push_back(reference);
      }
    }
  }

  bool is_x86() const { return machine() == ELF::EM_X86_64 || machine() == ELF::EM_386; }

  // RISC-V's linker shortens what the compiler marks (lld/ELF/Arch/RISCV.cpp): a call, of 8 bytes, to 4, or to 2 if
  // the function is within 2 KiB; and the padding of an alignment to what is needed.
  void relax(const SectionRef &section, const SectionRef &table) {
    StringRef content = checked(section.getContents());
    bool compressed = file.getPlatformFlags() & ELF::EF_RISCV_RVC;
    uint64_t call = UINT64_MAX;
    bool near = false;
    for (const ELFRelocationRef item : table.relocations()) {
      uint64_t at = item.getOffset(), type = item.getType();
      if (type == ELF::R_RISCV_RELAX && at == call)
        spare(section, at, near && compressed ? 6 : 4);
      else if (type == ELF::R_RISCV_ALIGN) // without short instructions, everything is aligned to 4
        spare(section, at, compressed ? checked(item.getAddend()) / 4 * 2 : checked(item.getAddend()) & 2);
      call = type == ELF::R_RISCV_CALL || type == ELF::R_RISCV_CALL_PLT ? at : UINT64_MAX;
      near = call == at && is_near(section, content, item);
    }
  }

  void spare(const SectionRef &section, uint64_t at, int64_t bytes) {
    parts.sections[number(section)].bytes -= bytes;
    parts.text_bytes -= bytes;
    if (auto function = parts.function_of({number(section), at}))
      parts.functions[*function].spared += bytes;
  }

  // Returns whether a call can become a c.j, or on 32-bit machines a c.jal.
  bool is_near(const SectionRef &section, StringRef content, const ELFRelocationRef &item) const {
    auto symbol = item.getSymbol();
    if (symbol == file.symbol_end())
      return false;
    auto target = checked(symbol->getSection());
    if (target == file.section_end() || number(*target) != number(section))
      return false;
    int64_t distance = checked(symbol->getValue()) - item.getOffset();
    unsigned link = number_at(content, item.getOffset() + 4, 4) >> 7 & 31; // jalr's register
    return isInt<12>(distance) && (link == 0 || (link == 1 && file.getBytesInAddress() == 4));
  }

  // An address in a field of the machine's word size.
  bool is_absolute(uint64_t type) const {
    switch (machine()) {
    case ELF::EM_X86_64: return type == ELF::R_X86_64_64;
    case ELF::EM_386: return type == ELF::R_386_32;
    case ELF::EM_AARCH64: return type == ELF::R_AARCH64_ABS64;
    case ELF::EM_ARM: return type == ELF::R_ARM_ABS32 || type == ELF::R_ARM_TARGET1;
    case ELF::EM_RISCV: return type == (file.getBytesInAddress() == 8 ? ELF::R_RISCV_64 : ELF::R_RISCV_32);
    default: return false;
    }
  }
};

} // namespace

ObjectParts elf_parts(const ELFObjectFileBase &file, bool position_independent) {
  return Elf(file, position_independent).parts;
}

} // namespace burnish
