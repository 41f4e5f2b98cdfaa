// What the machine outliner takes out of functions, and what that costs them when they run.
#pragma once

#include <cstdint>

namespace llvm {
class MachineBasicBlock;
class MachineFunction;
class MachineFunctionPass;
class MachineInstr;
class MachineModuleInfo;
} // namespace llvm

namespace burnish {

// What a call and its return take beside the two instructions themselves, in instructions: xmlwf, with 17 million
// calls of outlined code, executes 4.4 % more instructions and takes 20 % longer.
constexpr double CALL_AND_RETURN = 10;

// Which code becomes functions where it repeats.
enum class Outline { none, seldom, anywhere };

// Before the outliner: keeps it off the blocks that a function executes often. What is left to it are the blocks that
// are executed least, by static frequencies, as many as come to a small share of the function's instructions; of an
// interpreter with computed gotos, none.
llvm::MachineFunctionPass *create_often_executed_pass();

// What an instruction executes beside itself where it calls an outlined function: that one's instructions, and what a
// call and its return take, in units of an instruction; 0 of all others.
double outlined_instructions(const llvm::MachineInstr &instruction, const llvm::MachineModuleInfo &machine);

// Whether a block ends in a computed goto.
bool is_computed_goto(const llvm::MachineBasicBlock &block);

// Instructions that are executed: not what is for debuggers or unwinders.
int64_t real_instructions(const llvm::MachineFunction &function);

} // namespace burnish
