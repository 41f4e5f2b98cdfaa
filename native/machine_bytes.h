// Code size in bytes, estimated from IR: a few bytes for each instruction on x86-64, fitted to code generated at -Oz.
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

// Returns the bytes of an instruction with its operands in registers: the mean over code in which addresses, constants
// and comparisons are folded into their users.
int estimated_bytes(const llvm::Instruction &, const llvm::TargetTransformInfo &);

// Returns the bytes for passing a value as an argument.
int argument_bytes(const llvm::Value &);

constexpr int SAVED_REGISTERS = 6; // the callee-saved ones: rbx, rbp, r12 to r15
constexpr int PUSH_BYTES = 3;      // mean of a push and its pop: two bytes for rbx and rbp, else four
constexpr int TABLE_BYTES = 8;     // of a push and its pop in .eh_frame
constexpr int ENTRY_BYTES = 32;    // of a function in .eh_frame (24 at least) and .eh_frame_hdr
constexpr int SPILL_BYTES = 10;    // a store to the stack and a load from it

// Returns whether an instruction is a call in the machine code, too, and not lowered in place.
bool is_real_call(const llvm::Instruction &);
bool is_floating(const llvm::Type *);

// Numbers of values in registers at an instruction. `fresh` ones are not live across any call.
struct Live {
  int general = 0, floating = 0, fresh_general = 0, fresh_floating = 0;
};

// The liveness of a function's values when this object was constructed.
struct Liveness {
  explicit Liveness(const llvm::Function &);
  llvm::DenseMap<const llvm::Instruction *, Live> before; // not of phis
  llvm::DenseMap<const llvm::Instruction *, Live> after;  // not of terminators
  llvm::DenseMap<const llvm::Instruction *, bool> fresh;  // whether a value is not live across any call
  int saved = 0;       // most registers that hold values across a call; the function saves them
  bool memory = false; // there are stack slots, so a last call cannot become a jump
  bool calls = false;  // there are calls, for which the stack is aligned
};

} // namespace burnish
