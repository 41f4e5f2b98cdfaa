#include "attributes.h"

#include "llvm/Analysis/BlockFrequencyInfo.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace burnish {
namespace {

constexpr StringRef FRAME_POINTER = "frame-pointer", NO_JUMP_TABLES = "no-jump-tables";

bool keeps_frame_pointer(const Function &function) {
  StringRef kept = function.getFnAttribute(FRAME_POINTER).getValueAsString();
  return !kept.empty() && kept != "none";
}

// Of LLVM's analyses, only the cost model depends on a function's attributes.
PreservedAnalyses attributes_changed() {
  PreservedAnalyses kept;
  kept.preserveSet<CFGAnalyses>();
  return kept;
}

bool is_called(const Instruction &instruction) {
  const auto *call = dyn_cast<CallBase>(&instruction);
  return call && !call->isInlineAsm() && (!isa<IntrinsicInst>(call) || isa<MemIntrinsic>(call));
}

// Assembly may use the register itself.
bool has_assembly(Function &function) {
  return any_of(instructions(function), [](const Instruction &instruction) {
    const auto *call = dyn_cast<CallBase>(&instruction);
    return call && call->isInlineAsm();
  });
}

} // namespace

PreservedAnalyses FramePointer::run(Function &function, FunctionAnalysisManager &) {
  if (keeps_frame_pointer(function) || function.hasFnAttribute(Attribute::Naked) || has_assembly(function) ||
      !function.needsUnwindTableEntry() || unsigned(count_if(instructions(function), is_called)) < calls)
    return PreservedAnalyses::all();
  function.addFnAttr(FRAME_POINTER, "all");
  return attributes_changed();
}

PreservedAnalyses NoJumpTables::run(Function &function, FunctionAnalysisManager &analyses) {
  auto is_switch = [](const BasicBlock &block) { return isa<SwitchInst>(block.getTerminator()); };
  if (function.getFnAttribute(NO_JUMP_TABLES).getValueAsBool() || none_of(function, is_switch))
    return PreservedAnalyses::all();
  auto &frequencies = analyses.getResult<BlockFrequencyAnalysis>(function);
  double most = double(MAX_FREQUENCY) * frequencies.getEntryFreq().getFrequency();
  if (any_of(function, [&](const BasicBlock &block) {
        return is_switch(block) && frequencies.getBlockFreq(&block).getFrequency() > most;
      }))
    return PreservedAnalyses::all();
  function.addFnAttr(NO_JUMP_TABLES, "true");
  return attributes_changed();
}

PreservedAnalyses NoMinSize::run(Function &function, FunctionAnalysisManager &) {
  if (!function.hasFnAttribute(Attribute::MinSize) || keeps_frame_pointer(function))
    return PreservedAnalyses::all();
  function.removeFnAttr(Attribute::MinSize);
  return attributes_changed();
}

bool has_unwind_tables(const Module &module) {
  return llvm::any_of(module.ir(), [](const Function &function) {
    return !function.isDeclaration() && function.getUWTableKind() != UWTableKind::None;
  });
}

void drop_unwind_tables(Module &module) {
  module.changed();
  for (Function &function : module.ir())
    function.setUWTableKind(UWTableKind::None);
  if (module.ir().getModuleFlag("uwtable"))
    module.ir().setModuleFlag(llvm::Module::Max, "uwtable", uint32_t{0});
}

void forbid_builtins(Module &module, const std::vector<std::string> &names) {
  module.changed();
  for (Function &function : module.ir())
    if (!function.isDeclaration())
      for (const std::string &name : names)
        function.addFnAttr("no-builtin-" + name); // llvm/Analysis/TargetLibraryInfo.h reads it
}

void use_gnu_eabi(Module &module) {
  module.changed();
  module.ir().setModuleFlag(llvm::Module::Max, GNU_EABI, uint32_t{1});
}

} // namespace burnish
