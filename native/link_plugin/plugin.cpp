// A plugin of GNU ld that asks it which definitions it takes from the units of a program, and links nothing.
//
// Its option is the path of a table that burnish.cc.link.gnu_link writes: objects that have a unit, and the symbols
// of each. The linker takes these symbols instead of the object's, as with link-time optimization. Its answers go
// into a file beside the table. Types and numbers are those of include/plugin-api.h of the GNU binutils.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace {

enum Status { OK, NO_SYMBOLS, BAD_HANDLE, ERROR };

struct InputFile {
  const char *name;
  int fd;
  off_t offset, filesize;
  void *handle;
};

struct Symbol {
  char *name, *version;
  char kind, type, section_kind, unused;
  int visibility;
  uint64_t size;
  char *comdat_key;
  int resolution;
};

using ClaimFile = Status (*)(const InputFile *, int *claimed);
using AllSymbolsRead = Status (*)();
using AddSymbols = Status (*)(void *handle, int count, const Symbol *);
using GetSymbols = Status (*)(const void *handle, int count, Symbol *);

struct Transfer {
  int tag;
  union {
    int number;
    const char *string;
    Status (*register_claim_file)(ClaimFile);
    Status (*register_all_symbols_read)(AllSymbolsRead);
    AddSymbols add_symbols;
    GetSymbols get_symbols;
  };
};

enum Tag {
  NONE = 0,
  OPTION = 4,
  REGISTER_CLAIM_FILE_HOOK = 5,
  REGISTER_ALL_SYMBOLS_READ_HOOK = 6,
  ADD_SYMBOLS = 8,
  GET_SYMBOLS_V2 = 25,
  GET_SYMBOLS_V3 = 28
};

struct Unit {
  size_t number; // in the table
  std::vector<std::vector<std::string>> rows;
  std::vector<Symbol> symbols;
};

struct Claimed {
  Unit *unit;
  void *handle;
};

std::string table;
std::map<std::pair<std::string, off_t>, Unit> units; // by the real path of an object or archive, and the place in it
std::vector<Claimed> claimed;                        // in the linker's order
AddSymbols add_symbols;
GetSymbols get_symbols;

std::string content_of(const std::string &path) {
  std::string content;
  char buffer[4096];
  auto file = std::fopen(path.c_str(), "rb");
  for (size_t read = 1; file && read;) {
    read = std::fread(buffer, 1, sizeof buffer, file);
    content.append(buffer, read);
  }
  if (file)
    std::fclose(file);
  return content;
}

std::vector<std::string> split(const std::string &text, char at) {
  std::vector<std::string> parts;
  for (size_t start = 0, end = 0; end != text.npos; start = end + 1) {
    end = text.find(at, start);
    parts.push_back(text.substr(start, end - start));
  }
  return parts;
}

// A line "unit OFFSET PATH", then a line "KIND VISIBILITY SIZE NAME GROUP" for each of its symbols.
void read_table() {
  Unit *unit = nullptr;
  for (const auto &line : split(content_of(table), '\n')) {
    auto parts = split(line, '\t');
    if (parts[0] == "unit") {
      unit = &units[{parts[2], std::stoll(parts[1])}];
      unit->number = units.size() - 1;
    } else if (unit && parts.size() == 5) {
      unit->rows.push_back(parts);
    }
  }
  for (auto &[place, unit] : units)
    for (auto &row : unit.rows) {
      Symbol symbol = {};
      symbol.kind = char(std::stoi(row[0]));
      symbol.visibility = std::stoi(row[1]);
      symbol.size = std::stoull(row[2]);
      symbol.name = row[3].data();
      symbol.comdat_key = row[4].empty() ? nullptr : row[4].data();
      unit.symbols.push_back(symbol);
    }
}

Status claim_file(const InputFile *file, int *is_claimed) {
  char *path = realpath(file->name, nullptr);
  auto found = units.find({path ? path : "", file->offset});
  std::free(path);
  if (found == units.end())
    return OK;
  *is_claimed = 1;
  auto &unit = found->second;
  claimed.push_back({&unit, file->handle});
  return add_symbols(file->handle, int(unit.symbols.size()), unit.symbols.data());
}

// Returns an error in the end, so that the linker stops here.
Status all_symbols_read() {
  std::string answers;
  for (auto &[unit, handle] : claimed) {
    auto status = get_symbols(handle, int(unit->symbols.size()), unit->symbols.data());
    if (status == NO_SYMBOLS) // a member of an archive that the program does not need
      continue;
    if (status != OK)
      return status;
    answers += std::to_string(unit->number);
    for (auto &symbol : unit->symbols)
      answers.append(1, ' ').append(std::to_string(symbol.resolution));
    answers += '\n';
  }
  auto file = std::fopen((table + ".answers").c_str(), "wb");
  if (file) {
    std::fputs(answers.append("end\n").c_str(), file);
    std::fclose(file);
  }
  return ERROR;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int onload(const Transfer *transfer) {
  for (; transfer->tag != NONE; ++transfer)
    switch (transfer->tag) {
    case OPTION: table = transfer->string; break;
    case REGISTER_CLAIM_FILE_HOOK: transfer->register_claim_file(claim_file); break;
    case REGISTER_ALL_SYMBOLS_READ_HOOK: transfer->register_all_symbols_read(all_symbols_read); break;
    case ADD_SYMBOLS: add_symbols = transfer->add_symbols; break;
    case GET_SYMBOLS_V2:
    case GET_SYMBOLS_V3: get_symbols = transfer->get_symbols; break;
    }
  if (table.empty() || !add_symbols || !get_symbols)
    return ERROR;
  read_table();
  return OK;
}
