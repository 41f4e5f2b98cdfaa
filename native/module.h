// One LLVM module in its own context: read, verify, print, digest, clone, extract, link.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
class TargetOptions;
} // namespace llvm

namespace burnish {

// The input is not a module that this build can optimize.
struct InputError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A pipeline text that LLVM cannot parse, or a function that does not exist.
struct PipelineError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// LLVM gave up (report_fatal_error, a pass that broke the module): the module is lost.
struct FatalError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Managers;

class Module {
public:
  // Reads bitcode or textual IR and verifies it; `name` appears in messages only.
  Module(std::string_view bytes, const std::string &name);
  Module(std::unique_ptr<llvm::LLVMContext>, std::unique_ptr<llvm::Module>);
  ~Module();

  // Bitcode with use-list orders, because only this form continues identically after it is read back. It is kept
  // until the module changes, so that many clones of one state write it once.
  const std::string &bitcode() const;
  std::string print() const;
  // 32 hexadecimal digits of BLAKE3 over bitcode().
  std::string digest() const;
  // LLVM's structural hash: equal for modules that differ in names only.
  uint64_t structural_hash() const;
  // The structural hash of each function with a body.
  std::vector<std::pair<std::string, uint64_t>> structural_hashes() const;
  // Throws FatalError with the verifier's message.
  void verify() const;

  // Throws FatalError if a pass broke the module so that its bitcode cannot be read.
  std::unique_ptr<Module> clone() const;
  // A module with one function's body; everything else it needs becomes a declaration.
  std::unique_ptr<Module> extract(const std::string &function) const;
  // One program from several modules; with `internalize`, only `main` stays visible.
  static std::unique_ptr<Module> link(const std::vector<const Module *> &parts, bool internalize);

  std::vector<std::string> functions() const; // those with a body, in module order
  // Functions that other modules may define, too, and omit if they do not use them: inline functions and templates of
  // C++. A linker keeps the definition of one object.
  std::vector<std::string> linkonce_functions() const;
  bool has_function(const std::string &name) const; // with a body
  std::string triple() const;
  bool position_independent() const; // whether clang compiled it so
  // From here on passes number new names after those that are there, as in the process that made the module.
  void number_on();

  llvm::Module &ir() const { return *ir_; }
  // This module if it has no debug information, else a copy without it that is kept until the module changes.
  const llvm::Module &without_debug_info() const;
  // Null if this build has no back end for the module's machine; passes run without one, too.
  llvm::TargetMachine *find_target(const std::string &cpu = "") const;
  // A new target machine for code generation. Throws PipelineError if no back end supports the machine or the CPU.
  std::unique_ptr<llvm::TargetMachine> make_target(const std::string &cpu, llvm::TargetOptions options) const;

private:
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> ir_; // destroyed before its context
  mutable std::unique_ptr<llvm::TargetMachine> target_;
  mutable std::string target_cpu_;
  mutable std::string bitcode_;
  mutable std::unique_ptr<Module> stripped_;

public:
  std::shared_ptr<Managers> managers; // used by passes.cpp: created once, cleared before every run
  uint32_t last_number = 0;           // the same: of names that were taken already, before every run
  void changed() {
    bitcode_.clear();
    stripped_.reset();
  }
};

// Drops the features that change nothing from functions for ARM and RISC-V: "-vfp4" where the CPU has none. Code is the
// same. LLVM reads the whole list several times for each copy of a module and each code generation, which for a small
// file takes half of the time on ARM, a tenth on RISC-V. clang's lists for other machines are short.
void shorten_features(llvm::Module &module);

std::string llvm_version();

uint64_t warnings_so_far(); // that LLVM gave in this process; none is printed
// Registers LLVM's code generator for this machine, once in a process.
void initialize_target();

// Turns report_fatal_error into FatalError; called once when the extension is loaded.
void install_fatal_error_handler();

} // namespace burnish
