// The inliner's advisor that asks, and whom it asks.
#pragma once

#include "passes.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace burnish {

// LLVM's features of a call, by the names and in the order of llvm/Analysis/InlineModelFeatureMaps.h.
std::vector<std::string> inlining_feature_names();

// A call that the inliner came to.
struct InlineQuestion {
  std::string site;              // "caller > callee #k": the k-th question about the two in this compile
  std::vector<int64_t> features; // by inlining_feature_names()
  bool heuristic = false;        // what LLVM does unless somebody else answers
  bool computed = false;         // the heuristic weighed these two; it stops at the threshold, so the cost is a bound
  int cost = 0, threshold = 0;
  bool inlined = false; // what was done; until then, what the heuristic would
};

// By site: whether it is inlined.
using InlineAnswers = std::unordered_map<std::string, bool>;

// Whom the inliner asks, in one run of passes.
class InlineDecider {
public:
  virtual ~InlineDecider() = default;

  std::string name(const std::string &caller, const std::string &callee); // the site of the next question about them

  virtual bool decide(InlineQuestion question) = 0;
  virtual bool dropped() const { return false; } // whether the compile is to hurry to its end

private:
  std::unordered_map<std::string, int> counts_; // of questions, by caller and callee
};

// Runs a pipeline text whose inliner has some answers; the heuristic gives the others. Sites are counted from this run
// on, and what can be asked is what Inlining asks.
bool run_with_answers(Module &module, const std::string &pipeline, const std::string &level,
                      const InlineAnswers &answers);

// Has the inliner ask `decider` in the run that this prepares, in the thread that runs it.
Prepare asking(InlineDecider &decider);

} // namespace burnish
