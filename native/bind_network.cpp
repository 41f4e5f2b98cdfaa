#include "bind_network.h"

#include "bind_values.h"
#include "module.h"
#include "network.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace burnish {
namespace {

using Numbers = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Layer = std::tuple<Table, Numbers, std::optional<Numbers>, std::optional<Numbers>>;

template <class Array> std::vector<float> values(const Array &array) {
  return std::vector<float>(array.data(), array.data() + array.size());
}

std::vector<float> values(const std::optional<Numbers> &array) { return array ? values(*array) : std::vector<float>(); }

Input made_input(const std::string &scale, const Numbers &mean, const Numbers &deviation,
                 const std::optional<Table> &boundaries) {
  Input input;
  if (scale != "none" && scale != "log1p" && scale != "quantiles")
    throw InputError("scale is '" + scale + "'; expected none, log1p or quantiles");
  input.scale = scale == "none" ? Scale::none : scale == "log1p" ? Scale::log1p : Scale::quantiles;
  input.mean = values(mean);
  input.deviation = values(deviation);
  if (boundaries) {
    input.boundaries = values(*boundaries);
    input.steps = boundaries->shape(1);
  }
  return input;
}

std::shared_ptr<Network> made(const Input &input, const std::string &activation, const std::vector<Layer> &layers) {
  if (activation != "relu" && activation != "tanh")
    throw InputError("activation is '" + activation + "'; expected relu or tanh");
  std::vector<Dense> dense;
  for (const auto &[weight, bias, norm_weight, norm_bias] : layers)
    dense.push_back({values(weight), values(bias), values(norm_weight), values(norm_bias)});
  return std::make_shared<Network>(input, activation == "relu" ? Activation::relu : Activation::tanh, std::move(dense));
}

void check_width(const Network &network, const Rows &rows) {
  if (rows.shape(1) != network.inputs())
    throw InputError("rows of " + std::to_string(rows.shape(1)) + " features, and the network takes " +
                     std::to_string(network.inputs()));
}

auto evaluate(const Network &network, const Rows &rows) {
  check_width(network, rows);
  std::vector<float> all;
  for (size_t i = 0; i < rows.shape(0); ++i) {
    std::vector<float> outputs = network.evaluate(rows.data() + i * rows.shape(1));
    all.insert(all.end(), outputs.begin(), outputs.end());
  }
  return matrix(std::move(all), network.outputs());
}

Vector choose(const Network &network, const Rows &rows) {
  check_width(network, rows);
  std::vector<int64_t> chosen;
  for (size_t i = 0; i < rows.shape(0); ++i)
    chosen.push_back(int64_t(network.choose(rows.data() + i * rows.shape(1))));
  return vector(std::move(chosen));
}

} // namespace

void bind_network(nb::module_ &m) {
  nb::class_<Input>(m, "NetworkInput")
      .def(
          "__init__",
          [](Input *self, const std::string &scale, const Numbers &mean, const Numbers &deviation,
             const std::optional<Table> &boundaries) {
            new (self) Input(made_input(scale, mean, deviation, boundaries));
          },
          "scale"_a, "mean"_a, "deviation"_a, "boundaries"_a.none());
  nb::class_<Network>(m, "Network")
      .def(nb::new_(&made), "input"_a, "activation"_a, "layers"_a)
      .def_prop_ro("inputs", &Network::inputs)
      .def_prop_ro("outputs", &Network::outputs)
      .def("evaluate", &evaluate, "rows"_a)
      .def("choose", &choose, "rows"_a);
}

} // namespace burnish
