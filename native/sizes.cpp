#include "sizes.h"

#include "module.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/DataExtractor.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

using namespace llvm;
using namespace llvm::object;

namespace burnish {
namespace {

template <class T> T checked(Expected<T> value) {
  if (!value)
    throw InputError(toString(value.takeError()));
  return std::move(*value);
}

// An address in a field of the machine's word size: what has to be relocated when the program is loaded.
bool is_absolute(const ELFObjectFileBase &file, uint64_t type) {
  switch (file.getEMachine()) {
  case ELF::EM_X86_64: return type == ELF::R_X86_64_64;
  case ELF::EM_386: return type == ELF::R_386_32;
  case ELF::EM_AARCH64: return type == ELF::R_AARCH64_ABS64;
  default: return false;
  }
}

// A relocation, as sections and offsets: `from` refers to `to`. Null where the target is in another object.
struct Reference {
  const SectionRef *section;
  uint64_t offset;
  const SectionRef *target;
  uint64_t target_offset;
  bool absolute;
};

class Object {
public:
  Object(const ELFObjectFileBase &file, bool position_independent)
      : file(file), word(file.getBytesInAddress()), relocation(!position_independent ? 0
                                                               : word == 8           ? 24
                                                                                     : 8) {
    for (const SectionRef &section : file.sections())
      sections.push_back(section);
    for (const SectionRef &section : sections)
      by_header[section.getRawDataRefImpl().p] = &section;
    read_functions();
    if (file.isRelocatableObject())
      read_references();
  }

  Sizes sizes() {
    Sizes sizes;
    for (const SectionRef &section : sections)
      add(section, sizes);
    for (const Reference &reference : references)
      if (reference.absolute)
        sizes.relocation_bytes += relocation;
    sizes.loaded_bytes += sizes.read_only_bytes + sizes.data_bytes + sizes.unwind_bytes + sizes.relocation_bytes;
    share_constants();
    for (const Function &function : functions) {
      if (!function.size)
        continue;
      sizes.functions.emplace_back(function.name, function.size);
      sizes.functions_loaded.emplace_back(function.name, function.constant + function.unwind);
      sizes.functions_constant.emplace_back(function.name, function.constant);
    }
    return sizes;
  }

private:
  struct Function {
    std::string name;
    int64_t size, constant, unwind = 0;
  };
  using Place = std::pair<const SectionRef *, uint64_t>;

  const ELFObjectFileBase &file;
  const uint64_t word;
  const int64_t relocation; // bytes of a dynamic one
  std::vector<SectionRef> sections;
  DenseMap<uintptr_t, const SectionRef *> by_header;
  std::vector<Function> functions;
  std::map<Place, size_t> function_at; // by where they begin
  std::map<Place, size_t> described;   // what an FDE is about, by where the FDE says so
  std::vector<Reference> references;   // from sections that are loaded

  static uint64_t flags(const SectionRef &section) { return ELFSectionRef(section).getFlags(); }
  static bool is_loaded(const SectionRef &section) { return flags(section) & ELF::SHF_ALLOC; }
  static bool is_unwind(const SectionRef &section) {
    return ELFSectionRef(section).getType() == ELF::SHT_X86_64_UNWIND || checked(section.getName()) == ".eh_frame";
  }

  const SectionRef *known(const SectionRef &section) const { return by_header.lookup(section.getRawDataRefImpl().p); }

  void read_functions() {
    for (const ELFSymbolRef symbol : file.symbols()) {
      if (checked(symbol.getType()) != SymbolRef::ST_Function)
        continue;
      auto section = checked(symbol.getSection());
      if (section == file.section_end())
        continue;
      int64_t size = symbol.getSize();
      function_at.try_emplace({known(*section), checked(symbol.getValue())}, functions.size());
      functions.push_back({checked(symbol.getName()).str(), size, size});
    }
  }

  void read_references() {
    for (const SectionRef &table : sections) {
      auto relocated = checked(table.getRelocatedSection());
      if (relocated == file.section_end() || !is_loaded(*relocated))
        continue;
      const SectionRef *section = known(*relocated);
      for (const ELFRelocationRef item : table.relocations()) {
        Reference reference{section, item.getOffset(), nullptr, 0, is_absolute(file, item.getType())};
        if (auto symbol = item.getSymbol(); symbol != file.symbol_end()) {
          auto target = checked(symbol->getSection());
          auto addend = item.getAddend(); // REL has none
          if (target != file.section_end()) {
            reference.target = known(*target);
            reference.target_offset = checked(symbol->getValue()) + (addend ? *addend : 0);
          }
          if (!addend)
            consumeError(addend.takeError());
        }
        // Counted from the end of the field, which for code is mostly that of the instruction.
        if (section->isText() && !reference.absolute)
          reference.target_offset += 4;
        references.push_back(reference);
      }
    }
  }

  Function *function_of(const SectionRef *section, uint64_t offset) {
    auto next = function_at.upper_bound({section, offset});
    if (next == function_at.begin())
      return nullptr;
    auto &[place, index] = *std::prev(next);
    bool inside = place.first == section && offset < place.second + std::max<int64_t>(functions[index].size, 1);
    return inside ? &functions[index] : nullptr;
  }

  void add(const SectionRef &section, Sizes &sizes) {
    if (section.isText())
      sizes.text_bytes += section.getSize();
    unsigned type = ELFSectionRef(section).getType();
    if (!is_loaded(section) || type == ELF::SHT_NOBITS || type == ELF::SHT_NOTE)
      return;
    if (is_unwind(section) && file.isRelocatableObject()) {
      sizes.unwind_bytes += unwind_bytes(section);
      return;
    }
    int64_t bytes = alignTo(content_bytes(section), section.getAlignment());
    if (section.isText())
      sizes.loaded_bytes += bytes;
    else if (flags(section) & ELF::SHF_WRITE)
      sizes.data_bytes += bytes;
    else
      sizes.read_only_bytes += bytes;
  }

