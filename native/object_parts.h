// The parts of an object file that its sizes are made of, in the same terms for each format.
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
} // namespace llvm::object

namespace burnish {

// A place in an object file: the number of a section, and an offset in it.
using Place = std::pair<size_t, uint64_t>;

struct ObjectParts {
  enum class Kind { NotLoaded, Code, ReadOnly, Data, Unwind };

  struct Section {
    Kind kind = Kind::NotLoaded;
    bool zeros = false; // the file has its size alone
    uint64_t size = 0;  // in the object file
    int64_t bytes = 0;  // in a linked program
  };
  struct Function {
    std::string name; // the symbol's
    Place begin;
    int64_t size;
  };
  // From a section that is loaded. `to` is missing where the target is in another object.
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
  // What an unwind table says about one function.
  struct Frame {
    Place begin;
    std::optional<size_t> function;
    int64_t bytes; // of the function alone
  };

  std::vector<Section> sections;
  std::vector<Function> functions; // as in the symbol table
  std::vector<Reference> references;
  std::vector<Named> data;
  std::vector<Frame> frames;
  int64_t text_bytes = 0;       // of executable sections
  int64_t relocation_bytes = 0; // that loading a program needs for each relocated reference

  // The number of the function that a place is in.
  std::optional<size_t> function_of(Place) const;
  // To be called once, when all functions are there.
  void index_functions();

private:
  std::vector<std::pair<Place, size_t>> function_at; // by where they begin
};

// The sections of an object file, numbered in their order there.
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

// What a format's symbols, sections and relocations mean. A symbol comes with its section and its bytes.
struct FormatReaders {
  llvm::function_ref<void(const llvm::object::SymbolRef &, const llvm::object::SectionRef &, uint64_t)> symbol;
  llvm::function_ref<ObjectParts::Section(const llvm::object::SectionRef &)> section;
  llvm::function_ref<ObjectParts::Reference(const llvm::object::SectionRef &, const llvm::object::RelocationRef &)>
      reference;
};

// Reads all symbols in sections but those for debuggers, then the sections, and of an object the references from those
// that are loaded. For formats whose relocations belong to the section that they change: Mach-O and COFF.
void read_parts(ObjectParts &, const llvm::object::ObjectFile &, const Sections &, FormatReaders);

ObjectParts elf_parts(const llvm::object::ELFObjectFileBase &, bool position_independent);
ObjectParts mach_o_parts(const llvm::object::MachOObjectFile &);
ObjectParts coff_parts(const llvm::object::COFFObjectFile &);

// Bytes of a section's entries without those that are there already: linkers merge equal ones.
// `strings` end with an entry of zeros.
uint64_t merged_bytes(llvm::StringRef content, uint64_t entry, bool strings);

// A record of .eh_frame about a function, FDE: where it is in the section, and its bytes.
struct FrameRecord {
  uint64_t begin;
  int64_t bytes;
  uint64_t function_field; // where its address is
};
std::vector<FrameRecord> frame_records(llvm::StringRef content, bool little_endian);

// Adds the frames of a section .eh_frame whose addresses of functions are references, and returns their bytes, with
// `header` for each in another table.
int64_t add_frames(ObjectParts &, size_t section, llvm::StringRef content, bool little_endian, int64_t header);

// A signed number in a field of a section; 0 where the field begins or ends beyond the section.
int64_t number_at(llvm::StringRef content, uint64_t offset, unsigned bytes);

template <class T> T checked(llvm::Expected<T> value) {
  if (!value)
    throw InputError(toString(value.takeError()));
  return std::move(*value);
}

} // namespace burnish
