// The Python bindings of the native core: burnish._native. Every call releases the GIL.
#include "assembly.h"
#include "attributes.h"
#include "bind_codegen.h"
#include "bind_inlining.h"
#include "bind_jit.h"
#include "bind_network.h"
#include "bind_objects.h"
#include "bind_values.h"
#include "codegen.h"
#include "counts.h"
#include "debug_info.h"
#include "embedding.h"
#include "features.h"
#include "graph.h"
#include "groups.h"
#include "levels.h"
#include "module.h"
#include "part.h"
#include "passes.h"
#include "run_time.h"
#include "spawn.h"
#include "thin_link.h"
#include "wrapped.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;
using burnish::BackEnd;
using burnish::decoded;
using burnish::encoded;
using burnish::matrix;
using burnish::Matrix;
using burnish::Module;
using burnish::Vector;
using burnish::vector;

namespace {

using Vectors = nb::ndarray<nb::numpy, float, nb::ndim<2>>;
using Without = nb::call_guard<nb::gil_scoped_release>;

template <class Error> void translate(nb::module_ &m, const char *name, PyObject *base) {
  static PyObject *type; // of each Error
  type = nb::exception<Error>(m, name, base).ptr();
  nb::register_exception_translator([](const std::exception_ptr &error, void *) {
    try {
      std::rethrow_exception(error);
    } catch (const Error &raised) {
      std::string_view text = raised.what(); // for people, so bytes that are not UTF-8 are escaped
      auto message = nb::steal(PyUnicode_DecodeUTF8(text.data(), text.size(), "backslashreplace"));
      PyErr_SetObject(type, message.ptr());
    }
  });
}

nb::bytes to_bytes(const std::string &text) { return nb::bytes(text.data(), text.size()); }

Vector opcode_counts(const Module &module, const std::optional<nb::str> &function) {
  std::vector<int64_t> values(burnish::opcode_count_size);
  std::string name = function ? encoded(*function) : "";
  burnish::opcode_counts(module, function ? &name : nullptr, values.data());
  return vector(std::move(values));
}

Vector autophase(const Module &module) {
  std::vector<int64_t> values(burnish::autophase_size);
  burnish::autophase(module, values.data());
  return vector(std::move(values));
}

Matrix function_properties(Module &module) {
  std::vector<int64_t> rows;
  burnish::function_properties(module, rows);
  return matrix(std::move(rows), burnish::function_property_names().size());
}

using GraphTuple = nb::typed<nb::tuple, Matrix, Matrix, nb::typed<nb::list, nb::str>>;

// The GIL is released while `make` reads the module.
template <class Make> GraphTuple graph_tuple(size_t columns, Make &&make) {
  burnish::Graph graph;
  {
    nb::gil_scoped_release release;
    graph = make();
  }
  return nb::make_tuple(matrix(std::move(graph.nodes), columns),
                        matrix(std::move(graph.edges), burnish::graph_edge_columns), decoded(graph.texts));
}

GraphTuple program_graph(const Module &module, bool types) {
  return graph_tuple(burnish::program_graph_columns, [&] { return burnish::program_graph(module, types); });
}

GraphTuple block_graph(const Module &module) {
  return graph_tuple(burnish::block_graph_columns, [&] { return burnish::block_graph(module); });
}

GraphTuple call_graph(const Module &module) {
  return graph_tuple(burnish::call_graph_columns, [&] { return burnish::call_graph(module); });
}

nb::typed<nb::tuple, Vector, nb::typed<nb::list, nb::str>> instruction_sequence(const Module &module) {
  burnish::Sequence sequence;
  {
    nb::gil_scoped_release release;
    sequence = burnish::instruction_sequence(module);
  }
  return nb::make_tuple(vector(std::move(sequence.tokens)), decoded(sequence.texts));
}

nb::bytes part_bitcode(const Module &module, nb::str name) {
  std::string function = encoded(name), bytes;
  {
    nb::gil_scoped_release release;
    bytes = burnish::part_bitcode(module, function);
  }
  return to_bytes(bytes);
}

std::vector<nb::bytes> thin_link(const std::vector<const Module *> &parts) {
  std::vector<std::string> modules;
  {
    nb::gil_scoped_release release;
    modules = burnish::thin_link(parts);
  }
  std::vector<nb::bytes> contents;
  for (const std::string &module : modules)
    contents.push_back(to_bytes(module));
  return contents;
}

nb::bytes bitcode(const Module &module) {
  const std::string *bytes;
  {
    nb::gil_scoped_release release;
    bytes = &module.bitcode();
  }
  return to_bytes(*bytes);
}

template <std::vector<float> (burnish::SeedVectors::*compute)(const Module &, bool) const>
Vectors vectors(const burnish::SeedVectors &seed, const Module &module, bool flow_aware) {
  std::vector<float> rows;
  {
    nb::gil_scoped_release release;
    rows = (seed.*compute)(module, flow_aware);
  }
  return matrix(std::move(rows), seed.dimension());
}

bool run(Module &module, const std::string &pipeline, const std::string &level,
         const std::optional<nb::typed<nb::sequence, nb::str>> &functions) {
  std::vector<std::string> names;
  if (functions)
    for (nb::handle name : *functions)
      names.push_back(encoded(name));
  nb::gil_scoped_release release;
  return burnish::run_pipeline(module, pipeline, level, functions ? &names : nullptr);
}

nb::bytes emit(const Module &module, const BackEnd &back_end) {
  std::string bytes;
  {
    nb::gil_scoped_release release;
    bytes = burnish::emit_object(module, back_end);
  }
  return to_bytes(bytes);
}

nb::bytes emit_at_level(const Module &module, const std::string &level, const std::string &cpu) {
  BackEnd back_end;
  back_end.level = level;
  back_end.cpu = cpu;
  return emit(module, back_end);
}

void init_module(Module *self, nb::bytes content, const std::string &name) {
  std::string_view bytes(content.c_str(), content.size());
  nb::gil_scoped_release release;
  new (self) Module(bytes, name);
}

} // namespace

