// The machine that a module is for.
#include "module.h"

#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace llvm;

namespace burnish {

TargetMachine &Module::target(const std::string &cpu) const {
  if (!target_ || target_cpu_ != cpu) {
    target_ = make_target(cpu, {});
    target_cpu_ = cpu;
  }
  return *target_;
}

std::unique_ptr<TargetMachine> Module::make_target(const std::string &cpu, TargetOptions options) const {
  initialize_target();
  std::string problem;
  const Triple &triple = ir_->getTargetTriple();
  const Target *target = TargetRegistry::lookupTarget(triple, problem);
  if (!target)
    throw InputError(problem);
  // As clang: position independence is a flag that the front end leaves in the module.
  auto relocation = ir_->getPICLevel() == PICLevel::NotPIC ? Reloc::Static : Reloc::PIC_;
  options.MCOptions.X86RelaxRelocations = true;
  options.UseInitArray = true;
  std::unique_ptr<TargetMachine> made(
      target->createTargetMachine(triple, cpu, "", options, relocation, ir_->getCodeModel()));
  if (!made || !made->getMCSubtargetInfo().isCPUStringValid(cpu))
    throw PipelineError("unknown CPU '" + cpu + "' for " + triple.str());
  if (auto threshold = ir_->getLargeDataThreshold())
    made->setLargeDataThreshold(*threshold);
  return made;
}

void initialize_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    InitializeNativeTargetAsmParser();
  });
}

} // namespace burnish
