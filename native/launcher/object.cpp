#include "object.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace burnish {
namespace {

// A file in memory, for as long as this lives.
struct Mapped {
  explicit Mapped(const std::string &path) {
    int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat status = {};
    if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      void *at = mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
      if (at != MAP_FAILED)
        content = {static_cast<const char *>(at), static_cast<size_t>(status.st_size)};
    }
    if (descriptor >= 0)
      close(descriptor);
  }
  ~Mapped() {
    if (!content.empty())
      munmap(const_cast<char *>(content.data()), content.size());
  }
  Mapped(const Mapped &) = delete;
  Mapped &operator=(const Mapped &) = delete;

  std::string_view content;
};

template <typename T> bool read_at(std::string_view file, uint64_t offset, T &value) {
  if (offset > file.size() || file.size() - offset < sizeof value)
    return false;
  std::memcpy(&value, file.data() + offset, sizeof value);
  return true;
}

std::string version_in(std::string_view comment) {
  constexpr std::string_view before = "clang version ";
  auto at = comment.find(before);
  if (at == comment.npos)
    return "";
  auto rest = comment.substr(at + before.size());
  return std::string(rest.substr(0, rest.find_first_of(std::string_view(" \0\n", 3))));
}

template <typename Header, typename Section> std::optional<ObjectFacts> read_elf(std::string_view file) {
  Header header;
  if (!read_at(file, 0, header) || header.e_shentsize != sizeof(Section))
    return {};
  Section first;
  uint64_t count = header.e_shnum;
  if (!count && header.e_shoff && read_at(file, header.e_shoff, first))
    count = first.sh_size; // as many as fit no 16 bits
  ObjectFacts facts;
  for (uint64_t i = 0; i < count; ++i) {
    Section section;
    if (!read_at(file, header.e_shoff + i * sizeof section, section))
      return {};
    if (section.sh_flags & SHF_EXECINSTR)
      facts.text_bytes += section.sh_size;
    // strings that the linker may merge: .comment, where clang names itself
    bool strings = section.sh_type == SHT_PROGBITS && !(section.sh_flags & SHF_ALLOC) &&
                   (section.sh_flags & SHF_MERGE) && section.sh_offset <= file.size();
    if (strings && facts.clang.empty())
      facts.clang = version_in(file.substr(section.sh_offset, section.sh_size));
  }
  return facts;
}

} // namespace

std::optional<ObjectFacts> read_object(const std::string &path) {
  Mapped mapped(path);
  auto file = mapped.content;
  if (file.size() < EI_NIDENT || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0 || file[EI_DATA] != ELFDATA2LSB)
    return {};
  return file[EI_CLASS] == ELFCLASS64 ? read_elf<Elf64_Ehdr, Elf64_Shdr>(file) : read_elf<Elf32_Ehdr, Elf32_Shdr>(file);
}

} // namespace burnish
