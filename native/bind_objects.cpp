#include "bind_objects.h"

#include "bind_values.h"
#include "module.h"
#include "objects.h"
#include "sizes.h"
#include "units.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace burnish {
namespace {

std::string bytes_of(const nb::bytes &content) { return std::string(content.c_str(), content.size()); }

std::string_view view_of(const nb::bytes &content) { return {content.c_str(), content.size()}; }

nb::bytes to_bytes(std::string_view content) { return nb::bytes(content.data(), content.size()); }

// The content is copied when Python asks for it.
struct Section : ElfSection {
  nb::bytes file;
};

std::vector<Section> sections(nb::bytes file) {
  std::vector<Section> found;
  for (ElfSection &section : elf_sections(view_of(file)))
    found.push_back({std::move(section), file});
  return found;
}

std::vector<ElfSymbol> symbols(nb::bytes file, bool dynamic) { return elf_symbols(view_of(file), dynamic); }

nb::bytes add_section(nb::bytes object, nb::str name, nb::bytes content) {
  return to_bytes(with_section(view_of(object), encoded(name), view_of(content)));
}

// A name, where the content begins in the archive, and the content.
using Member = nb::typed<nb::tuple, nb::str, size_t, nb::bytes>;

nb::typed<nb::list, Member> members(nb::bytes archive) {
  nb::list found;
  for (const auto &[name, content] : archive_members(view_of(archive)))
    found.append(nb::make_tuple(decoded(name), content.data() - archive.c_str(), to_bytes(content)));
  return found;
}

nb::typed<nb::list, nb::str> thin_paths(nb::bytes archive) {
  nb::list found;
  for (const std::string &path : thin_archive_paths(view_of(archive)))
    found.append(decoded(path));
  return found;
}

nb::bytes merge(const std::vector<nb::bytes> &units, const std::vector<std::vector<int>> &resolutions) {
  std::vector<std::string> contents;
  for (const nb::bytes &unit : units)
    contents.push_back(bytes_of(unit));
  return to_bytes(merge_units(contents, resolutions));
}

nb::bytes archive(const std::vector<nb::bytes> &objects) {
  std::vector<std::string_view> contents;
  for (const nb::bytes &object : objects)
    contents.push_back(view_of(object));
  return to_bytes(archive_of(contents));
}

nb::bytes replaced(nb::bytes archive, const std::map<std::string, nb::bytes> &contents) {
  std::map<std::string, std::string_view> views;
  for (const auto &[name, content] : contents)
    views[name] = view_of(content);
  return to_bytes(with_members(view_of(archive), views));
}

void bind_files(nb::module_ &m) {
  nb::class_<Section>(m, "ElfSection")
      .def_prop_ro("name", [](const Section &section) { return decoded(section.name); })
      .def_ro("type", &Section::type)
      .def_ro("flags", &Section::flags)
      .def_ro("flags_at", &Section::flags_at)
      .def_ro("size", &Section::size)
      .def_prop_ro("content", [](const Section &section) { return to_bytes(section.content); });
  nb::class_<ElfSymbol>(m, "ElfSymbol")
      .def_prop_ro("name", [](const ElfSymbol &symbol) { return decoded(symbol.name); })
      .def_ro("binding", &ElfSymbol::binding)
      .def_ro("visibility", &ElfSymbol::visibility)
      .def_ro("type", &ElfSymbol::type)
      .def_ro("is_defined", &ElfSymbol::is_defined)
      .def_ro("section", &ElfSymbol::section)
      .def_ro("value", &ElfSymbol::value)
      .def_ro("size", &ElfSymbol::size)
      .def_prop_ro("group", [](const ElfSymbol &symbol) {
        return symbol.group ? std::optional(decoded(*symbol.group)) : std::nullopt;
      });
  m.def("elf_sections", &sections, "file"_a);
  m.def("elf_symbols", &symbols, "file"_a, "dynamic"_a = false);
  m.def(
      "elf_abi", [](nb::bytes object) { return decoded(elf_abi(view_of(object))); }, "object"_a,
      nb::sig("def elf_abi(object: bytes) -> list[tuple[str, int]]"));
  m.def("with_section", &add_section, "object"_a, "name"_a, "content"_a);
  nb::class_<UnitSymbol>(m, "UnitSymbol")
      .def_prop_ro("name", [](const UnitSymbol &symbol) { return decoded(symbol.name); })
      .def_ro("kind", &UnitSymbol::kind)
      .def_ro("visibility", &UnitSymbol::visibility)
      .def_ro("size", &UnitSymbol::size)
      .def_prop_ro("group", [](const UnitSymbol &symbol) { return decoded(symbol.group); });
  m.def("unit_symbols", [](nb::bytes bitcode) { return unit_symbols(bytes_of(bitcode)); }, "bitcode"_a);
  m.def("merge_units", &merge, "units"_a, "resolutions"_a);
  m.def("archive_members", &members, "archive"_a);
  m.def("thin_archive_paths", &thin_paths, "archive"_a);
  m.def("archive_of", &archive, "objects"_a);
  m.def("with_members", &replaced, "archive"_a, "contents"_a);
}

} // namespace

void bind_objects(nb::module_ &m) {
  nb::class_<Sizes>(m, "Sizes")
      .def_ro("object_bytes", &Sizes::object_bytes)
      .def_ro("text_bytes", &Sizes::text_bytes)
      .def_ro("read_only_bytes", &Sizes::read_only_bytes)
      .def_ro("data_bytes", &Sizes::data_bytes)
      .def_ro("ram_bytes", &Sizes::ram_bytes)
      .def_ro("unwind_bytes", &Sizes::unwind_bytes)
      .def_ro("relocation_bytes", &Sizes::relocation_bytes)
      .def_ro("loaded_bytes", &Sizes::loaded_bytes)
      .def_prop_ro(
          "functions", [](const Sizes &sizes) { return decoded(sizes.functions); },
          nb::sig("def functions(self) -> list[tuple[str, int]]"))
      .def_prop_ro(
          "functions_loaded", [](const Sizes &sizes) { return decoded(sizes.functions_loaded); },
          nb::sig("def functions_loaded(self) -> list[tuple[str, int]]"))
      .def_prop_ro(
          "functions_constant", [](const Sizes &sizes) { return decoded(sizes.functions_constant); },
          nb::sig("def functions_constant(self) -> list[tuple[str, int]]"));
  m.def(
      "object_sizes", [](nb::bytes object, bool independent) { return object_sizes(bytes_of(object), independent); },
      "object"_a, "position_independent"_a = true);
  m.def(
      "object_sizes", [](nb::bytes object, const Module &module) { return object_sizes(bytes_of(object), module); },
      "object"_a, "module"_a);
  bind_files(m);
}

} // namespace burnish
