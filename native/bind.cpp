// The Python face of the native core: burnish._native. Every call releases the GIL.
#include "codegen.h"
#include "features.h"
#include "module.h"
#include "passes.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;
using burnish::Module;

namespace {

using Vector = nb::ndarray<nb::numpy, int64_t, nb::ndim<1>>;
using Matrix = nb::ndarray<nb::numpy, int64_t, nb::ndim<2>>;
using Without = nb::call_guard<nb::gil_scoped_release>;
using Names = std::optional<std::vector<std::string>>;

Vector owned(std::unique_ptr<int64_t[]> values, size_t size) {
  int64_t *data = values.release();
  nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<int64_t *>(p); });
  return Vector(data, {size}, owner);
}

nb::bytes to_bytes(const std::string &text) { return nb::bytes(text.data(), text.size()); }

Vector opcode_counts(const Module &module, const std::optional<std::string> &function) {
  auto values = std::make_unique<int64_t[]>(burnish::opcode_count_size);
  burnish::opcode_counts(module, function ? &*function : nullptr, values.get());
  return owned(std::move(values), burnish::opcode_count_size);
}

Vector autophase(const Module &module) {
  auto values = std::make_unique<int64_t[]>(burnish::autophase_size);
  burnish::autophase(module, values.get());
  return owned(std::move(values), burnish::autophase_size);
}

Matrix function_properties(Module &module) {
  std::vector<int64_t> rows;
  burnish::function_properties(module, rows);
  size_t columns = burnish::function_property_names().size();
  auto values = std::make_unique<int64_t[]>(rows.size());
  std::copy(rows.begin(), rows.end(), values.get());
  int64_t *data = values.release();
  nb::capsule owner(data, [](void *p) noexcept { delete[] static_cast<int64_t *>(p); });
  return Matrix(data, {rows.size() / columns, columns}, owner);
}

nb::bytes bitcode(const Module &module) {
  const std::string *bytes;
  {
    nb::gil_scoped_release release;
    bytes = &module.bitcode();
  }
  return to_bytes(*bytes);
}

nb::bytes emit_object(const Module &module, const std::string &level, const std::string &cpu) {
  std::string bytes;
  {
    nb::gil_scoped_release release;
    bytes = burnish::emit_object(module, level, cpu);
  }
  return to_bytes(bytes);
}

void init_module(Module *self, nb::bytes content, const std::string &name) {
  std::string_view bytes(content.c_str(), content.size());
  nb::gil_scoped_release release;
  new (self) Module(bytes, name);
}

} // namespace

NB_MODULE(_native, m) {
  burnish::install_fatal_error_handler();
  nb::exception<burnish::InputError>(m, "InputError", PyExc_ValueError);
  nb::exception<burnish::PipelineError>(m, "PipelineError", PyExc_ValueError);
  nb::exception<burnish::FatalError>(m, "FatalError", PyExc_RuntimeError);

  nb::class_<Module>(m, "Module")
      .def("__init__", &init_module, "content"_a, "name"_a = "input")
      .def("bitcode", &bitcode)
      .def("print", &Module::print, Without())
      .def("digest", &Module::digest, Without())
      .def("structural_hash", &Module::structural_hash, Without())
      .def("verify", &Module::verify, Without())
      .def("clone", &Module::clone, Without())
      .def("extract", &Module::extract, "function"_a, Without())
      .def_static("link", &Module::link, "parts"_a, "internalize"_a = false, Without())
      .def_prop_ro("functions", &Module::functions)
      .def("has_function", &Module::has_function, "name"_a) // with a body
      .def_prop_ro("triple", &Module::triple)
      .def(
          "run",
          [](Module &module, const std::string &pipeline, const std::string &level, const Names &functions) {
            return burnish::run_pipeline(module, pipeline, level, functions ? &*functions : nullptr);
          },
          "pipeline"_a, "level"_a = "Oz", "functions"_a = nb::none(), Without())
      .def("set_level_attributes", &burnish::set_level_attributes, "level"_a, Without())
      .def("honour_mandatory", &burnish::honour_mandatory, Without())
      .def("instruction_count", &burnish::instruction_count)
      .def("instruction_count_by_function", &burnish::instruction_count_by_function)
      .def("opcode_counts", &opcode_counts, "function"_a = nb::none())
      .def("autophase", &autophase)
      .def("function_properties", &function_properties)
      .def("emit_object", &emit_object, "level"_a, "cpu"_a = "x86-64");

  nb::class_<burnish::Sizes>(m, "Sizes")
      .def_ro("text_bytes", &burnish::Sizes::text_bytes)
      .def_ro("object_bytes", &burnish::Sizes::object_bytes)
      .def_ro("functions", &burnish::Sizes::functions);
  m.def(
      "object_sizes",
      [](nb::bytes object) { return burnish::object_sizes(std::string(object.c_str(), object.size())); },
      "object"_a);
  m.def("check_pipeline", &burnish::check_pipeline, "pipeline"_a, "function_level"_a = false);
  m.def("pass_catalogue", &burnish::pass_catalogue);
  m.def("opcode_count_names", &burnish::opcode_count_names);
  m.def("function_property_names", &burnish::function_property_names);
  m.def("llvm_version", &burnish::llvm_version);
}
