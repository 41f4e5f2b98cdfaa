// clang, in the place of this process or as its child.
#pragma once

#include "command.h"

namespace burnish {

// Become another program; returns only where that is impossible, with 127, and says so.
int become(const std::string &program, const Words &arguments);

// Become another program; returns where that is impossible.
void try_to_become(const std::string &program, const Words &arguments);

struct Ended {
  int code = 0;       // the exit code; 128 and the signal's number where a signal ended it
  int signal = 0;     // that ended it; 0: none
  double seconds = 0; // of processor time: its own, and that of the processes that it waited for
};

// Run a program on this process' own input and output. SIGINT, SIGTERM and SIGHUP are passed on to it; this process
// then ends by the same and does not return. It ends with this process.
Ended run(const std::string &program, const Words &arguments);

// End as a program that a signal has ended.
[[noreturn]] void die_of(int signal);

} // namespace burnish
