#include "sizes.h"

#include "module.h"
#include "object_parts.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Mangler.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/COFF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Object/MachO.h"
#include "llvm/Object/Wasm.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

using namespace llvm;
using namespace llvm::object;

namespace burnish {
namespace {

using Kind = ObjectParts::Kind;

ObjectParts parts_of(const ObjectFile &file, bool position_independent) {
  if (const auto *elf = dyn_cast<ELFObjectFileBase>(&file))
    return elf_parts(*elf, position_independent);
  if (const auto *mach_o = dyn_cast<MachOObjectFile>(&file))
    return mach_o_parts(*mach_o);
  if (const auto *coff = dyn_cast<COFFObjectFile>(&file))
    return coff_parts(*coff);
  if (const auto *wasm = dyn_cast<WasmObjectFile>(&file))
    return wasm_parts(*wasm);
  throw InputError("expected an object file in the format ELF, Mach-O, COFF or WebAssembly, not " +
                   file.getFileFormatName().str());
}

class Shares {
public:
  explicit Shares(const ObjectParts &parts) : parts(parts), constants(parts.functions.size()) {
    for (const auto &frame : parts.frames)
      if (frame.function)
        described[frame.begin] = *frame.function;
    find_users();
    share();
  }

  // Bytes of the data that only one function refers to, by function: constants, strings, jump tables, exception tables.
  const std::vector<int64_t> &of_functions() const { return constants; }

private:
  static constexpr size_t NONE = SIZE_MAX, MANY = SIZE_MAX - 1;

  const ObjectParts &parts;
  std::vector<int64_t> constants;
  std::map<Place, size_t> described; // by frame information
  std::map<Place, size_t> users;     // by the beginning of a piece of data, which ends at the next one

  void find_users() {
    for (const auto &reference : parts.references) {
      if (!reference.to)
        continue;
      const auto &target = parts.sections[reference.to->first];
      if ((target.kind != Kind::ReadOnly && target.kind != Kind::Data) || target.zeros)
        continue;
      size_t user = user_of(reference.from);
      auto [found, added] = users.try_emplace(*reference.to, user);
      if (!added && found->second != user)
        found->second = MANY;
    }
    for (const auto &named : parts.data) {
      auto found = users.try_emplace(named.begin, NONE).first;
      if (named.shared)
        found->second = MANY;
    }
  }

  size_t user_of(const Place &from) const {
    if (parts.sections[from.first].kind != Kind::Unwind)
      return parts.function_of(from).value_or(MANY);
    auto next = described.upper_bound(from);
    if (next == described.begin() || std::prev(next)->first.first != from.first)
      return MANY;
    return std::prev(next)->second;
  }

  void share() {
    std::map<Place, int64_t> relocated;
    for (const auto &reference : parts.references)
      if (reference.relocated)
        relocated[reference.from] = parts.relocation_bytes;
    for (auto place = users.begin(); place != users.end(); ++place) {
      auto [section, offset] = place->first;
      uint64_t size = parts.sections[section].size;
      if (place->second >= MANY || offset >= size)
        continue;
      auto next = std::next(place);
      uint64_t end = next != users.end() && next->first.first == section ? next->first.second : size;
      int64_t bytes = end - offset;
      for (auto at = relocated.lower_bound(place->first); at != relocated.end() && at->first < Place(section, end);
           ++at)
        bytes += at->second;
      constants[place->second] += bytes;
    }
  }
};

Sizes sizes_of(const ObjectParts &parts) {
  Sizes sizes;
  sizes.text_bytes = parts.text_bytes;
  for (const auto &section : parts.sections) {
    switch (section.kind) {
    case Kind::NotLoaded: break;
    case Kind::Code: sizes.loaded_bytes += section.bytes; break;
    case Kind::ReadOnly: sizes.read_only_bytes += section.bytes; break;
    case Kind::Data: sizes.data_bytes += section.bytes; break;
    case Kind::Unwind: sizes.unwind_bytes += section.bytes; break;
    }
  }
  sizes.ram_bytes = sizes.data_bytes + parts.zero_bytes;
  for (const auto &reference : parts.references)
    if (reference.relocated)
      sizes.relocation_bytes += parts.relocation_bytes;
  sizes.loaded_bytes += sizes.read_only_bytes + sizes.data_bytes + sizes.unwind_bytes + sizes.relocation_bytes;
  std::vector<int64_t> unwind(parts.functions.size());
  for (const auto &frame : parts.frames)
    if (frame.function)
      unwind[*frame.function] += frame.bytes;
  Shares shares(parts);
  for (size_t i = 0; i < parts.functions.size(); ++i) {
    const auto &function = parts.functions[i];
    if (!function.size)
      continue;
    int64_t written = function.size - function.spared, constant = written + shares.of_functions()[i];
    sizes.functions.emplace_back(function.name, written);
    sizes.functions_loaded.emplace_back(function.name, constant + unwind[i]);
    sizes.functions_constant.emplace_back(function.name, constant);
  }
  return sizes;
}

// Returns a symbol's name in the module, for example without Mach-O's leading underscore.
void rename(ObjectParts &parts, const llvm::Module &module) {
  StringMap<StringRef> names;
  Mangler mangler;
  SmallString<64> symbol;
  for (const GlobalValue &value : module.global_values()) {
    if (value.isDeclaration() || !value.hasName())
      continue;
    symbol.clear();
    mangler.getNameWithPrefix(symbol, &value, /*CannotUsePrivateLabel=*/true);
    names[symbol] = value.getName();
  }
  for (auto &function : parts.functions)
    if (auto found = names.find(function.name); found != names.end())
      function.name = found->second.str();
}

Sizes object_sizes(const std::string &object, bool position_independent, const llvm::Module *module) {
  auto file = checked(ObjectFile::createObjectFile(MemoryBufferRef(object, "object")));
  ObjectParts parts = parts_of(*file, position_independent);
  if (module)
    rename(parts, *module);
  Sizes sizes = sizes_of(parts);
  sizes.object_bytes = object.size();
  return sizes;
}

} // namespace

Sizes object_sizes(const std::string &object, bool position_independent) {
  return object_sizes(object, position_independent, nullptr);
}

Sizes object_sizes(const std::string &object, const Module &module) {
  return object_sizes(object, module.position_independent(), &module.ir());
}

} // namespace burnish
