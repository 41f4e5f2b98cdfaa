// An inline advisor that asks a decider at each call.
#pragma once

#include "embedding.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace burnish {

// Returns the names of LLVM's features of a call, in the order of llvm/Analysis/InlineModelFeatureMaps.h.
std::vector<std::string> inlining_feature_names();

// A call that the inliner has reached.
struct InlineQuestion {
  std::string site;              // "caller > callee #k": the k-th question about this pair in this compile
  std::vector<int64_t> features; // in the order of inlining_feature_names()
  bool heuristic = false;        // LLVM's own answer
  bool computed = false;         // LLVM has computed cost and threshold; it stops there, so the cost is a bound
  int cost = 0, threshold = 0;
  bool inlined = false;       // the answer; until there is one, the heuristic's
  std::vector<float> vectors; // the callee's and the caller's by IR2Vec, if the decider has seed vectors
};

// Whether to inline, by site.
using InlineAnswers = std::unordered_map<std::string, bool>;

// Answers the inliner's questions in one run of passes.
class InlineDecider {
public:
  virtual ~InlineDecider() = default;

  std::string name(const std::string &caller, const std::string &callee); // the site of the pair's next question

  virtual bool decide(InlineQuestion question) = 0;
  virtual bool dropped() const { return false; } // whether the result is no longer needed: end quickly
  virtual const SeedVectors *seed_vectors() const { return nullptr; }

private:
  std::unordered_map<std::string, int> counts_; // of questions, by caller and callee
};

// Runs a pipeline text whose inliner has some answers; the heuristic gives the others. The numbers of sites begin in
// this run, and the questions are those of Inlining.
bool run_with_answers(Module &module, const std::string &pipeline, const std::string &level,
                      const InlineAnswers &answers);

// Returns a preparation of a run in which the inliner asks `decider`, in the thread of the run.
Prepare asking(InlineDecider &decider);

} // namespace burnish
