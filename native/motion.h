// What hoisting and sinking have in common: which instructions may move, past which others, and what is left of
// several equal ones.
#pragma once

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Instructions.h"

namespace burnish {

bool may_move_code(const llvm::Function &);

// Whether blocks that go to it do not end as one: where an exception comes; and before a computed goto, which code
// generation repeats in each of them, since interpreters are slower where they share it.
bool is_entered_apart(const llvm::BasicBlock &);

// Whether equal copies may become one at another place. Not where control comes and goes in other ways than it
// seems to (exceptions, setjmp, inline assembly, guaranteed tail calls), nor what belongs to its place: a volatile
// or atomic access, a stack slot or its lifetime.
bool may_merge(const llvm::Instruction &);

// The same operation: opcode, types and all that is not an operand. Flags, metadata, alignment and attributes are
// what copies may differ in.
bool same_operation(const llvm::Instruction &, const llvm::Instruction &);

// Whether the second of two instructions, which does not use the first, may be executed before it.
bool may_swap(const llvm::Instruction &first, const llvm::Instruction &second, llvm::AAResults &);

// Leaves in `kept`, which moves, what both promise.
void merge_promises(llvm::Instruction &kept, llvm::Instruction &other);

// What variables were said to be by records which the instruction, at its new place, no longer comes before.
void forget_in_debug_records(llvm::Instruction &, const llvm::DominatorTree &);

// In machine instructions, as the target's cost model counts them.
int size_of(const llvm::Instruction &, const llvm::TargetTransformInfo &);

} // namespace burnish
