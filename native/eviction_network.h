// A small network that chooses what the register allocator evicts, in the thread that compiles.
#pragma once

#include "evictions.h"
#include "network.h"

#include <memory>
#include <optional>

namespace burnish {

// What the network sees of one slot: LLVM's features of that slot but for `mask`; those of the live range that wants a
// register, under "wanting_"; `progress`; where the slot is in allocation order, from 0 to 1; whether it is the last
// one; and whether it is the one that LLVM's heuristic takes. What is not a number is 0, and no magnitude is above 1e6.
std::vector<std::string> eviction_input_names();
std::vector<float> eviction_inputs(std::span<const float> row, int slot, int llvms);

// Scores each slot that the row's mask allows by one network with one output, as ml-compiler-opt's
// rl/regalloc/regalloc_network.py does. burnish.tasks.llvm_codegen.policy.scorer runs the same in numpy.
class EvictionNetwork {
public:
  // Throws InputError where the network takes other inputs or has several outputs.
  explicit EvictionNetwork(std::shared_ptr<const Network> network);

  // Of each slot; -infinity where the mask forbids it. What is not a number is the least of all.
  std::vector<float> scores(std::span<const float> row, int llvms) const;
  // The first of the largest scores.
  int choose(std::span<const float> row, int llvms) const;
  // By the softmax of the scores; `chance` is 64 random bits.
  int draw(std::span<const float> row, int llvms, uint64_t chance) const;

private:
  std::shared_ptr<const Network> network;
};

// Answers by a network. With a seed it draws: the n-th answer in a function does not depend on other functions.
class NetworkEvictions final : public EvictionPolicy {
public:
  NetworkEvictions(const EvictionNetwork &network, std::optional<uint64_t> seed) : network(network), seed(seed) {}

  int decide(const Eviction &asked) override;

private:
  const EvictionNetwork &network;
  std::optional<uint64_t> seed;
  std::string function; // the last one
  uint64_t count = 0;   // in it, from a hash of its name on
};

// Writes down what is asked and decided.
class EvictionLog final : public EvictionPolicy {
public:
  // Without a policy LLVM decides.
  explicit EvictionLog(EvictionPolicy *policy) : policy(policy) {}

  int decide(const Eviction &asked) override;

  std::vector<std::string> functions; // [N]
  std::vector<float> rows;            // [N][eviction_row_size()]
  std::vector<int64_t> llvms, chosen; // [N]; chosen is -1 where it was left to LLVM

private:
  EvictionPolicy *policy;
};

} // namespace burnish
