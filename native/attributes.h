// Passes that set function attributes for the code generator; each costs bytes in some functions and saves more in
// others.
//
// Requests of the user to the front end remain: a required frame pointer, forbidden jump tables.
#pragma once

#include "module.h"

#include "llvm/IR/PassManager.h"

namespace burnish {

// Keeps the frame pointer ("frame-pointer"="all") in functions that have an unwind table and at least `calls` calls. A
// frame costs a few bytes of code. But the unwind table then has no entries for pushes and pops, and offsets of locals
// are short.
struct FramePointer : llvm::PassInfoMixin<FramePointer> {
  unsigned calls;
  explicit FramePointer(unsigned calls) : calls(calls) {}
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

// Replaces jump tables by comparisons ("no-jump-tables") in functions whose switches all run at most MAX_FREQUENCY
// times in a call, by LLVM's block frequencies, because a table takes 4 bytes for every value.
struct NoJumpTables : llvm::PassInfoMixin<NoJumpTables> {
  static constexpr int MAX_FREQUENCY = 4;
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

// Removes `minsize` and keeps `optsize` in functions without a frame pointer. The code generator then avoids some
// shortest forms that cost more elsewhere: a constant that is pushed and popped needs entries in the unwind table. With
// a frame pointer the unwind table has no entries for them.
struct NoMinSize : llvm::PassInfoMixin<NoMinSize> {
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

// Returns whether a function that is defined here has an unwind table.
bool has_unwind_tables(const Module &module);

// Changes the module to what clang -fno-asynchronous-unwind-tables makes, for programs that never unwind through it.
void drop_unwind_tables(Module &module);

// Forbids passes to replace code by calls of some library functions, as clang -fno-builtin-NAME does.
void forbid_builtins(Module &module, const std::vector<std::string> &names);

// Has ARM's code be as GCC's: it calls `memcpy` and `memset` where ARM's own EABI has functions of other names (clang
// -meabi gnu), and .ARM.exidx has no entries if no function of the module can be unwound. The choice stays with the
// module, as a flag.
constexpr const char *GNU_EABI = "burnish-gnu-eabi";
void use_gnu_eabi(Module &module);

} // namespace burnish
