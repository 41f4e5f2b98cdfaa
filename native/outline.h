// Outlining: code that repeats becomes a function, called from each place.
//
// In place of LLVM's iroutliner, which has known miscompilations (llvm-project#54211, #194733) and no maintainer, and
// is gone after LLVM 23 (llvm-project#211971). Like it, this one finds repeated code by a suffix tree over the whole
// module; unlike it, it returns results as values, not through memory.
#pragma once

#include "llvm/IR/PassManager.h"

#include <optional>

namespace burnish {

// A region is outlined where fewer IR instructions are left and where something smaller is expected: with a call_cost
// of 0, fewer machine instructions, as the target's cost model counts them and with calls for nothing but their
// arguments; from 1 on, fewer bytes that are loaded, as machine_bytes.h estimates them: the code, what a call
// and its arguments take, the registers that a function has to save for it or the values that go to the stack, and
// what .eh_frame and its header say of all that. Above 1, each step asks that a call saves 4 bytes more.
// With max_frequency, no call is put where a block runs more often than so many times the function's entry, by LLVM's
// static estimate or the profile that the module has (BlockFrequencyInfo), or is hot by the profile's summary: a
// smaller program that is not much slower. With max_slowdown, in percent, the calls that are put into a function may
// take no more of what a call of it is expected to take (run_time.h), so that small functions are not made of calls. In
// a pass' text they are 4 and 40 unless it says otherwise; with a call_cost of 0, for the fewest IR instructions, all
// blocks and functions are alike unless it says otherwise.
//
// An outlined function is nounwind where nothing in it can throw, or where no function that it comes from lets an
// exception out. One that also stays on the stack during no call (a leaf, or its only call is the last and becomes a
// jump) loses its uwtable: in it, or through it, nothing unwinds but what interrupts it. What that gives up is
// asynchronous unwinding from within such a function by .eh_frame: a profiler that samples by DWARF, a backtrace that
// a signal handler writes, and asynchronous thread cancellation do not see who called it.
struct Outline : llvm::PassInfoMixin<Outline> {
  struct Options {
    int call_cost;
    std::optional<int> max_frequency, max_slowdown; // none: any
  };
  // What holds where a pass' text says nothing else.
  static Options usual(int call_cost) {
    return call_cost ? Options{call_cost, 4, 40} : Options{call_cost, std::nullopt, std::nullopt};
  }
  Options options;
  explicit Outline(const Options &options) : options(options) {}
  llvm::PreservedAnalyses run(llvm::Module &, llvm::ModuleAnalysisManager &);
};

} // namespace burnish
