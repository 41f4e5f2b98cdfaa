#include "object_parts.h"

#include "llvm/BinaryFormat/Wasm.h"
#include "llvm/Object/Wasm.h"

#include <map>

using namespace llvm;
using namespace llvm::object;

namespace burnish {
namespace {

using Kind = ObjectParts::Kind;

constexpr int64_t TYPE_BYTES = 1; // of a function in the section of functions: the index of its type

// In an object, a number that the linker fills in takes 5 bytes, or 10. With --compress-relocations (wasm-ld -O2) it
// takes as many as it needs: 1 for a type, a global or a table, 2 for a function or an address in a program of some
// hundred functions, 3 for an address as a signed number.
int64_t spared(uint8_t type) {
  switch (type) {
  case wasm::R_WASM_TYPE_INDEX_LEB:
  case wasm::R_WASM_GLOBAL_INDEX_LEB:
  case wasm::R_WASM_TABLE_NUMBER_LEB:
  case wasm::R_WASM_TAG_INDEX_LEB: return 4;
  case wasm::R_WASM_FUNCTION_INDEX_LEB:
  case wasm::R_WASM_MEMORY_ADDR_LEB: return 3;
  case wasm::R_WASM_TABLE_INDEX_SLEB:
  case wasm::R_WASM_MEMORY_ADDR_SLEB: return 2;
  case wasm::R_WASM_MEMORY_ADDR_LEB64: return 8;
  case wasm::R_WASM_TABLE_INDEX_SLEB64:
  case wasm::R_WASM_MEMORY_ADDR_SLEB64: return 7;
  default: return 0; // relative addresses, for position-independent code, are not compressed
  }
}

class Wasm {
public:
  explicit Wasm(const WasmObjectFile &file) : file(file), sections(file) {
    for (const SectionRef &section : sections)
      by_type[file.getWasmSection(section).Type] = sections.number(section);
    read_symbols();
    parts.index_functions();
    for (const SectionRef &section : sections)
      parts.sections.push_back(read(file.getWasmSection(section)));
    for (const SectionRef &section : sections)
      read_references(section);
    if (auto code = by_type.find(wasm::WASM_SEC_CODE); code != by_type.end())
      parts.text_bytes = parts.sections[code->second].bytes;
  }

  ObjectParts parts;

private:
  const WasmObjectFile &file;
  Sections sections;
  std::map<uint32_t, size_t> by_type;
  std::vector<std::optional<Place>> places; // of the data symbols, by the number of the symbol

  void read_symbols() {
    for (const SymbolRef &reference : file.symbols()) {
      const WasmSymbol &symbol = file.getWasmSymbol(reference);
      places.emplace_back();
      if (symbol.isUndefined())
        continue;
      if (symbol.isTypeFunction()) {
        const auto &made = file.functions()[symbol.Info.ElementIndex - file.getNumImportedFunctions()];
        parts.functions.push_back({symbol.Info.Name.str(),
                                   {by_type.at(wasm::WASM_SEC_CODE), made.CodeSectionOffset},
                                   made.Size,
                                   -TYPE_BYTES});
      } else if (symbol.isTypeData() && !(symbol.Info.Flags & wasm::WASM_SYMBOL_ABSOLUTE)) {
        const auto &segment = file.dataSegments()[symbol.Info.DataRef.Segment];
        places.back() = {by_type.at(wasm::WASM_SEC_DATA), segment.SectionOffset + symbol.Info.DataRef.Offset};
        parts.data.push_back({*places.back(), !symbol.isBindingLocal()});
      }
    }
  }

  ObjectParts::Section read(const WasmSection &section) {
    ObjectParts::Section made{Kind::NotLoaded, false, section.Content.size(), 0};
    if (section.Type == wasm::WASM_SEC_CODE) {
      made.kind = Kind::Code;
      for (const wasm::WasmFunction &function : file.functions())
        made.bytes += function.Size + TYPE_BYTES;
    } else if (section.Type == wasm::WASM_SEC_DATA) {
      made.kind = Kind::Data;
      for (const WasmSegment &segment : file.dataSegments())
        (segment.Data.Name.starts_with(".bss") ? parts.zero_bytes : made.bytes) += segment.Data.Content.size();
    }
    return made;
  }

  void read_references(const SectionRef &section) {
    size_t number = sections.number(section);
    auto &made = parts.sections[number];
    if (made.kind == Kind::NotLoaded)
      return;
    for (const wasm::WasmRelocation &item : file.getWasmSection(section).Relocations) {
      ObjectParts::Reference reference{{number, item.Offset}, std::nullopt, false};
      if (item.Type != wasm::R_WASM_TYPE_INDEX_LEB && item.Index < places.size() && places[item.Index])
        reference.to = {places[item.Index]->first, places[item.Index]->second + item.Addend};
      parts.references.push_back(reference);
      made.bytes -= spared(item.Type);
      if (auto function = parts.function_of(reference.from))
        parts.functions[*function].spared += spared(item.Type);
    }
  }
};

} // namespace

ObjectParts wasm_parts(const WasmObjectFile &file) { return Wasm(file).parts; }

} // namespace burnish
