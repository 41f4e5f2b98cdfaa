// Starts programs under limits, and opens hardware counters for them. Linux only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace burnish {

struct Start {
  std::string executable;
  std::vector<std::string> arguments;           // including the program's name
  std::vector<std::string> environment;         // NAME=value
  std::string directory;                        // the working directory
  int input, output, errors;                    // descriptors; all others are closed
  std::vector<std::pair<int, uint64_t>> limits; // of setrlimit
  int cpu;                                      // the core to bind it to; negative: any
};

// Starts a program in its own session; it is killed when the calling thread ends. The calling process is not copied, so
// the start time does not depend on its memory. Returns the process id, or a negative errno.
int spawn(const Start &start);

// Opens a counter of perf_event_open's `type` and `config` for programs that the calling thread will spawn. It counts
// user code from exec on, including descendants. Returns a descriptor, or a negative errno.
int open_counter(uint32_t type, uint64_t config);

} // namespace burnish
