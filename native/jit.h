// Compilation of LLVM IR to functions of this process.
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

// The target of code generation: LLVM's name of a CPU, and features that differ from the CPU's ("-avx512f,+fma").
struct Machine {
  std::string cpu;
  std::string features;
};

// Returns the machine that this process runs on.
Machine host_machine();

// Returns a CPU by LLVM's name ("x86-64-v3", "skylake"), with all its features.
Machine machine_of(const std::string &cpu);

// A compiled function; its argument is an array of pointers to its data.
using Compiled = void (*)(const uint64_t *);

// A compiled function `void NAME(ptr pointers)`.
class Kernel {
public:
  // Compiles the text of a module after a pipeline of LLVM's passes ("default<O1>"; "" for none).
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

// Returns the seconds of a call from each of `samples` batches that take at least `batch_seconds`: CPU seconds of this
// thread, or wall-clock seconds if `passing`. If one call takes longer than all batches, only that call is measured.
std::vector<double> time_calls(Compiled function, const std::vector<uint64_t> &pointers, int samples,
                               double batch_seconds, bool passing);

// Memory to remove from all caches before a call: an address, and a size in bytes.
using Cold = std::pair<uint64_t, uint64_t>;

// Returns the CPU seconds of this thread for each of `samples` calls; some memory is flushed from all caches before
// each.
std::vector<double> time_cold_calls(Compiled function, const std::vector<uint64_t> &pointers, int samples,
                                    const std::vector<Cold> &cold);

// Compiles the text of a module to an object file for linking into a program.
std::string compile_object(const std::string &ir, const std::string &passes, const Machine &machine);

} // namespace burnish
