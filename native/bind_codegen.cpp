#include "bind_codegen.h"

#include "bind_values.h"
#include "block_counts.h"
#include "decisions.h"
#include "eviction_network.h"
#include "profile.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>

namespace nb = nanobind;
using namespace nb::literals;

namespace burnish {
namespace {

using Row = nb::ndarray<nb::numpy, const float, nb::ndim<1>>;
using Policy = nb::callable;
using Evict = std::variant<EvictionNetwork, Policy>;
using Counts = nb::ndarray<const uint64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Slots = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// A function's name, "" for all unnamed ones; then the members of FunctionDecisions in their order.
using Names = nb::typed<nb::sequence, nb::str>;
using ByFunction = nb::typed<nb::dict, nb::str, nb::typed<nb::tuple, Names, Names, bool, int, int, bool>>;

template <class Choice> Choice choice(const char *name, int number, Choice last) {
  if (number < 0 || number > static_cast<int>(last))
    throw InputError(std::string(name) + " " + std::to_string(number) + " is not between 0 and " +
                     std::to_string(static_cast<int>(last)));
  return static_cast<Choice>(number);
}

Decisions decisions(const ByFunction &given, int outline, const std::vector<std::vector<double>> &orders) {
  Decisions found;
  found.outline = choice("outline", outline, Outline::anywhere);
  for (const auto &order : orders) {
    if (order.size() != order_features ||
        !std::all_of(order.begin(), order.end(), [](double w) { return std::isfinite(w); }))
      throw InputError("orders: expected " + std::to_string(order_features) + " finite weights");
    std::copy(order.begin(), order.end(), found.orders.emplace_back().begin());
  }
  for (auto [name, value] : given) {
    std::string function = encoded(name);
    FunctionDecisions &one = function.empty() ? found.others : found.functions[function];
    auto tuple = nb::cast<nb::tuple>(value);
    for (nb::handle pass : nb::cast<nb::sequence>(tuple[0]))
      one.skipped.insert(nb::cast<std::string>(pass));
    for (nb::handle option : nb::cast<nb::sequence>(tuple[1]))
      one.options.insert(nb::cast<std::string>(option));
    one.flat = nb::cast<bool>(tuple[2]);
    one.priority = choice("priority", nb::cast<int>(tuple[3]), Priority::linear);
    one.seed = nb::cast<uint64_t>(tuple[4]);
    one.evicts = nb::cast<bool>(tuple[5]);
    if (one.priority == Priority::linear && one.seed >= found.orders.size())
      throw InputError("order " + std::to_string(one.seed) + " of " + std::to_string(found.orders.size()));
  }
  return found;
}

// Asks Python, and stores an exception until LLVM has returned.
class Asked final : public EvictionPolicy {
public:
  explicit Asked(nb::callable policy) : policy(std::move(policy)) {}

  int decide(const Eviction &asked) override {
    nb::gil_scoped_acquire acquire;
    auto *kept = new std::vector<float>(asked.row.begin(), asked.row.end());
    Row values(kept->data(), {kept->size()}, keeping(kept));
    nb::object slot = policy(decoded(asked.function), values);
    return slot.is_none() ? -1 : nb::cast<int>(slot);
  }

private:
  nb::callable policy;
};

// Leaves the evictions of some functions to LLVM's heuristic, as their decisions say.
class AtFunctions final : public EvictionPolicy {
public:
  AtFunctions(EvictionPolicy &policy, const Decisions &decisions) : policy(policy), decisions(decisions) {}

