// How long a call of each function is expected to take, by its machine code and without running it.
#pragma once

#include <string>
#include <tuple>
#include <vector>

namespace llvm {
class MachineFunctionPass;
}

namespace burnish {

// What is known of one function's code.
struct MachineTime {
  std::string name;
  double own = 0;                                    // of a call, in instructions, without what it calls
  std::vector<std::pair<std::string, double>> calls; // names, "" where not known, and how often; of each place
  bool loops = false;
};

// Where code generation ends: adds the function to `found`.
llvm::MachineFunctionPass *create_machine_time_pass(std::vector<MachineTime> &found);

// Of each function: its name; what a call of it takes with all that it calls, in instructions; and whether it
// repeats something: it has a loop or a recursion, or it calls a function that has.
std::vector<std::tuple<std::string, double, bool>> with_calls(const std::vector<MachineTime> &functions);

} // namespace burnish
