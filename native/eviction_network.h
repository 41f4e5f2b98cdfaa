// A small network that chooses the register allocator's evictions, in the compiling thread.
#pragma once

#include "evictions.h"
#include "network.h"

#include <memory>
#include <optional>

namespace burnish {

// The network's inputs for one slot: LLVM's features of the slot except `mask`; the features of the live range that
// needs a register, under "wanting_"; `progress`; the slot's position in allocation order, from 0 to 1; whether it is
// the last slot; and whether LLVM's heuristic takes it. NaN becomes 0, and magnitudes are limited to 1e6.
std::vector<std::string> eviction_input_names();
std::vector<float> eviction_inputs(std::span<const float> row, int slot, int llvms);

// Scores each slot that the row's mask allows by a network with one output, like ml-compiler-opt's
// rl/regalloc/regalloc_network.py. burnish.tasks.llvm_codegen.policy.scorer computes the same in numpy.
class EvictionNetwork {
public:
  // Throws InputError if the network takes other inputs or has several outputs.
  explicit EvictionNetwork(std::shared_ptr<const Network> network);

  // Returns the score of each slot; -infinity where the mask forbids it. NaN becomes the least score.
  std::vector<float> scores(std::span<const float> row, int llvms) const;
  // Returns the first slot with the largest score.
  int choose(std::span<const float> row, int llvms) const;
  // Draws a slot by the softmax of the scores; `chance` is 64 random bits.
  int draw(std::span<const float> row, int llvms, uint64_t chance) const;

private:
  std::shared_ptr<const Network> network;
};

// A policy that answers by a network. With a seed it draws; the n-th draw in a function is independent of other
// functions.
class NetworkEvictions final : public EvictionPolicy {
public:
  NetworkEvictions(const EvictionNetwork &network, std::optional<uint64_t> seed) : network(network), seed(seed) {}

  int decide(const Eviction &asked) override;

private:
  const EvictionNetwork &network;
  std::optional<uint64_t> seed;
  std::string function; // of the last question
  uint64_t count = 0;   // of answers in it, beginning at a hash of its name
};

// A policy that records all questions and answers.
class EvictionLog final : public EvictionPolicy {
public:
  // Without a policy, LLVM decides.
  explicit EvictionLog(EvictionPolicy *policy) : policy(policy) {}

  int decide(const Eviction &asked) override;

  std::vector<std::string> functions; // [N]
  std::vector<float> rows;            // [N][eviction_row_size()]
  std::vector<int64_t> llvms, chosen; // [N]; `chosen` is -1 where LLVM decided

private:
  EvictionPolicy *policy;
};

} // namespace burnish