NB_MODULE(_native, m) {
  burnish::install_fatal_error_handler();
  translate<burnish::InputError>(m, "InputError", PyExc_ValueError);
  translate<burnish::PipelineError>(m, "PipelineError", PyExc_ValueError);
  translate<burnish::FatalError>(m, "FatalError", PyExc_RuntimeError);

  burnish::bind_jit(m);

  nb::class_<Module>(m, "Module")
      .def("__init__", &init_module, "content"_a, "name"_a = "input")
      .def("bitcode", &bitcode)
      .def(
          "print", [](const Module &module) { return decoded(module.print()); }, nb::sig("def print(self) -> str"))
      .def("digest", &Module::digest, Without())
      .def("structural_hash", &Module::structural_hash, Without())
      .def(
          "structural_hashes", [](const Module &module) { return decoded(module.structural_hashes()); },
          nb::sig("def structural_hashes(self) -> list[tuple[str, int]]"))
      .def("verify", &Module::verify, Without())
      .def("clone", &Module::clone, Without())
      .def(
          "extract", [](const Module &module, nb::str name) { return module.extract(encoded(name)); }, "function"_a)
      .def("part_bitcode", &part_bitcode, "function"_a)
      .def_static("link", &Module::link, "parts"_a, "internalize"_a = false, Without())
      .def_static("thin_link", &thin_link, "parts"_a)
      .def_prop_ro(
          "functions", [](const Module &module) { return decoded(module.functions()); },
          nb::sig("def functions(self) -> list[str]"))
      .def_prop_ro(
          "linkonce_functions", [](const Module &module) { return decoded(module.linkonce_functions()); },
          nb::sig("def linkonce_functions(self) -> list[str]"))
      .def(
          "has_function", [](const Module &module, nb::str name) { return module.has_function(encoded(name)); },
          "name"_a) // with a body
      .def_prop_ro("triple", &Module::triple)
      .def_prop_ro("position_independent", &Module::position_independent)
      .def("number_on", &Module::number_on)
      .def_prop_ro("has_back_end", [](const Module &module) { return module.find_target() != nullptr; })
      .def("run", &run, "pipeline"_a, "level"_a = "Oz", "functions"_a = nb::none())
      .def("set_level_attributes", &burnish::set_level_attributes, "level"_a, Without())
      .def_prop_ro("assembly_names_symbols", &burnish::assembly_names_symbols)
      .def_prop_ro("has_unwind_tables", &burnish::has_unwind_tables)
      .def("drop_unwind_tables", &burnish::drop_unwind_tables, Without())
      .def("forbid_builtins", &burnish::forbid_builtins, "names"_a, Without())
      .def("use_gnu_eabi", &burnish::use_gnu_eabi, Without())
      .def("refer_to_wrappers", &burnish::refer_to_wrappers, "names"_a, Without())
      .def("refer_to_wrapped", &burnish::refer_to_wrapped, "names"_a, Without())
      .def_prop_ro("has_debug_info", &burnish::has_debug_info)
      .def("drop_debug_info", &burnish::drop_debug_info, Without())
      .def("join_groups", &burnish::join_groups, Without())
      .def("separate_strings", &burnish::separate_strings, Without())
      .def("honour_mandatory", &burnish::honour_mandatory, Without())
      .def(
          "with_counts",
          [](const Module &module, const std::string &level, const std::string &path, bool samples, bool discriminators,
             bool infers) {
            auto kind = samples ? burnish::ProfileKind::samples : burnish::ProfileKind::counters;
            return burnish::with_counts(module, level, {kind, path, discriminators, infers});
          },
          "level"_a, "path"_a, "samples"_a = false, "discriminators"_a = false, "infers"_a = false, Without())
      .def(
          "with_small_cold_functions",
          [](const Module &module, const std::string &level, bool seldom, bool inlined) {
            auto cold = !seldom ? burnish::Cold::llvms : inlined ? burnish::Cold::seldom : burnish::Cold::not_inlined;
            return burnish::with_small_cold_functions(module, level, cold);
          },
          "level"_a, "seldom"_a = true, "inlined"_a = true, Without())
      .def_prop_ro("total_count", [](const Module &module) { return burnish::total_count(module.ir()); })
      .def_prop_ro("has_settled_functions",
                   [](const Module &module) { return burnish::has_settled_functions(module.ir()); })
      .def("instruction_count", &burnish::instruction_count)
      .def(
          "instruction_count_by_function",
          [](const Module &module) { return decoded(burnish::instruction_count_by_function(module)); },
          nb::sig("def instruction_count_by_function(self) -> list[tuple[str, int]]"))
      .def(
          "expected_run_time", [](const Module &module) { return decoded(burnish::expected_run_time(module)); },
          nb::sig("def expected_run_time(self) -> list[tuple[str, float]]"))
      .def("opcode_counts", &opcode_counts, "function"_a = nb::none())
      .def("autophase", &autophase)
      .def("function_properties", &function_properties)
      .def("program_graph", &program_graph, "types"_a = false) // nodes, edges, texts
      .def("block_graph", &block_graph)
      .def("call_graph", &call_graph)
      .def("instruction_sequence", &instruction_sequence) // numbers of texts, texts
      .def("emit_object", &emit_at_level, "level"_a, "cpu"_a = "")
      .def("emit_object", &emit, "back_end"_a);

  using burnish::SeedVectors;
  nb::class_<SeedVectors>(m, "SeedVectors")
      .def(nb::init<const std::string &>(), "path"_a, Without())
      .def_prop_ro("dimension", &SeedVectors::dimension)
      .def("instructions", &vectors<&SeedVectors::instructions>, "module"_a, "flow_aware"_a = true)
      .def("functions", &vectors<&SeedVectors::functions>, "module"_a, "flow_aware"_a = true);

  burnish::bind_objects(m);
  burnish::bind_network(m); // networks and seed vectors come before the bindings that take them
  burnish::bind_inlining(m);
  burnish::bind_codegen(m);

  m.def("ir2vec_entities", &burnish::ir2vec_entities);
  m.def("check_pipeline", &burnish::check_pipeline, "pipeline"_a, "function_level"_a = false);
  m.def("pass_catalogue", &burnish::pass_catalogue);
  m.def("opcode_count_names", &burnish::opcode_count_names);
  m.def("function_property_names", &burnish::function_property_names);
  m.def("llvm_version", &burnish::llvm_version);
  m.def("warnings_so_far", &burnish::warnings_so_far);
  // The process id, and a descriptor; or a negative errno.
  m.def(
      "spawn",
      [](const std::string &executable, const std::vector<std::string> &arguments,
         const std::vector<std::string> &environment, const std::string &directory, int input, int output, int errors,
         const std::vector<std::pair<int, uint64_t>> &limits, int cpu) {
        return burnish::spawn({executable, arguments, environment, directory, input, output, errors, limits, cpu});
      },
      "executable"_a, "arguments"_a, "environment"_a, "directory"_a, "input"_a, "output"_a, "errors"_a, "limits"_a,
      "cpu"_a = -1, Without());
  m.def("open_counter", &burnish::open_counter, "type"_a, "config"_a);
}
