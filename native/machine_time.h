// The expected time of a call of each function and the stack that it takes, from its machine code, without running it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace llvm {
class MachineFunctionPass;
}

namespace burnish {

// The figures of one function's code.
struct MachineTime {
  struct Call {
    std::string callee; // "" if unknown
    double times;       // expected executions for a call of the function
    double by_trips;    // the same, with the known iterations of loops
    bool last;          // a jump, after the function's frame is gone
    uint64_t frame = 0; // bytes of stack of outlined functions that the call passes through
  };

  std::string name;
  double own = 0;                              // time of a call without its callees, in instructions
  double by_trips = 0;                         // the same, with the known iterations of loops
  unsigned known_loops = 0, unknown_loops = 0; // with and without a constant number of iterations that LLVM knows
  std::vector<Call> calls;
  uint64_t frame = 0;            // bytes of stack, as -fstack-usage reports them; without what alloca adds
  bool interprets = false;       // a switch of many cases is in a loop
  bool outlined = false;         // by LLVM's machine outliner
  std::optional<double> entries; // executions of the function, by a profile
};

// Returns a pass for the end of code generation, which adds each function to `found`.
llvm::MachineFunctionPass *create_machine_time_pass(std::vector<MachineTime> &found);

// Adds the figures of each function of LLVM's machine outliner to its callers, and drops it. As a function of its own
// it would hide a recursion: the call of a recursive function out of outlined code would be one within the recursion.
void merge_outlined(std::vector<MachineTime> &functions);

// The figures of one function's code, and of a call of it with its callees in the module.
struct CallCost {
  std::string name;
  unsigned recursion = 0;                            // functions that call each other have the same number
  double own = 0;                                    // instructions of a call, without its callees
  std::vector<std::pair<std::string, double>> calls; // of each callee, "" if unknown: expected executions for a call
  unsigned known_loops = 0, unknown_loops = 0;       // with and without a known number of iterations
  double own_by_trips = 0;                           // this and the next with the known iterations
  std::vector<std::pair<std::string, double>> calls_by_trips;
  bool repeats = false;    // there is a loop or a recursion
  uint64_t stack = 0;      // bytes of the deepest path of calls; a recursion is taken once
  bool interprets = false; // a switch of many cases is in a loop
};

// Returns the time of each function in all executions that a profile has counted, in instructions, with the time of
// functions of other modules that it calls; {} without a profile. A function without an entry count is executed as
// often as its callers call it. So is one whose count is less than that: functions that passes merged keep one of their
// counts.
std::vector<std::pair<std::string, double>> counted_times(const std::vector<MachineTime> &functions);

// Returns the figures of each function, callees first.
std::vector<CallCost> with_calls(const std::vector<MachineTime> &functions);

// Instructions of an external, indirect or recursive callee.
constexpr double UNKNOWN_CALLEE = 20;

} // namespace burnish
