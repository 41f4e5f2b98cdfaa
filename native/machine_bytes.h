// What code takes in memory, estimated from IR: a few bytes an instruction of x86-64, fitted on code generated at -Oz.
#pragma once

#include "llvm/ADT/DenseMap.h"

namespace llvm {
class Function;
class Instruction;
class TargetTransformInfo;
class Type;
class Value;
} // namespace llvm

namespace burnish {

// Of an instruction with its operands in registers: the mean over code in which addresses, constants and comparisons
// are folded into what uses them.
int estimated_bytes(const llvm::Instruction &, const llvm::TargetTransformInfo &);

// To have a value as an argument.
int argument_bytes(const llvm::Value &);

constexpr int SAVED_REGISTERS = 6; // rbx, rbp, r12 to r15: what a call leaves alone
constexpr int PUSH_BYTES = 3;      // of one of them and its pop, two with one letter's registers, else four
constexpr int TABLE_BYTES = 8;     // what .eh_frame says of that
constexpr int ENTRY_BYTES = 32;    // of a function in .eh_frame (24 at least) and .eh_frame_hdr
constexpr int SPILL_BYTES = 10;    // a store to the stack and a load from it

// A call in the machine code: not what is lowered in place.
bool is_real_call(const llvm::Instruction &);
bool is_floating(const llvm::Type *);

// How many values are in registers after an instruction. `fresh` are those that are there during no call yet.
struct Live {
  int general = 0, floating = 0, fresh_general = 0, fresh_floating = 0;
};

// The liveness of a function's values, as it was when this was made.
struct Liveness {
  explicit Liveness(const llvm::Function &);
  llvm::DenseMap<const llvm::Instruction *, Live> before; // not of phis
  llvm::DenseMap<const llvm::Instruction *, Live> after;  // not of terminators
  llvm::DenseMap<const llvm::Instruction *, bool> fresh;  // of values: whether no call is within their lives
  int saved = 0;       // registers that hold values during a call, at most: the function saves them
  bool memory = false; // on the stack: a call that is the last cannot be a jump
  bool calls = false;  // the stack is aligned for that
};

} // namespace burnish
