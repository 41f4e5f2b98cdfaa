// LLVM IR as a function of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace llvm::orc {
class LLJIT;
}

namespace burnish {

// What code is generated for: LLVM's name of a CPU, and features that differ from its own ("-avx512f,+fma").
struct Machine {
  std::string cpu;
  std::string features;
};

// The machine that this process runs on.
Machine host_machine();

// A CPU by LLVM's name ("x86-64-v3", "skylake"), with all the features that it has.
Machine machine_of(const std::string &cpu);

// A compiled function, of an array of pointers to what it works on.
using Compiled = void (*)(const uint64_t *);

// A compiled function `void NAME(ptr pointers)`.
class Kernel {
public:
  // Compile the text of a module, after a pipeline of LLVM's passes ("default<O1>"; "" for none).
  Kernel(const std::string &ir, const std::string &name, const std::string &passes, const Machine &machine);
  ~Kernel();

  void run(const std::vector<uint64_t> &pointers) const;

  // See time_calls.
  std::vector<double> time(const std::vector<uint64_t> &pointers, int samples, double batch_seconds,
                           bool passing) const;

private:
  std::unique_ptr<llvm::orc::LLJIT> jit_;
  Compiled function_ = nullptr;
};

// The CPU seconds of this thread for a call, or the seconds that pass, of each of `samples` batches that take
// `batch_seconds` at least; of one call alone where that takes longer than all of them.
std::vector<double> time_calls(Compiled function, const std::vector<uint64_t> &pointers, int samples,
                               double batch_seconds, bool passing);

// Memory that is not in a cache before a call: an address, and a size in bytes.
using Cold = std::pair<uint64_t, uint64_t>;

// The CPU seconds of this thread for each of `samples` calls, before which some memory is flushed from all caches.
std::vector<double> time_cold_calls(Compiled function, const std::vector<uint64_t> &pointers, int samples,
                                    const std::vector<Cold> &cold);

// The object file that the same text is compiled to, to be linked into a program.
std::string compile_object(const std::string &ir, const std::string &passes, const Machine &machine);

} // namespace burnish
