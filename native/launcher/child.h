// clang, in the place of this process or as its child.
#pragma once

#include "command.h"

namespace burnish {

// Become another program; returns only where that is impossible, with 127, and says so.
int become(const std::string &program, const Words &arguments);

struct Ended {
  int code = 0;       // the exit code; where a signal ended it, this process ends by the same and does not return
  double seconds = 0; // that it took
  double at = 0;      // when it ended, by Python's time.monotonic()
};

// Run a program on this process' own input and output. SIGINT, SIGTERM and SIGHUP are passed on to it.
Ended run(const std::string &program, const Words &arguments);

} // namespace burnish
