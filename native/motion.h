// Common parts of hoisting and sinking: the instructions that may move, those that they may pass, and the merging of
// equal instructions.
#pragma once

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Instructions.h"

namespace burnish {

bool may_move_code(const llvm::Function &);

// Returns whether a block's predecessors must keep their own ends: it is an exception pad, or it ends in a computed
// goto. Code generation copies a computed goto into each predecessor, because interpreters are slower with a shared
// one.
bool is_entered_apart(const llvm::BasicBlock &);

// Returns whether equal copies may become one at another place. They may not if control flow is implicit (exceptions,
// setjmp, inline assembly, guaranteed tail calls), or if the instruction is bound to its place: a volatile or atomic
// access, a stack slot or its lifetime.
bool may_merge(const llvm::Instruction &);

// Returns whether two instructions have the same opcode and types, and are equal in all else that is not an operand.
// Only flags, metadata, alignment and attributes may differ.
bool same_operation(const llvm::Instruction &, const llvm::Instruction &);

// Returns whether the second of two instructions, which does not use the first, may be executed before the first.
bool may_swap(const llvm::Instruction &first, const llvm::Instruction &second, llvm::AAResults &);

// Keeps only those flags, metadata and attributes in `kept`, which moves, that hold for both instructions.
void merge_promises(llvm::Instruction &kept, llvm::Instruction &other);

// Marks the variable unknown in each debug record that uses the instruction but is no longer dominated by it.
void forget_in_debug_records(llvm::Instruction &, const llvm::DominatorTree &);

// Returns the size in machine instructions, by the target's cost model.
int size_of(const llvm::Instruction &, const llvm::TargetTransformInfo &);

} // namespace burnish