  // The linker merges what is equal in mergeable sections.
  static uint64_t content_bytes(const SectionRef &section) {
    uint64_t size = section.getSize();
    uint64_t entry = entry_bytes(section);
    if (!(flags(section) & ELF::SHF_MERGE) || !entry || size % entry)
      return size;
    StringRef content = checked(section.getContents());
    bool strings = flags(section) & ELF::SHF_STRINGS;
    StringSet<> seen;
    uint64_t bytes = 0;
    for (uint64_t start = 0, end; start < size; start = end) {
      end = start + entry;
      while (strings && end < size && !llvm::all_of(content.slice(end - entry, end), [](char c) { return !c; }))
        end += entry;
      if (seen.insert(content.slice(start, end)).second)
        bytes += end - start;
    }
    return bytes;
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

  // A CIE is there once in a program, whatever this object adds; .eh_frame_hdr has 8 bytes for each FDE
  // (lld/ELF/SyntheticSections.cpp, EhFrameSection).
  int64_t unwind_bytes(const SectionRef &section) {
    StringRef content = checked(section.getContents());
    DataExtractor data(content, file.isLittleEndian());
    std::map<uint64_t, int64_t> frames;
    int64_t bytes = 0;
    for (uint64_t offset = 0; offset + 8 <= content.size();) {
      uint64_t begin = offset;
      uint64_t length = data.getU32(&offset);
      if (!length || length == UINT32_MAX || offset + length > content.size())
        break;
      uint64_t next = offset + length;
      if (data.getU32(&offset)) {
        frames[begin] = next - begin + 8;
        bytes += frames[begin];
      }
      offset = next;
    }
    for (const Reference &reference : references) {
      if (reference.section != known(section) || !reference.target || !reference.target->isText())
        continue;
      auto frame = frames.find(reference.offset - 8); // the first field after its length and its CIE
      Function *function = function_of(reference.target, reference.target_offset);
      if (!function || frame == frames.end())
        continue;
      function->unwind += frame->second - end_padding(content, frame->first);
      described[{reference.section, reference.offset}] = function - functions.data();
    }
    return bytes;
  }

  // The last FDE is filled up to 8 bytes, others to 4 (llvm/lib/MC/MCDwarf.cpp): whoever comes last has that for the
  // section's sake. 20 bytes are the least that one has.
  static int64_t end_padding(StringRef content, uint64_t frame) {
    bool last = frame + 20 + 4 <= content.size();
    DataExtractor data(content, /*IsLittleEndian=*/true);
    uint64_t offset = frame;
    last = last && frame + 4 + data.getU32(&offset) == content.size();
    return last && content.ends_with(StringRef("\0\0\0\0", 4)) ? 4 : 0;
  }

  // What one function alone refers to is counted with it: constants, strings, jump tables, tables of exceptions.
  // A piece of data reaches from one place that is referred to to the next.
  void share_constants() {
    constexpr size_t NONE = SIZE_MAX, MANY = SIZE_MAX - 1;
    std::map<Place, size_t> users;
    for (const Reference &reference : references) {
      const SectionRef *target = reference.target;
      if (!target || target->isText() || !is_loaded(*target) || target->isBSS() || is_unwind(*target))
        continue;
      const Function *user = function_of(reference.section, reference.offset);
      if (is_unwind(*reference.section))
        user = described_by(reference);
      size_t index = user ? user - functions.data() : MANY;
      auto [found, added] = users.try_emplace({target, reference.target_offset}, index);
      if (!added && found->second != index)
        found->second = MANY;
    }
    for (const ELFSymbolRef symbol : file.symbols()) {
      auto section = checked(symbol.getSection());
      if (section == file.section_end() || checked(symbol.getType()) != SymbolRef::ST_Data)
        continue;
      auto found = users.try_emplace({known(*section), checked(symbol.getValue())}, NONE).first;
      if (symbol.getBinding() != ELF::STB_LOCAL)
        found->second = MANY; // other objects may use it
    }
    std::map<Place, int64_t> relocated;
    for (const Reference &reference : references)
      if (reference.absolute)
        relocated[{reference.section, reference.offset}] = relocation;
    for (auto place = users.begin(); place != users.end(); ++place) {
      auto [section, offset] = place->first;
      if (place->second >= MANY || offset >= section->getSize())
        continue;
      auto next = std::next(place);
      uint64_t end = next != users.end() && next->first.first == section ? next->first.second : section->getSize();
      int64_t bytes = end - offset;
      for (auto at = relocated.lower_bound(place->first); at != relocated.end() && at->first < Place(section, end);
           ++at)
        bytes += at->second;
      functions[place->second].constant += bytes;
    }
  }

  // Whose FDE a reference to a table of exceptions is in.
  const Function *described_by(const Reference &reference) const {
    auto next = described.upper_bound({reference.section, reference.offset});
    if (next == described.begin() || std::prev(next)->first.first != reference.section)
      return nullptr;
    return &functions[std::prev(next)->second];
  }
};

} // namespace

Sizes object_sizes(const std::string &object, bool position_independent) {
  auto file = checked(ObjectFile::createObjectFile(MemoryBufferRef(object, "object")));
  const auto *elf = dyn_cast<ELFObjectFileBase>(file.get());
  if (!elf)
    throw InputError("expected an ELF object");
  Sizes sizes = Object(*elf, position_independent).sizes();
  sizes.object_bytes = object.size();
  return sizes;
}

} // namespace burnish
