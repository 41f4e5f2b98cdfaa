// Starts a program under limits, and opens the hardware's counters for it. Linux only.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace burnish {

struct Start {
  std::string executable;
  std::vector<std::string> arguments;           // with the program's name
  std::vector<std::string> environment;         // NAME=value
  std::string directory;                        // where it runs
  int input, output, errors;                    // descriptors; no other stays open
  std::vector<std::pair<int, uint64_t>> limits; // of setrlimit
  int cpu;                                      // the core that it is bound to; negative: any
};

// Starts a program in a session of its own; it is killed when the calling thread
// ends. The calling process is not copied, so what it holds in memory costs the program no time. Returns its
// number, or a negative errno.
int spawn(const Start &start);

// Opens a counter of perf_event_open's `type` and `config` for what the calling thread will spawn: it counts
// user code from exec on, descendants included. Returns a descriptor, or a negative errno.
int open_counter(uint32_t type, uint64_t config);

} // namespace burnish
