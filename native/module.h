// One LLVM module in a context of its own: read, verify, print, digest, clone, extract, link.
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
// A pipeline text that LLVM does not understand, or a function that is not there.
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

  // Bitcode with use-list orders: only this form continues identically after reading it back.
  // Kept until the module changes: many clones of one state write it once.
  const std::string &bitcode() const;
  std::string print() const;
  // 32 hexadecimal digits of BLAKE3 over bitcode().
  std::string digest() const;
  // LLVM's structural hash: equal for modules that differ in names only.
  uint64_t structural_hash() const;
  // The same of each function with a body.
  std::vector<std::pair<std::string, uint64_t>> structural_hashes() const;
  // Throws FatalError with the verifier's message.
  void verify() const;

  // Throws FatalError where a pass broke the module so that its bitcode cannot be read.
  std::unique_ptr<Module> clone() const;
  // A module with one function's body; everything else it needs becomes a declaration.
  std::unique_ptr<Module> extract(const std::string &function) const;
  // One program from several modules; with `internalize`, only `main` stays visible.
  static std::unique_ptr<Module> link(const std::vector<const Module *> &parts, bool internalize);

  std::vector<std::string> functions() const; // those with a body, in module order
  // Those that other modules may define as well, and do without where they do not use them: inline functions and
  // templates of C++. A linker keeps one object's.
  std::vector<std::string> linkonce_functions() const;
  bool has_function(const std::string &name) const; // with a body
  std::string triple() const;
  bool position_independent() const; // what clang compiled it for

  llvm::Module &ir() const { return *ir_; }
  // The same, or a copy that is kept until the module changes.
  const llvm::Module &without_debug_info() const;
  // Null where this build has back ends for other machines alone. Passes run then, too.
  llvm::TargetMachine *find_target(const std::string &cpu = "x86-64") const;
  // A new one, for code generation. Throws PipelineError if this build's back ends do not know the machine or the CPU.
  std::unique_ptr<llvm::TargetMachine> make_target(const std::string &cpu, llvm::TargetOptions options) const;

private:
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> ir_; // destroyed before its context
  mutable std::unique_ptr<llvm::TargetMachine> target_;
  mutable std::string target_cpu_;
  mutable std::string bitcode_;
  mutable std::unique_ptr<Module> stripped_;

public:
  std::shared_ptr<Managers> managers; // of passes.cpp: made once, emptied before every run
  void changed() {
    bitcode_.clear();
    stripped_.reset();
  }
};

std::string llvm_version();
// Turns report_fatal_error into FatalError; called once when the extension is loaded.
// Make LLVM's code generator for this machine known, once in a process.
void initialize_target();

void install_fatal_error_handler();

} // namespace burnish
