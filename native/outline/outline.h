// Outlining: code that repeats becomes a function, called from each place.
//
// This replaces LLVM's iroutliner, which has known miscompilations (llvm-project#54211, #194733) and no maintainer, and
// is removed after LLVM 23 (llvm-project#211971). Both find repeated code by a suffix tree over the whole module; this
// one returns results as values, not through memory.
#pragma once

#include "llvm/IR/PassManager.h"

#include <optional>

namespace burnish {

// A region is outlined if that leaves fewer IR instructions and if the code is expected to become smaller. call_cost
// selects the measure:
//   0: fewer machine instructions, by the target's cost model; a call costs only its arguments
//   1: fewer loaded bytes, as machine_bytes.h estimates them: code, calls and arguments, saved registers, values that
//      are spilled to the stack, and the entries for all these in .eh_frame and its header
//   N > 1: the same, but each call must save 4 bytes more for each step above 1
// max_frequency: calls are not put into blocks that run more than so many times as often as the function's entry, by
// LLVM's static estimate or the module's profile (BlockFrequencyInfo), nor into blocks that are hot by the profile's
// summary. So the program becomes smaller and not much slower.
// max_slowdown: the limit for the time of the calls that are put into a function, in percent of the expected time of
// the function (run_time.h), so that small functions do not consist of calls.
// The defaults in a pass' text are 4 and 40; with a call_cost of 0, which is for the fewest IR instructions, no limits.
//
// An outlined function is nounwind if nothing in it can throw, or if exceptions leave none of its original functions.
// If it is also never on the stack during a call (a leaf, or its only call is the last and becomes a jump), it loses
// its uwtable, because only interruptions can unwind through it. This gives up asynchronous unwinding from within such
// a function by .eh_frame: a profiler that samples by DWARF, a backtrace of a signal handler, and asynchronous thread
// cancellation do not see its callers.
struct Outline : llvm::PassInfoMixin<Outline> {
  struct Options {
    int call_cost;
    std::optional<int> max_frequency, max_slowdown; // none: any
  };
  // The defaults of a pass' text.
  static Options usual(int call_cost) {
    return call_cost ? Options{call_cost, 4, 40} : Options{call_cost, std::nullopt, std::nullopt};
  }
  Options options;
  explicit Outline(const Options &options) : options(options) {}
  llvm::PreservedAnalyses run(llvm::Module &, llvm::ModuleAnalysisManager &);
};

} // namespace burnish