  int decide(const Eviction &asked) override {
    auto found = decisions.functions.find(asked.function);
    const FunctionDecisions &own = found == decisions.functions.end() ? decisions.others : found->second;
    return own.evicts ? policy.decide(asked) : -1;
  }

private:
  EvictionPolicy &policy;
  const Decisions &decisions;
};

// The result, with the log of eviction questions if it was requested.
struct WithLog : Generated {
  std::optional<EvictionLog> log;
};

WithLog generate_code(const Module &module, const BackEnd &back_end, const ByFunction &given, int outline, bool scores,
                      bool gate, const std::optional<Evict> &evict, std::optional<uint64_t> seed, bool log,
                      const std::optional<Counts> &counts, bool like_stock,
                      const std::vector<std::vector<double>> &orders) {
  Decisions found = decisions(given, outline, orders);
  std::optional<Asked> asked;
  std::optional<NetworkEvictions> network;
  EvictionPolicy *policy = nullptr;
  if (evict && std::holds_alternative<EvictionNetwork>(*evict))
    policy = &network.emplace(std::get<EvictionNetwork>(*evict), seed);
  else if (evict)
    policy = &asked.emplace(std::get<Policy>(*evict));
  std::optional<AtFunctions> at_functions;
  if (policy)
    policy = &at_functions.emplace(*policy, found);
  std::optional<std::vector<uint64_t>> given_counts;
  if (counts)
    given_counts.emplace(counts->data(), counts->data() + counts->size());
  WithLog made;
  if (log)
    policy = &made.log.emplace(policy);
  if (policy)
    policy->like_stock = like_stock;
  nb::gil_scoped_release release;
  static_cast<Generated &>(made) =
      generate(module, back_end, found, {scores, gate, policy, given_counts ? &*given_counts : nullptr});
  return made;
}

nb::object log_of(const WithLog &made) {
  if (!made.log)
    return nb::none();
  auto copied = [](auto values) { return values; };
  return nb::make_tuple(decoded(made.log->functions), matrix(copied(made.log->rows), eviction_row_size()),
                        vector(copied(made.log->llvms)), vector(copied(made.log->chosen)));
}

void check_row(const Rows &rows) {
  if (rows.shape(1) != size_t(eviction_row_size()))
    throw InputError("rows of " + std::to_string(rows.shape(1)) + " features; an eviction has " +
                     std::to_string(eviction_row_size()));
}

auto scores_of(const EvictionNetwork &network, const Rows &rows, const Slots &llvms) {
  check_row(rows);
  if (llvms.shape(0) != rows.shape(0))
    throw InputError(std::to_string(llvms.shape(0)) + " slots of LLVM's for " + std::to_string(rows.shape(0)) +
                     " rows");
  std::vector<float> all;
  for (size_t i = 0; i < rows.shape(0); ++i) {
    std::vector<float> found = network.scores({rows.data() + i * rows.shape(1), rows.shape(1)}, int(llvms.data()[i]));
    all.insert(all.end(), found.begin(), found.end());
  }
  return matrix(std::move(all), eviction_slots);
}

} // namespace

void bind_codegen(nb::module_ &m) {
  m.attr("UNKNOWN_CALLEE") = UNKNOWN_CALLEE;
  m.attr("STACK_USAGE") = STACK_USAGE;
  nb::class_<BackEnd>(m, "BackEnd")
      .def(nb::init<>())
      .def(nb::init<const BackEnd &>())
      .def_rw("level", &BackEnd::level)
      .def_rw("cpu", &BackEnd::cpu)
      .def_rw("function_sections", &BackEnd::function_sections)
      .def_rw("data_sections", &BackEnd::data_sections)
      .def_rw("unique_section_names", &BackEnd::unique_section_names)
      .def_rw("zeros_in_bss", &BackEnd::zeros_in_bss)
      .def_rw("address_significance", &BackEnd::address_significance)
      .def_rw("call_site_info", &BackEnd::call_site_info)
      .def_rw("debugger", &BackEnd::debugger)
      .def_rw("assembly", &BackEnd::assembly)
      .def_rw("stack_usage", &BackEnd::stack_usage);
  nb::class_<EvictionNetwork>(m, "EvictionNetwork")
      .def(nb::init<std::shared_ptr<const Network>>(), "network"_a)
      .def("scores", &scores_of, "rows"_a, "llvms"_a);
  nb::class_<CallCost>(m, "CallCost")
      .def_prop_ro("name", [](const CallCost &call) { return decoded(call.name); })
      .def_ro("recursion", &CallCost::recursion)
      .def_ro("own", &CallCost::own)
      .def_prop_ro(
          "calls", [](const CallCost &call) { return decoded(call.calls); },
          nb::sig("def calls(self) -> list[tuple[str, float]]"))
      .def_ro("known_loops", &CallCost::known_loops)
      .def_ro("unknown_loops", &CallCost::unknown_loops)
      .def_ro("own_by_trips", &CallCost::own_by_trips)
      .def_prop_ro(
          "calls_by_trips", [](const CallCost &call) { return decoded(call.calls_by_trips); },
          nb::sig("def calls_by_trips(self) -> list[tuple[str, float]]"))
      .def_ro("repeats", &CallCost::repeats)
      .def_ro("stack", &CallCost::stack)
      .def_ro("interprets", &CallCost::interprets);
  nb::class_<WithLog>(m, "Generated")
      .def_prop_ro("object", [](const WithLog &made) { return nb::bytes(made.object.data(), made.object.size()); })
      .def_prop_ro(
          "allocation_scores", [](const WithLog &made) { return decoded(made.allocation_scores); },
          nb::sig("def allocation_scores(self) -> list[tuple[str, float]]"))
      .def_prop_ro(
          "executed", [](const WithLog &made) { return decoded(made.executed); },
          nb::sig("def executed(self) -> list[tuple[str, float]]"))
      .def_prop_ro("calls", [](const WithLog &made) { return made.calls; })
      .def_prop_ro(
          "counted_times", [](const WithLog &made) { return decoded(made.counted_times); },
          nb::sig("def counted_times(self) -> list[tuple[str, float]]"))
      .def_prop_ro(
          "counted_scores", [](const WithLog &made) { return decoded(made.counted_scores); },
          nb::sig("def counted_scores(self) -> list[tuple[str, float]]"))
      .def_prop_ro(
          "counted_executed", [](const WithLog &made) { return decoded(made.counted_executed); },
          nb::sig("def counted_executed(self) -> list[tuple[str, float]]"))
      .def_prop_ro(
          "computed_gotos", [](const WithLog &made) { return decoded(made.computed_gotos); },
          nb::sig("def computed_gotos(self) -> list[tuple[str, int]]"))
      .def_prop_ro("optional", [](const WithLog &made) { return made.optional; })
      .def_prop_ro("evictions", &log_of,
                   nb::sig("def evictions(self) -> tuple[list[str], "
                           "typing.Annotated[numpy.typing.NDArray[numpy.float32], dict(shape=(None, None))], "
                           "typing.Annotated[numpy.typing.NDArray[numpy.int64], dict(shape=(None,))], "
                           "typing.Annotated[numpy.typing.NDArray[numpy.int64], dict(shape=(None,))]] | None"));
  m.def("generate_code", &generate_code, "module"_a, "back_end"_a, "decisions"_a, "outline"_a = 0, "scores"_a = false,
        "gate"_a = false, "evict"_a = nb::none(), "seed"_a = nb::none(), "log_evictions"_a = false,
        "counts"_a = nb::none(), "like_stock"_a = false, "orders"_a = std::vector<std::vector<double>>(),
        nb::sig(
            "def generate_code(module: Module, back_end: BackEnd, decisions: collections.abc.Mapping[str, tuple["
            "collections.abc.Sequence[str], collections.abc.Sequence[str], bool, int, int, bool]], outline: int = 0, "
            "scores: bool = False, "
            "gate: bool = False, evict: EvictionNetwork | collections.abc.Callable[[str, "
            "typing.Annotated[numpy.typing.NDArray[numpy.float32], dict(shape=(None,), writable=False)]], "
            "int | None] | None = None, seed: int | None = None, log_evictions: bool = False, "
            "counts: typing.Annotated[numpy.typing.NDArray[numpy.uint64], dict(shape=(None,), order='C', device='cpu', "
            "writable=False)] | None = None, like_stock: bool = False, "
            "orders: collections.abc.Sequence[collections.abc.Sequence[float]] = ()) -> Generated"));
  m.def("order_feature_names", &order_feature_names);
  m.def("eviction_input_names", &eviction_input_names);
  m.def("counting", &counting, "module"_a, "path"_a, nb::call_guard<nb::gil_scoped_release>());
  m.def("count_blocks", &count_blocks, "module"_a);
  m.def("set_profile", &set_profile, "module"_a, "split"_a, "counts"_a);
  m.def("eviction_feature_names", &eviction_feature_names);
  m.attr("EVICTION_SLOTS") = eviction_slots;
}

} // namespace burnish
