#include "network.h"

#include "module.h"

#include <algorithm>
#include <cmath>

namespace burnish {
namespace {

constexpr float EPSILON = 1e-5f; // of torch's LayerNorm

std::vector<float> transformed(const Dense &layer, const std::vector<float> &x) {
  std::vector<float> y(layer.bias.size(), 0.0f);
  const float *weight = layer.weight.data();
  for (float value : x)
    for (float &sum : y)
      sum += value * *weight++;
  for (size_t i = 0; i < y.size(); ++i)
    y[i] += layer.bias[i];
  return y;
}

void normalize(const Dense &layer, std::vector<float> &y) {
  float mean = 0, square = 0, count = float(y.size());
  for (float value : y)
    mean += value;
  for (float &value : y) {
    value -= mean / count;
    square += value * value;
  }
  float deviation = std::sqrt(square / count + EPSILON);
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = y[i] / deviation * layer.norm_weight[i] + layer.norm_bias[i];
}

bool finite(const std::vector<float> &values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

} // namespace

Network::Network(Input input, Activation activation, std::vector<Dense> layers)
    : input_(std::move(input)), activation_(activation), layers_(std::move(layers)) {
  check();
}

void Network::check() const {
  size_t features = input_.mean.size(), width = features * (input_.scale == Scale::quantiles ? 4 : 1);
  bool fits = features && input_.deviation.size() == features && !layers_.empty() &&
              input_.boundaries.size() == features * input_.steps &&
              (input_.steps > 0) == (input_.scale == Scale::quantiles);
  bool numbers = finite(input_.mean) && finite(input_.deviation) && finite(input_.boundaries);
  for (const Dense &layer : layers_) {
    size_t outputs = layer.bias.size(), norm = layer.norm_weight.size();
    fits = fits && outputs && layer.weight.size() == width * outputs && layer.norm_bias.size() == norm &&
           (norm == 0 || norm == outputs);
    numbers =
        numbers && finite(layer.weight) && finite(layer.bias) && finite(layer.norm_weight) && finite(layer.norm_bias);
    width = outputs;
  }
  if (!fits)
    throw InputError("the shapes of the network's arrays do not fit each other");
  if (!numbers)
    throw InputError("the network has weights that are no finite numbers");
}

std::vector<float> Network::scaled(const float *features) const {
  size_t count = inputs();
  std::vector<float> x(count);
  for (size_t i = 0; i < count; ++i) {
    float value = features[i];
    if (input_.scale == Scale::log1p)
      value = std::copysign(std::log1p(std::fabs(value)), value);
    x[i] = (value - input_.mean[i]) / input_.deviation[i];
  }
  if (input_.scale != Scale::quantiles)
    return x;
  std::vector<float> all(4 * count);
  for (size_t i = 0; i < count; ++i) {
    const float *first = &input_.boundaries[i * input_.steps], *last = first + input_.steps;
    float share = float(std::upper_bound(first, last, features[i]) - first) / float(input_.steps);
    all[i] = share;
    all[count + i] = share * share;
    all[2 * count + i] = std::sqrt(share);
    all[3 * count + i] = x[i];
  }
  return all;
}

std::vector<float> Network::evaluate(const int64_t *features) const {
  return evaluate(std::vector<float>(features, features + inputs()).data());
}

std::vector<float> Network::evaluate(const float *features) const {
  std::vector<float> x = scaled(features);
  for (const Dense &layer : layers_) {
    x = transformed(layer, x);
    if (!layer.norm_weight.empty())
      normalize(layer, x);
    if (&layer == &layers_.back())
      break;
    for (float &value : x)
      value = activation_ == Activation::tanh ? std::tanh(value) : value > 0 || std::isnan(value) ? value : 0.0f;
  }
  return x;
}

size_t Network::choose(const int64_t *features) const {
  std::vector<float> outputs = evaluate(features);
  size_t best = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (std::isnan(outputs[i]))
      return 0;
    if (outputs[i] > outputs[best])
      best = i;
  }
  return std::isfinite(outputs[best]) ? best : 0;
}

} // namespace burnish
