// Small feed-forward networks that choose by features of a program, in the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace burnish {

enum class Scale { none, log1p, quantiles };
enum class Activation { relu, tanh };

// The transformation of features before the first layer; all parameters are per feature.
//   none, log1p: (scaled - mean) / deviation, where log1p is sign(x) log(1 + |x|)
//   quantiles: four values for each feature: all q, all q * q, all sqrt(q), then all (x - mean) / deviation, where q is
//   the share of the `steps` boundaries that are not above x
struct Input {
  Scale scale = Scale::none;
  std::vector<float> mean, deviation;
  std::vector<float> boundaries; // [features][steps], ascending
  size_t steps = 0;
};

// x * weight + bias, then an optional layer norm.
struct Dense {
  std::vector<float> weight; // [inputs][outputs]
  std::vector<float> bias;   // [outputs]
  std::vector<float> norm_weight, norm_bias;
};

// burnish.policies.arrays computes the same in numpy. An activation follows every layer except the last.
class Network {
public:
  // Throws InputError if shapes do not match or a number is not finite.
  Network(Input input, Activation activation, std::vector<Dense> layers);

  size_t inputs() const { return input_.mean.size(); }
  size_t outputs() const { return layers_.back().bias.size(); }

  // Returns the outputs for one row of features; sums are float32, in the order of the inputs.
  std::vector<float> evaluate(const float *features) const;
  std::vector<float> evaluate(const int64_t *features) const;
  // Returns the index of the first largest output; 0 if that is undefined: one is NaN, or all are infinite.
  size_t choose(const int64_t *features) const;

private:
  std::vector<float> scaled(const float *features) const;
  void check() const;

  Input input_;
  Activation activation_;
  std::vector<Dense> layers_;
};

} // namespace burnish
