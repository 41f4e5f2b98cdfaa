// Limits for the machine outliner, and the run-time cost of outlined code.
#pragma once

#include <cstdint>

namespace llvm {
class MachineBasicBlock;
class MachineFunction;
class MachineFunctionPass;
class MachineInstr;
class MachineModuleInfo;
class ModulePass;
} // namespace llvm

namespace burnish {

// The cost of a call and its return in addition to the two instructions, in instructions: xmlwf, with 17 million calls
// of outlined code, executes 4.4 % more instructions and takes 20 % longer.
constexpr double CALL_AND_RETURN = 10;

// The repeated code that becomes functions.
enum class Outline { none, seldom, anywhere };

// Returns a pass to run before the outliner, which excludes blocks that a function executes often. Only the least
// executed blocks, by static frequencies, remain, up to a small share of the function's executed instructions.
// Functions with computed gotos, such as interpreters, are excluded.
llvm::MachineFunctionPass *create_often_executed_pass();

// Returns a pass to run behind the outliner. An outlined function that is never on the stack during a call loses its
// entry in the unwind tables. The outliner does not count this entry: 28 to 32 bytes for instructions of 8 or 12. As to
// what is given up, see outline/outline.h.
llvm::ModulePass *create_tableless_pass();

// Returns the additional cost of an instruction that calls an outlined function, in instructions: the function's
// instructions, and the cost of the call and its return; 0 for all other instructions.
double outlined_instructions(const llvm::MachineInstr &instruction, const llvm::MachineModuleInfo &machine);

// Returns whether a block ends in a computed goto.
bool is_computed_goto(const llvm::MachineBasicBlock &block);

// Returns the number of executable instructions, without those for debuggers or unwinders.
int64_t real_instructions(const llvm::MachineFunction &function);

} // namespace burnish
