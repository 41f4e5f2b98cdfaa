#include "bind_codegen.h"

#include "bind_values.h"
#include "decisions.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace burnish {
namespace {

using Row = nb::ndarray<nb::numpy, const float, nb::ndim<1>>;
using Policy = nb::typed<nb::callable, int>;

// Function, which is "" for all that are not named: names of skipped passes; 0, 1 or 2 of Priority; its seed.
using ByFunction = nb::typed<nb::dict, nb::str, nb::typed<nb::tuple, nb::typed<nb::sequence, nb::str>, int, int>>;

Decisions decisions(const ByFunction &given, bool outline) {
  Decisions found;
  found.outline = outline;
  for (auto [name, value] : given) {
    std::string function = encoded(name);
    FunctionDecisions &one = function.empty() ? found.others : found.functions[function];
    auto tuple = nb::cast<nb::tuple>(value);
    for (nb::handle pass : nb::cast<nb::sequence>(tuple[0]))
      one.skipped.insert(nb::cast<std::string>(pass));
    int priority = nb::cast<int>(tuple[1]);
    if (priority < 0 || priority > static_cast<int>(Priority::noisy))
      throw InputError("priority " + std::to_string(priority) + " is none of 0, 1, 2");
    one.priority = static_cast<Priority>(priority);
    one.seed = nb::cast<uint64_t>(tuple[2]);
  }
  return found;
}

// Asks Python, and keeps what it raises until LLVM has come back.
class Asked final : public EvictionPolicy {
public:
  explicit Asked(nb::callable policy) : policy(std::move(policy)) {}

  int decide(const std::string &function, std::span<const float> row) override {
    nb::gil_scoped_acquire acquire;
    auto *kept = new std::vector<float>(row.begin(), row.end());
    Row values(kept->data(), {kept->size()}, keeping(kept));
    nb::object slot = policy(decoded(function), values);
    return slot.is_none() ? -1 : nb::cast<int>(slot);
  }

private:
  nb::callable policy;
};

Generated generate_code(const Module &module, const BackEnd &back_end, const ByFunction &given, bool outline,
                        bool scores, bool gate, const std::optional<nb::callable> &evict) {
  Decisions found = decisions(given, outline);
  std::optional<Asked> policy;
  if (evict)
    policy.emplace(*evict);
  nb::gil_scoped_release release;
  return generate(module, back_end, found, {scores, gate, policy ? &*policy : nullptr});
}

} // namespace

void bind_codegen(nb::module_ &m) {
  nb::class_<BackEnd>(m, "BackEnd")
      .def(nb::init<>())
      .def_rw("level", &BackEnd::level)
      .def_rw("cpu", &BackEnd::cpu)
      .def_rw("function_sections", &BackEnd::function_sections)
      .def_rw("data_sections", &BackEnd::data_sections)
      .def_rw("unique_section_names", &BackEnd::unique_section_names)
      .def_rw("address_significance", &BackEnd::address_significance)
      .def_rw("call_site_info", &BackEnd::call_site_info)
      .def_rw("debugger", &BackEnd::debugger);
  nb::class_<Generated>(m, "Generated")
      .def_prop_ro("object", [](const Generated &made) { return nb::bytes(made.object.data(), made.object.size()); })
      .def_prop_ro(
          "allocation_scores", [](const Generated &made) { return decoded(made.allocation_scores); },
          nb::sig("def allocation_scores(self) -> list[tuple[str, float]]"))
      .def_prop_ro(
          "executed", [](const Generated &made) { return decoded(made.executed); },
          nb::sig("def executed(self) -> list[tuple[str, float]]"))
      .def_ro("optional", &Generated::optional);
  m.def("generate_code", &generate_code, "module"_a, "back_end"_a, "decisions"_a, "outline"_a = false,
        "scores"_a = false, "gate"_a = false, "evict"_a = nb::none(),
        nb::sig("def generate_code(module: Module, back_end: BackEnd, decisions: collections.abc.Mapping[str, tuple["
                "collections.abc.Sequence[str], int, int]], outline: bool = False, scores: bool = False, "
                "gate: bool = False, evict: collections.abc.Callable[[str, "
                "typing.Annotated[numpy.typing.NDArray[numpy.float32], dict(shape=(None,), writable=False)]], "
                "int | None] | None = None) -> Generated"));
  m.def("eviction_feature_names", &eviction_feature_names);
  m.attr("EVICTION_SLOTS") = eviction_slots;
}

} // namespace burnish
