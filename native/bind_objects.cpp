#include "bind_objects.h"

#include "bind_values.h"
#include "module.h"
#include "sizes.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace burnish {
namespace {

std::string bytes_of(const nb::bytes &content) { return std::string(content.c_str(), content.size()); }

} // namespace

void bind_objects(nb::module_ &m) {
  nb::class_<Sizes>(m, "Sizes")
      .def_ro("object_bytes", &Sizes::object_bytes)
      .def_ro("text_bytes", &Sizes::text_bytes)
      .def_ro("read_only_bytes", &Sizes::read_only_bytes)
      .def_ro("data_bytes", &Sizes::data_bytes)
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
}

} // namespace burnish
