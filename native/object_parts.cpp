#include "object_parts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Object/SymbolSize.h"
#include "llvm/Support/DataExtractor.h"

#include <algorithm>
#include <map>

using namespace llvm;

namespace burnish {
namespace {

// The last FDE is filled up to 8 bytes, others to 4 (llvm/lib/MC/MCDwarf.cpp): the last one has that for the
// section's sake. 20 bytes are the least that an FDE has.
int64_t end_padding(StringRef content, const FrameRecord &record) {
  bool last = record.bytes >= 20 + 4 && record.begin + record.bytes == content.size();
  return last && content.ends_with(StringRef("\0\0\0\0", 4)) ? 4 : 0;
}

} // namespace

void ObjectParts::index_functions() {
  function_at.clear();
  for (size_t i = 0; i < functions.size(); ++i)
    function_at.emplace_back(functions[i].begin, i);
  llvm::sort(function_at);
  auto again = [](const auto &one, const auto &other) { return one.first == other.first; };
  function_at.erase(std::unique(function_at.begin(), function_at.end(), again), function_at.end());
}

std::optional<size_t> ObjectParts::function_of(Place place) const {
  auto next = llvm::upper_bound(function_at, place, [](const Place &it, const auto &pair) { return it < pair.first; });
  if (next == function_at.begin())
    return std::nullopt;
  const auto &[begin, index] = *std::prev(next);
  bool inside = begin.first == place.first && place.second < begin.second + std::max<int64_t>(functions[index].size, 1);
  return inside ? std::optional(index) : std::nullopt;
}

Sections::Sections(const object::ObjectFile &file) {
  for (const object::SectionRef &section : file.sections()) {
    numbers[section.getRawDataRefImpl().p] = all.size();
    all.push_back(section);
  }
}

void read_parts(ObjectParts &parts, const object::ObjectFile &file, const Sections &sections, FormatReaders read) {
  for (const auto &[symbol, size] : object::computeSymbolSizes(file)) {
    if (checked(symbol.getType()) == object::SymbolRef::ST_Debug)
      continue;
    if (auto section = checked(symbol.getSection()); section != file.section_end())
      read.symbol(symbol, *section, size);
  }
  parts.index_functions();
  for (const object::SectionRef &section : sections)
    parts.sections.push_back(read.section(section));
  if (!file.isRelocatableObject())
    return;
  for (const object::SectionRef &section : sections)
    if (parts.sections[sections.number(section)].kind != ObjectParts::Kind::NotLoaded)
      for (const object::RelocationRef &item : section.relocations())
        parts.references.push_back(read.reference(section, item));
}

uint64_t merged_bytes(StringRef content, uint64_t entry, bool strings) {
  uint64_t size = content.size();
  if (!entry || size % entry)
    return size;
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

std::vector<FrameRecord> frame_records(StringRef content, bool little_endian) {
  DataExtractor data(content, little_endian);
  std::vector<FrameRecord> records;
  for (uint64_t offset = 0; offset + 8 <= content.size();) {
    uint64_t begin = offset;
    uint64_t length = data.getU32(&offset);
    if (!length || length == UINT32_MAX || offset + length > content.size())
      break;
    uint64_t next = offset + length;
    if (data.getU32(&offset)) // 0: a CIE, which a program has once, whatever this object adds
      records.push_back({begin, int64_t(next - begin), offset});
    offset = next;
  }
  return records;
}

int64_t add_frames(ObjectParts &parts, size_t section, StringRef content, bool little_endian, int64_t header) {
  std::map<uint64_t, FrameRecord> by_field;
  int64_t bytes = 0;
  for (const FrameRecord &record : frame_records(content, little_endian)) {
    by_field[record.function_field] = record;
    bytes += record.bytes + header;
  }
  for (const auto &reference : parts.references) {
    if (reference.from.first != section || !reference.to)
      continue;
    auto found = by_field.find(reference.from.second);
    auto function = found == by_field.end() ? std::nullopt : parts.function_of(*reference.to);
    if (function)
      parts.frames.push_back(
          {reference.from, function, found->second.bytes + header - end_padding(content, found->second)});
  }
  return bytes;
}

int64_t number_at(StringRef content, uint64_t offset, unsigned bytes) {
  if (offset > content.size() || content.size() - offset < bytes)
    return 0;
  DataExtractor data(content, /*IsLittleEndian=*/true);
  return data.getSigned(&offset, bytes);
}

} // namespace burnish
