// Small feed-forward networks that choose by features of a program, in whatever thread asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace burnish {

enum class Scale { none, log1p, quantiles };
enum class Activation { relu, tanh };

// What becomes of features before the first layer; all per feature.
//   none, log1p: (scaled - mean) / deviation, where log1p is sign(x) log(1 + |x|)
//   quantiles: with q the share of the `steps` boundaries that are not above x: all q, q * q, sqrt(q), and last
//   (x - mean) / deviation; so four times as many values
struct Input {
  Scale scale = Scale::none;
  std::vector<float> mean, deviation;
  std::vector<float> boundaries; // [features][steps], ascending
  size_t steps = 0;
};

// x * weight + bias; then, where there is one, a layer norm.
struct Dense {
  std::vector<float> weight; // [inputs][outputs]
  std::vector<float> bias;   // [outputs]
  std::vector<float> norm_weight, norm_bias;
};

// burnish.policies.arrays runs the same in numpy. An activation follows every layer but the last.
class Network {
public:
  // Throws InputError where shapes do not fit or a number is not finite.
  Network(Input input, Activation activation, std::vector<Dense> layers);

  size_t inputs() const { return input_.mean.size(); }
  size_t outputs() const { return layers_.back().bias.size(); }

  // Of one row of features; sums are float32, in the order of the inputs.
  std::vector<float> evaluate(const float *features) const;
  std::vector<float> evaluate(const int64_t *features) const;
  // The first of the largest outputs; 0 where that means nothing: one is not a number, or all are infinite.
  size_t choose(const int64_t *features) const;

private:
  std::vector<float> scaled(const float *features) const;
  void check() const;

  Input input_;
  Activation activation_;
  std::vector<Dense> layers_;
};

} // namespace burnish
