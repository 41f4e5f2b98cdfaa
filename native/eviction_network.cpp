#include "eviction_network.h"

#include "mixing.h"
#include "module.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace burnish {
namespace {

constexpr float MOST = 1e6f, LEAST_SCORE = std::numeric_limits<float>::lowest();
constexpr int LAST_SLOT = eviction_slots - 1;

int features() { return static_cast<int>(eviction_feature_names().size()); }

} // namespace

std::vector<std::string> eviction_input_names() {
  std::vector<std::string> all = eviction_feature_names(), names(all.begin() + 1, all.end() - 1);
  for (size_t i = 1; i + 1 < all.size(); ++i)
    names.push_back("wanting_" + all[i]);
  names.insert(names.end(), {all.back(), "place", "is_wanting", "is_llvms"});
  return names;
}

std::vector<float> eviction_inputs(std::span<const float> row, int slot, int llvms) {
  static const int of_slots = features() - 1;
  std::vector<float> inputs;
  inputs.reserve(2 * of_slots + 2);
  for (int at : {slot, LAST_SLOT})
    for (int i = 1; i < of_slots; ++i)
      inputs.push_back(row[i * eviction_slots + at]);
  inputs.push_back(row.back());
  inputs.push_back(float(slot) / float(LAST_SLOT));
  inputs.push_back(slot == LAST_SLOT ? 1.0f : 0.0f);
  inputs.push_back(slot == llvms ? 1.0f : 0.0f);
  for (float &value : inputs)
    value = std::isnan(value) ? 0.0f : std::clamp(value, -MOST, MOST);
  return inputs;
}

EvictionNetwork::EvictionNetwork(std::shared_ptr<const Network> given) : network(std::move(given)) {
  size_t expected = eviction_input_names().size();
  if (network->inputs() != expected || network->outputs() != 1)
    throw InputError("a network for evictions takes " + std::to_string(expected) + " features and has 1 output, not " +
                     std::to_string(network->inputs()) + " and " + std::to_string(network->outputs()));
}

std::vector<float> EvictionNetwork::scores(std::span<const float> row, int llvms) const {
  std::vector<float> found(eviction_slots, -std::numeric_limits<float>::infinity());
  for (int slot = 0; slot < eviction_slots; ++slot)
    if (row[slot]) {
      float score = network->evaluate(eviction_inputs(row, slot, llvms).data())[0];
      found[slot] = std::isnan(score) ? LEAST_SCORE : std::max(score, LEAST_SCORE);
    }
  return found;
}

int EvictionNetwork::choose(std::span<const float> row, int llvms) const {
  std::vector<float> found = scores(row, llvms);
  return int(std::max_element(found.begin(), found.end()) - found.begin());
}

int EvictionNetwork::draw(std::span<const float> row, int llvms, uint64_t chance) const {
  std::vector<float> found = scores(row, llvms);
  double best = *std::max_element(found.begin(), found.end()), sum = 0;
  for (float score : found)
    sum += std::exp(score - best);
  double left = double(chance >> 11) * 0x1p-53 * sum;
  int last = 0;
  for (int slot = 0; slot < eviction_slots; ++slot)
    if (row[slot]) {
      last = slot;
      left -= std::exp(found[slot] - best);
      if (left < 0)
        break;
    }
  return last;
}

int NetworkEvictions::decide(const Eviction &asked) {
  if (!seed)
    return network.choose(asked.row, asked.llvms);
  if (asked.function != function) {
    function = asked.function;
    count = llvm::xxh3_64bits(llvm::StringRef(function));
  }
  return network.draw(asked.row, asked.llvms, mixed(mixed(*seed) ^ mixed(count++)));
}

int EvictionLog::decide(const Eviction &asked) {
  functions.push_back(asked.function);
  rows.insert(rows.end(), asked.row.begin(), asked.row.end());
  llvms.push_back(asked.llvms);
  chosen.push_back(policy ? policy->decide(asked) : -1);
  return int(chosen.back());
}

} // namespace burnish
