#include "object_parts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::object;

namespace burnish {
namespace {

using Kind = ObjectParts::Kind;

constexpr int64_t HEADER = 8; // of .eh_frame_hdr for each FDE (lld/ELF/SyntheticSections.cpp, EhFrameSection)

constexpr int64_t INDEX_ENTRY = 8; // bytes of .ARM.exidx for a function

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
    place_code();
    for (const SectionRef &section : sections)
      if (auto &made = parts.sections[number(section)]; made.kind == Kind::Unwind && !is_exception_index(section))
        made.bytes = add_frames(parts, number(section), checked(section.getContents()), file.isLittleEndian(), HEADER);
  }

  ObjectParts parts;

private:
  // A call in RISC-V's code that a linker may shorten.
  struct Call {
    Place from;
    std::optional<Place> to; // missing if the function is in another object
    bool has_short_form;     // of 2 bytes, for functions that are near
    int64_t spared = 0;
  };

  // The addresses of sections with code, by number, and of calls, without the bytes that are spared before them.
  struct Addresses {
    std::vector<int64_t> sections, calls;
  };

  const ELFObjectFileBase &file;
  Sections sections;
  std::vector<Call> calls;
  bool said_cannot_unwind = false; // an entry of .ARM.exidx, in any section

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
    bool unwind =
        type == ELF::SHT_X86_64_UNWIND || is_exception_index(section) || checked(section.getName()) == ".eh_frame";
    if (unwind && file.isRelocatableObject())
      made.kind = Kind::Unwind;
    else if (section.isText())
      made.kind = Kind::Code;
    else
      made.kind = flags(section) & ELF::SHF_WRITE ? Kind::Data : Kind::ReadOnly;
    if (is_exception_index(section))
      made.bytes = index_bytes(checked(section.getContents()));
    else if (!made.zeros && made.kind != Kind::Unwind)
      made.bytes = alignTo(content_bytes(section), section.getAlignment());
    parts.zero_bytes += made.zeros && made.kind == Kind::Data ? section.getSize() : 0;
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
              addend ? *addend : addend_in(checked(relocated->getContents()), item.getOffset(), item.getType());
          // x86 counts from the end of the field, which for code is mostly that of the instruction.
          if (is_x86() && relocated->isText() && !absolute)
            beyond += 4;
          if (target != file.section_end())
            reference.to = {number(*target), checked(symbol->getValue()) + beyond};
        }
        if (is_exception_index(*relocated) && reference.to && item.getOffset() % INDEX_ENTRY == 0 &&
            !cannot_unwind(checked(relocated->getContents()), item.getOffset()))
          if (auto function = parts.function_of(*reference.to))
            parts.frames.push_back({reference.from, function, INDEX_ENTRY});
        parts.references.push_back(reference);
      }
    }
  }

  // The addend of a relocation that has none of its own. ARM's instructions with 16 bits of an address have the lower
  // 16 bits of the addend, in four pieces; its branches go to symbols.
  int64_t addend_in(StringRef content, uint64_t at, uint64_t type) const {
    uint64_t field = number_at(content, at, sizeof(uint32_t));
    if (machine() != ELF::EM_ARM)
      return field;
    switch (type) {
    case ELF::R_ARM_MOVW_ABS_NC:
    case ELF::R_ARM_MOVT_ABS: return int16_t((field >> 4 & 0xf000) | (field & 0xfff));
    case ELF::R_ARM_THM_MOVW_ABS_NC:
    case ELF::R_ARM_THM_MOVT_ABS: // two halfwords
      return int16_t((field & 0xf) << 12 | (field >> 10 & 1) << 11 | (field >> 28 & 7) << 8 | (field >> 16 & 0xff));
    case ELF::R_ARM_CALL:
    case ELF::R_ARM_JUMP24:
    case ELF::R_ARM_THM_CALL:
    case ELF::R_ARM_THM_JUMP24: return 0;
    default: return field;
    }
  }

  // ARM's .ARM.exidx has an entry for each function; x86's .eh_frame may have a type with the same number.
  bool is_exception_index(const SectionRef &section) const {
    return machine() == ELF::EM_ARM && ELFSectionRef(section).getType() == ELF::SHT_ARM_EXIDX;
  }

  static bool cannot_unwind(StringRef content, uint64_t entry) { return number_at(content, entry + 4, 4) == 1; }

  // Linkers merge neighbours that say that a function cannot be unwound: the object has one of these.
  int64_t index_bytes(StringRef content) {
    int64_t bytes = 0;
    for (uint64_t entry = 0; entry + INDEX_ENTRY <= content.size(); entry += INDEX_ENTRY) {
      bool again = cannot_unwind(content, entry) && said_cannot_unwind;
      said_cannot_unwind |= cannot_unwind(content, entry);
      bytes += again ? 0 : INDEX_ENTRY;
    }
    return bytes;
  }

  bool is_x86() const { return machine() == ELF::EM_X86_64 || machine() == ELF::EM_386; }

  // RISC-V's linker shortens what the compiler marks (lld/ELF/Arch/RISCV.cpp): a call, of 8 bytes, to 4, or to 2 if
  // the function is within 2 KiB; and the padding of an alignment to what is needed.
  void relax(const SectionRef &section, const SectionRef &table) {
    StringRef content = checked(section.getContents());
    bool compressed = file.getPlatformFlags() & ELF::EF_RISCV_RVC;
    std::optional<Call> call;
    for (const ELFRelocationRef item : table.relocations()) {
      uint64_t at = item.getOffset(), type = item.getType();
      if (type == ELF::R_RISCV_RELAX && call && at == call->from.second)
        calls.push_back(*call);
      else if (type == ELF::R_RISCV_ALIGN) // without short instructions, everything is aligned to 4
        spare({number(section), at}, compressed ? checked(item.getAddend()) / 4 * 2 : checked(item.getAddend()) & 2);
      call.reset();
      if (type != ELF::R_RISCV_CALL && type != ELF::R_RISCV_CALL_PLT)
        continue;
      unsigned link = number_at(content, at + 4, 4) >> 7 & 31; // jalr's register: c.j has none, c.jal the usual one
      bool has_short_form = compressed && (link == 0 || (link == 1 && file.getBytesInAddress() == 4));
      call = Call{{number(section), at}, target_of(item), has_short_form};
    }
  }

  std::optional<Place> target_of(const ELFRelocationRef &item) const {
    auto symbol = item.getSymbol();
    if (symbol == file.symbol_end())
      return std::nullopt;
    auto section = checked(symbol->getSection());
    if (section == file.section_end())
      return std::nullopt;
    return Place{number(*section), checked(symbol->getValue()) + checked(item.getAddend())};
  }

  // Shortens the calls as lld does, which places the code's sections in the object's order: each pass brings the
  // functions nearer, until no further call gets shorter.
  void place_code() {
    llvm::sort(calls, [](const Call &one, const Call &other) { return one.from < other.from; });
    while (shorten_calls(addresses())) {
    }
    for (const Call &call : calls)
      spare(call.from, call.spared);
  }

  Addresses addresses() const {
    Addresses found{std::vector<int64_t>(parts.sections.size()), {}};
    auto call = calls.begin();
    int64_t end = 0;
    for (const SectionRef &section : sections) {
      if (!section.isText())
        continue;
      found.sections[number(section)] = end = alignTo(end, section.getAlignment());
      for (; call != calls.end() && call->from.first == number(section); ++call) {
        found.calls.push_back(end + call->from.second);
        end -= call->spared;
      }
      end += section.getSize();
    }
    return found;
  }

  // Returns whether a call gets shorter than it was.
  bool shorten_calls(const Addresses &placed) {
    auto address = [&](const Place &place) {
      auto next = llvm::lower_bound(calls, place, [](const Call &call, const Place &it) { return call.from < it; });
      if (next == calls.begin() || std::prev(next)->from.first != place.first)
        return placed.sections[place.first] + int64_t(place.second);
      const Call &last = *std::prev(next);
      return placed.calls[&last - calls.data()] + int64_t(place.second - last.from.second) - last.spared;
    };
    std::vector<int64_t> spared;
    for (auto [call, from] : zip(calls, placed.calls))
      spared.push_back(call.to && call.has_short_form && isInt<12>(address(*call.to) - from) ? 6 : 4);
    bool any = false;
    for (auto [call, bytes] : zip(calls, spared)) {
      any |= bytes > call.spared;
      call.spared = std::max(call.spared, bytes);
    }
    return any;
  }

  void spare(Place at, int64_t bytes) {
    parts.sections[at.first].bytes -= bytes;
    parts.text_bytes -= bytes;
    if (auto function = parts.function_of(at))
      parts.functions[*function].spared += bytes;
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
