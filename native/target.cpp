// The machine that a module is for.
#include "module.h"

#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

#include <mutex>

using namespace llvm;

namespace burnish {

namespace {

// Returns this build's back end for a triple; null for other machines, and for formats other than ELF, Mach-O and COFF.
const Target *back_end(const Triple &triple) {
  if (!triple.isOSBinFormatELF() && !triple.isOSBinFormatMachO() && !triple.isOSBinFormatCOFF())
    return nullptr;
  initialize_target();
  std::string problem;
  return TargetRegistry::lookupTarget(triple, problem);
}

} // namespace

TargetMachine *Module::find_target(const std::string &cpu) const {
  if (!back_end(ir_->getTargetTriple()))
    return nullptr;
  if (!target_ || target_cpu_ != cpu) {
    target_ = make_target(cpu, {});
    target_cpu_ = cpu;
  }
  return target_.get();
}

std::unique_ptr<TargetMachine> Module::make_target(const std::string &cpu, TargetOptions options) const {
  const Triple &triple = ir_->getTargetTriple();
  const Target *target = back_end(triple);
  if (!target)
    throw PipelineError("made for '" + triple.str() + "', and this build of burnish makes machine code for '" +
                        Triple::getArchTypePrefix(Triple(sys::getDefaultTargetTriple()).getArch()).str() +
                        "' alone; the objective ir-instructions needs none");
  // As clang: the front end stores position independence as a flag of the module.
  auto relocation = ir_->getPICLevel() == PICLevel::NotPIC ? Reloc::Static : Reloc::PIC_;
  options.MCOptions.X86RelaxRelocations = true;
  options.UseInitArray = true;
  options.EmulatedTLS = triple.hasDefaultEmulatedTLS(); // MinGW
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
