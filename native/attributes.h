// What a function tells the code generator by its attributes: each costs some functions bytes and saves others more.
//
// What the front end was asked for stays: a frame pointer that is kept already, tables that are forbidden.
#pragma once

#include "module.h"

#include "llvm/IR/PassManager.h"

namespace burnish {

// Keeps the frame pointer ("frame-pointer"="all") in functions that have an unwind table and call at least so many
// others. A frame costs a few bytes of code; but the table need not follow every push and pop, and locals are near.
struct FramePointer : llvm::PassInfoMixin<FramePointer> {
  unsigned calls;
  explicit FramePointer(unsigned calls) : calls(calls) {}
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

// Compares in place of jump tables ("no-jump-tables"), in functions whose switches all run at most MAX_FREQUENCY
// times in a call, by LLVM's block frequencies: a table is a constant of 4 bytes for every value.
struct NoJumpTables : llvm::PassInfoMixin<NoJumpTables> {
  static constexpr int MAX_FREQUENCY = 4;
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

// Takes `minsize` away, and leaves `optsize`, in functions without a frame pointer: the code generator then no longer
// takes the shortest instructions at any price, such as a constant pushed and popped. Where there is a frame pointer,
// the unwind table need not tell of those.
struct NoMinSize : llvm::PassInfoMixin<NoMinSize> {
  llvm::PreservedAnalyses run(llvm::Function &, llvm::FunctionAnalysisManager &);
};

// Makes the module what clang -fno-asynchronous-unwind-tables would have made it, where nothing unwinds through it.
void drop_unwind_tables(Module &module);

} // namespace burnish
