#include "codegen.h"

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace burnish {
namespace {

CodeGenOptLevel codegen_level(StringRef level) {
  if (level == "O0")
    return CodeGenOptLevel::None;
  if (level == "O1")
    return CodeGenOptLevel::Less;
  if (level == "O2" || level == "Os" || level == "Oz")
    return CodeGenOptLevel::Default;
  if (level == "O3")
    return CodeGenOptLevel::Aggressive;
  throw PipelineError("unknown level '" + level.str() + "': expected O0, O1, O2, O3, Os or Oz");
}

} // namespace

std::string emit_object(const Module &module, const std::string &level, const std::string &cpu, CodegenHook *hook) {
  auto copy = module.clone(); // code generation changes the IR
  TargetMachine &target = copy->target(cpu);
  target.setOptLevel(codegen_level(level));
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  passes.add(createTargetTransformInfoWrapperPass(target.getTargetIRAnalysis()));
  passes.add(new TargetLibraryInfoWrapperPass(copy->ir().getTargetTriple()));
  legacy::PassManagerBase &adding = hook ? hook->begin(copy->ir(), target, passes) : passes;
  if (target.addPassesToEmitFile(adding, stream, nullptr, CodeGenFileType::ObjectFile, /*DisableVerify=*/true))
    throw FatalError("the target cannot emit object files");
  passes.run(copy->ir());
  return std::string(bytes.data(), bytes.size());
}

} // namespace burnish
