// The parts of an object file from which its sizes are computed, in the same form for each format.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Object/Error.h"
#include "llvm/Object/ObjectFile.h"

#include "module.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace llvm::object {
class COFFObjectFile;
class ELFObjectFileBase;
class MachOObjectFile;
class WasmObjectFile;
} // namespace llvm::object

namespace burnish {

// A place in an object file: the number of a section, and an offset in it.
using Place = std::pair<size_t, uint64_t>;

struct ObjectParts {
  enum class Kind { NotLoaded, Code, ReadOnly, Data, Unwind };

  struct Section {
    Kind kind = Kind::NotLoaded;
    bool zeros = false; // the file has no content for it
    uint64_t size = 0;  // in the object file
    int64_t bytes = 0;  // in a linked program
  };
  struct Function {
    std::string name; // the symbol's
    Place begin;
    int64_t size;       // in the object file
    int64_t spared = 0; // that a linker takes out
  };
  // A reference from a loaded section. `to` is missing if the target is in another object.
  struct Reference {
    Place from;
    std::optional<Place> to;
    bool relocated; // when the program is loaded
  };
  // Data with a name.
  struct Named {
    Place begin;
    bool shared; // other objects may use it
  };
  // The entry of an unwind table for one function.
  struct Frame {
    Place begin;
    std::optional<size_t> function;
    int64_t bytes; // used for this function only
  };

  std::vector<Section> sections;
  std::vector<Function> functions; // as in the symbol table
  std::vector<Reference> references;
  std::vector<Named> data;
  std::vector<Frame> frames;
  int64_t text_bytes = 0;       // of executable sections
  int64_t zero_bytes = 0;       // of writable data that the file has no content for
  int64_t relocation_bytes = 0; // of one relocated reference in a loaded program

  // Returns the number of the function that contains a place.
  std::optional<size_t> function_of(Place) const;
  // To be called once, after all functions were added.
  void index_functions();

private:
  std::vector<std::pair<Place, size_t>> function_at; // ordered by their beginnings
};

// The sections of an object file, numbered in the file's order.
class Sections {
public:
  explicit Sections(const llvm::object::ObjectFile &);

  size_t number(const llvm::object::SectionRef &section) const { return numbers.lookup(section.getRawDataRefImpl().p); }
  const llvm::object::SectionRef &operator[](size_t number) const { return all[number]; }
  auto begin() const { return all.begin(); }
  auto end() const { return all.end(); }

private:
  std::vector<llvm::object::SectionRef> all;
  llvm::DenseMap<uintptr_t, size_t> numbers;
};

// Readers of a format's symbols, sections and relocations. A symbol is passed with its section and its bytes.
struct FormatReaders {
  llvm::function_ref<void(const llvm::object::SymbolRef &, const llvm::object::SectionRef &, uint64_t)> symbol;
  llvm::function_ref<ObjectParts::Section(const llvm::object::SectionRef &)> section;
  llvm::function_ref<ObjectParts::Reference(const llvm::object::SectionRef &, const llvm::object::RelocationRef &)>
      reference;
};

// Reads all symbols in sections except those for debuggers, then the sections, and for an object the references from
// loaded sections. For formats whose relocations belong to the section that they change: Mach-O and COFF.
void read_parts(ObjectParts &, const llvm::object::ObjectFile &, const Sections &, FormatReaders);

ObjectParts elf_parts(const llvm::object::ELFObjectFileBase &, bool position_independent);
ObjectParts mach_o_parts(const llvm::object::MachOObjectFile &);
ObjectParts coff_parts(const llvm::object::COFFObjectFile &);
ObjectParts wasm_parts(const llvm::object::WasmObjectFile &);

// Returns the bytes of a section's different entries, because linkers merge equal ones.
// `strings` end with an entry of zeros.
uint64_t merged_bytes(llvm::StringRef content, uint64_t entry, bool strings);

// A function's record in .eh_frame (FDE): its offset in the section, and its bytes.
struct FrameRecord {
  uint64_t begin;
  int64_t bytes;
  uint64_t function_field; // the offset of the function's address
};
std::vector<FrameRecord> frame_records(llvm::StringRef content, bool little_endian);

// Adds the frames of a section .eh_frame whose addresses of functions are references, and returns their bytes, with
// `header` for each in another table.
int64_t add_frames(ObjectParts &, size_t section, llvm::StringRef content, bool little_endian, int64_t header);

// Returns a signed number in a field of a section; 0 if the field begins or ends beyond the section.
int64_t number_at(llvm::StringRef content, uint64_t offset, unsigned bytes);

template <class T> T checked(llvm::Expected<T> value) {
  if (!value)
    throw InputError(toString(value.takeError()));
  return std::move(*value);
}

} // namespace burnish
