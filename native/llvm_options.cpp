#include "llvm_options.h"

#include "module.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace burnish {
namespace {

cl::Option *option_of(StringRef setting) {
  auto &known = cl::getRegisteredOptions();
  auto found = known.find(setting.split('=').first);
  return found == known.end() ? nullptr : found->second;
}

} // namespace

std::shared_mutex &llvm_options_mutex() {
  static std::shared_mutex mutex;
  return mutex;
}

void LlvmOptions::set(const std::set<std::string> &wanted) {
  if (wanted == now)
    return;
  reset();
  for (const std::string &setting : wanted) {
    auto [name, value] = StringRef(setting).split('=');
    cl::Option *option = option_of(setting);
    if (!option)
      throw PipelineError("LLVM has no option '" + setting + "'");
    now.insert(setting);
    if (option->addOccurrence(0, name, value))
      throw PipelineError("LLVM's option '" + name.str() + "' does not take '" + value.str() + "'");
  }
}

void LlvmOptions::reset() {
  for (const std::string &setting : now)
    option_of(setting)->reset();
  now.clear();
}

} // namespace burnish
