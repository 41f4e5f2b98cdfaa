// What outlining a region saves, and where a call would cost too much time.
#pragma once

#include "outline.h"
#include "region.h"

#include "../machine_bytes.h"

#include "llvm/Analysis/ProfileSummaryInfo.h"

#include <memory>

namespace burnish::outlining {

// Answers by the module as it was before any outlining.
class Savings {
public:
  Savings(llvm::Module &module, llvm::ModuleAnalysisManager &analyses, const Outline::Options &options,
          const Text &text);

  // Returns whether a call in a block would run often. A loop that is outlined as a whole is called from its outside.
  bool is_hot(const llvm::BasicBlock &block);

  // Keeps the places that are still free, and stores what outlining them saves; returns no plan if it saves nothing.
  std::optional<Plan> evaluate(Region &region);

  // Counts the time of a call that is put at a place.
  void spend(unsigned start, const Plan &plan);

  const Liveness &liveness(const llvm::Function &function);

private:
  llvm::Module &module;
  llvm::FunctionAnalysisManager &functions;
  const Outline::Options options;
  const int call_cost;
  const llvm::ProfileSummaryInfo &profile;
  const Text &text;
  llvm::DenseMap<const llvm::BasicBlock *, bool> known_hot;
  llvm::DenseMap<const llvm::Function *, double> run_times;  // in the units of run_time.h
  llvm::DenseMap<const llvm::Function *, double> times_left; // for calls to come
  llvm::DenseMap<const llvm::Function *, std::unique_ptr<Liveness>> known_liveness;

  bool is_free(unsigned start, unsigned length) const;
  double &time_left(llvm::Function &function);
  double time_of_call(unsigned start, const Plan &plan);
  bool leave_fast(Region &region, const Plan &plan);
  int branches_left(const Region &region) const;
  int size_saved(const Region &region, const Plan &plan) const;
  int bytes_saved(const Region &region, const Plan &plan);
  int function_bytes(const Region &region, const Plan &plan, int whole) const;
  int registers_within(const Region &region, const Plan &plan) const;
  int call_bytes(unsigned start, unsigned length, const Plan &plan);
  bool is_last(unsigned start, unsigned length, const Plan &plan);
  Live live_across(unsigned start, unsigned length, const Plan &plan);
};

} // namespace burnish::outlining
