#include "bind_inlining.h"

#include "bind_values.h"
#include "inlining.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace burnish {
namespace {

using Without = nb::call_guard<nb::gil_scoped_release>;

using Answers = nb::typed<nb::dict, nb::str, bool>;

InlineAnswers native(const Answers &answers) {
  InlineAnswers known;
  for (auto [site, inlined] : answers)
    known.emplace(encoded(site), nb::cast<bool>(inlined));
  return known;
}

void init_inlining(Inlining *self, const Module &module, const std::string &level, const Answers &answers,
                   std::optional<std::shared_ptr<SeedVectors>> seed_vectors) {
  InlineAnswers known = native(answers);
  nb::gil_scoped_release release;
  new (self) Inlining(module, level, std::move(known), seed_vectors.value_or(nullptr));
}

bool run(Module &module, const std::string &pipeline, const std::string &level, const Answers &answers) {
  InlineAnswers known = native(answers);
  nb::gil_scoped_release release;
  return run_with_answers(module, pipeline, level, known);
}

bool reach(Inlining &inlining, nb::str site) {
  std::string name = encoded(site);
  nb::gil_scoped_release release;
  return inlining.reach(name);
}

nb::list sites(const Inlining &inlining, size_t first) {
  nb::list names;
  for (size_t i = first; i < inlining.questions().size(); ++i)
    names.append(decoded(inlining.questions()[i].site));
  return names;
}

Matrix rows(const Inlining &inlining, size_t first) {
  std::vector<int64_t> values;
  for (size_t i = first; i < inlining.questions().size(); ++i) {
    const InlineQuestion &question = inlining.questions()[i];
    values.insert(values.end(), question.features.begin(), question.features.end());
    values.insert(values.end(),
                  {question.heuristic, question.computed, question.cost, question.threshold, question.inlined});
  }
  return matrix(std::move(values), inlining_feature_names().size() + 5);
}

nb::ndarray<nb::numpy, float, nb::ndim<2>> vectors(const Inlining &inlining, size_t first) {
  if (!inlining.seed_vectors())
    throw InputError("the compile began without seed vectors");
  std::vector<float> values;
  for (size_t i = first; i < inlining.questions().size(); ++i) {
    const std::vector<float> &row = inlining.questions()[i].vectors;
    values.insert(values.end(), row.begin(), row.end());
  }
  return matrix(std::move(values), 2 * inlining.seed_vectors()->dimension());
}

} // namespace

void bind_inlining(nb::module_ &m) {
  nb::class_<Inlining>(m, "Inlining")
      .def("__init__", &init_inlining, "module"_a, "level"_a, "answers"_a, "seed_vectors"_a = nb::none())
      .def("ask", &Inlining::ask, Without())
      .def("reach", &reach, "site"_a)
      .def("finish", &Inlining::finish, Without())
      .def("answer", &Inlining::answer, "inlined"_a)
      .def("answer_by", &Inlining::answer_by, "network"_a)
      .def_prop_ro("finished", &Inlining::finished)
      .def_prop_ro("waits", &Inlining::waits)
      .def("__len__", [](const Inlining &inlining) { return inlining.questions().size(); })
      .def("sites", &sites, "first"_a = 0, nb::sig("def sites(self, first: int = 0) -> list[str]"))
      .def("rows", &rows, "first"_a = 0)       // features; heuristic, computed, cost, threshold; inlined
      .def("vectors", &vectors, "first"_a = 0) // the callee's, then the caller's; only with seed vectors
      .def("take", &Inlining::take);
  m.def("run_with_answers", &run, "module"_a, "pipeline"_a, "level"_a, "answers"_a);
  m.def("inlining_feature_names", &inlining_feature_names);
}

} // namespace burnish
