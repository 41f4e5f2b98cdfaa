#include "levels.h"

#include "counts.h"

#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace burnish {

Level parse_level(StringRef text) {
  if (text == "O0")
    return {OptimizationLevel::O0, 0};
  if (text == "O1")
    return {OptimizationLevel::O1, 0};
  if (text == "O2")
    return {OptimizationLevel::O2, 0};
  if (text == "O3")
    return {OptimizationLevel::O3, 0};
  if (text == "Os")
    return {OptimizationLevel::O2, 1};
  if (text == "Oz")
    return {OptimizationLevel::O2, 2};
  throw PipelineError("unknown level '" + text.str() + "': expected O0, O1, O2, O3, Os or Oz");
}

PipelineTuningOptions clang_tuning(const Level &level) {
  bool above_o1 = level.speed != OptimizationLevel::O0 && level.speed != OptimizationLevel::O1;
  PipelineTuningOptions tuning;
  tuning.LoopUnrolling = above_o1;
  tuning.LoopInterleaving = above_o1;
  tuning.LoopVectorization = above_o1 && level.size < 2;
  tuning.SLPVectorization = above_o1;
  tuning.CallGraphProfile = true;
  tuning.MergeFunctions = false;
  return tuning;
}

ModulePassManager clang_pipeline(TargetMachine *target, const Level &level, int inline_threshold,
                                 const std::optional<PGOOptions> &profile) {
  PipelineTuningOptions tuning = clang_tuning(level);
  if (inline_threshold >= 0)
    tuning.InlinerThreshold = inline_threshold;
  PassBuilder builder(target, tuning, profile);
  if (level.speed == OptimizationLevel::O0)
    return builder.buildO0DefaultPipeline(OptimizationLevel::O0);
  return builder.buildPerModuleDefaultPipeline(level.speed);
}

void set_level_attributes(Module &module, const std::string &text) {
  Level level = parse_level(text);
  if (has_settled_functions(module.ir())) // each has the attributes of its own level already
    return;
  module.changed();
  for (Function &function : module.ir()) {
    if (function.isDeclaration())
      continue;
    bool frozen = function.hasFnAttribute(Attribute::OptimizeNone);
    if (level.speed == OptimizationLevel::O0) {
      function.removeFnAttr(Attribute::OptimizeForSize);
      function.removeFnAttr(Attribute::MinSize);
      if (!function.hasFnAttribute(Attribute::AlwaysInline)) {
        function.addFnAttr(Attribute::NoInline);
        function.addFnAttr(Attribute::OptimizeNone);
      }
      continue;
    }
    if (frozen) // __attribute__((optnone)) in the source: clang keeps such functions out of every level
      continue;
    if (level.size >= 1)
      function.addFnAttr(Attribute::OptimizeForSize);
    else if (!function.hasFnAttribute(Attribute::Cold)) // clang marks cold functions at every level
      function.removeFnAttr(Attribute::OptimizeForSize);
    if (level.size == 2)
      function.addFnAttr(Attribute::MinSize);
    else
      function.removeFnAttr(Attribute::MinSize);
  }
}

} // namespace burnish
