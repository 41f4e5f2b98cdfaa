// The expected time of a call of each function, from its machine code, without running it.
#pragma once

#include <string>
#include <tuple>
#include <vector>

namespace llvm {
class MachineFunctionPass;
}

namespace burnish {

// The figures of one function's code.
struct MachineTime {
  std::string name;
  double own = 0;                                    // time of a call without its callees, in instructions
  std::vector<std::pair<std::string, double>> calls; // for each call: callee ("" if unknown), expected executions
  bool loops = false;
  bool outlined = false; // by LLVM's machine outliner
};

// Returns a pass for the end of code generation, which adds each function to `found`.
llvm::MachineFunctionPass *create_machine_time_pass(std::vector<MachineTime> &found);

// Returns for each function its name; the time of a call including callees, in instructions; and whether it repeats
// code: it has a loop or a recursion, or it calls a function that has. Machine-outlined functions are not returned,
// because other code has other functions of the same names; their callers have their times.
std::vector<std::tuple<std::string, double, bool>> with_calls(const std::vector<MachineTime> &functions);

} // namespace burnish
