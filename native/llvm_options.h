// LLVM's hidden options (llvm::cl), by which a code generation may choose what its passes do.
#pragma once

#include <set>
#include <shared_mutex>
#include <string>

namespace burnish {

// The options are global. A code generation that sets some holds this mutex alone. Other code generations and passes
// hold it together; not the inliner that waits for answers, which reads none of these options and could wait forever.
std::shared_mutex &llvm_options_mutex();

// Sets options for the lifetime of the object; the mutex must be held alone.
class LlvmOptions {
public:
  LlvmOptions() = default;
  LlvmOptions(const LlvmOptions &) = delete;
  LlvmOptions &operator=(const LlvmOptions &) = delete;
  ~LlvmOptions() { reset(); }

  // Sets these options, each "name" or "name=value", and no others. Throws PipelineError: LLVM has no such option, or
  // not with this value.
  void set(const std::set<std::string> &wanted);

private:
  std::set<std::string> now;

  void reset();
};

} // namespace burnish
