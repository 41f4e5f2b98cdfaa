// Code generation in which the caller makes some of LLVM's decisions, for each function.
#pragma once

#include "codegen.h"
#include "evictions.h"
#include "machine_time.h"
#include "module.h"
#include "outlined.h"

#include <array>
#include <set>
#include <unordered_map>

namespace burnish {

// The order in which the register allocator takes live ranges. The classes of LLVM's DefaultPriorityAdvisor (live
// ranges that must be allocated first or last) remain. Within a class the order is by LLVM's priority (larger ranges
// first), random, by LLVM's priority times a random factor between 0.5 and 1.5, or by a linear function of
// order_feature_names().
enum class Priority { llvm, random, noisy, linear };

// A live range, each by its binary logarithm: LLVM's priority within the class, which is the place of a range within
// one block and else the size; MLGO's li_size and weight (RegAllocPriorityAdvisor's `stage` is the class); uses.
inline constexpr size_t order_features = 4;
std::vector<std::string> order_feature_names();
using OrderWeights = std::array<double, order_features>;

// The decisions for one function. The default is what LLVM does.
struct FunctionDecisions {
  std::set<std::string> skipped; // optional passes, by their names in LLVM's OptPassGate
  std::set<std::string> options; // LLVM's own, "name" or "name=value": see llvm_options.h
  bool flat = false;             // registers are allocated as if every block executed once: see flat_frequencies.h
  Priority priority = Priority::llvm;
  uint64_t seed = 0;  // of a random or noisy priority; of a linear one, the number of its weights in Decisions::orders
  bool evicts = true; // whether the request's policy chooses the evictions, if there is a policy
};

// The decisions for a module.
struct Decisions {
  FunctionDecisions others; // for functions that are not in `functions`
  std::unordered_map<std::string, FunctionDecisions> functions;
  Outline outline = Outline::none;  // by the machine outliner
  std::vector<OrderWeights> orders; // for Priority::linear; {1} is nearly LLVM's order
};

// Additional inputs and outputs of a code generation.
struct GenerationRequest {
  bool scores = false;                           // report allocation scores, executed instructions, computed gotos
  bool gate = false;                             // report the optional passes
  EvictionPolicy *policy = nullptr;              // chooses the live ranges to evict
  const std::vector<uint64_t> *counts = nullptr; // of all blocks of the module: see block_counts.h
};

struct Generated {
  std::string object;
  // For a call of each function, by static block frequencies: LLVM's calculateRegAllocScore, which weighs copies,
  // loads, stores and rematerializations; and the number of executed machine instructions, including outlined ones.
  std::vector<std::pair<std::string, double>> allocation_scores, executed;
  std::vector<CallCost> calls;                               // of each function
  std::vector<std::pair<std::string, double>> counted_times; // of each function, by the module's profile; see there
  // The same as `allocation_scores` and `executed` for all calls together, by the counted executions of blocks.
  std::vector<std::pair<std::string, double>> counted_scores, counted_executed;
  // The number of computed gotos in the machine code of each function that has some.
  std::vector<std::pair<std::string, int64_t>> computed_gotos;
  std::vector<std::string> optional; // the passes that LLVM's gate was asked about, in alphabetical order
};

// Generates code under some decisions; without any, the object is that of emit_object, byte for byte. The module is not
// changed.
Generated generate(const Module &module, const BackEnd &back_end, const Decisions &decisions,
                   const GenerationRequest &request);

} // namespace burnish
