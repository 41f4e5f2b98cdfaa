#include "outlined.h"

#include "llvm/CodeGen/MachineBlockFrequencyInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace burnish {
namespace {

constexpr double SELDOM = 0.2; // of the instructions that a call of a function executes

int64_t real_instructions(const MachineBasicBlock &block) {
  return llvm::count_if(block, [](const MachineInstr &instruction) { return !instruction.isMetaInstruction(); });
}

struct OftenExecuted final : MachineFunctionPass {
  static char ID;
  OftenExecuted() : MachineFunctionPass(ID) {}

  bool runOnMachineFunction(MachineFunction &function) override {
    if (llvm::any_of(function,
                     is_computed_goto)) { // most of its blocks are executed seldom, and a few all the time
      for (MachineBasicBlock &block : function)
        block.setMachineBlockAddressTaken();
      return false;
    }
    const auto &frequencies = getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI();
    auto often = [&](const MachineBasicBlock &block) { return frequencies.getBlockFreqRelativeToEntryBlock(&block); };
    std::vector<std::pair<double, MachineBasicBlock *>> blocks; // the least often executed first
    double left = 0;
    for (MachineBasicBlock &block : function) {
      blocks.emplace_back(often(block), &block);
      left += SELDOM * often(block) * real_instructions(block);
    }
    llvm::stable_sort(blocks, llvm::less_first());
    for (auto [times, block] : blocks)
      if ((left -= times * real_instructions(*block)) < 0)
        block->setMachineBlockAddressTaken(); // the outliner skips such blocks; no later pass reads this
    return false;
  }

  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<MachineBlockFrequencyInfoWrapperPass>();
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
};
char OftenExecuted::ID;

bool is_on_the_stack_in_calls(const MachineFunction &function) {
  auto calls = [](const MachineInstr &instruction) { return instruction.isCall() && !instruction.isReturn(); };
  return llvm::any_of(function, [&](const MachineBasicBlock &block) { return llvm::any_of(block, calls); });
}

struct WithoutTables final : ModulePass {
  static char ID;
  WithoutTables() : ModulePass(ID) {}

  bool runOnModule(Module &module) override {
    const MachineModuleInfo &machine = getAnalysis<MachineModuleInfoWrapperPass>().getMMI();
    for (Function &function : module)
      if (const MachineFunction *code = machine.getMachineFunction(function))
        if (code->isOutlined() && !is_on_the_stack_in_calls(*code)) {
          function.removeFnAttr(Attribute::UWTable);
          function.setDoesNotThrow();
        }
    return false;
  }

  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<MachineModuleInfoWrapperPass>();
    usage.setPreservesAll();
  }
};
char WithoutTables::ID;

} // namespace

MachineFunctionPass *create_often_executed_pass() { return new OftenExecuted(); }

ModulePass *create_tableless_pass() { return new WithoutTables(); }

bool is_computed_goto(const MachineBasicBlock &block) {
  return !block.empty() && block.terminatorIsComputedGotoWithSuccessors();
}

int64_t real_instructions(const MachineFunction &function) {
  int64_t sum = 0;
  for (const MachineBasicBlock &block : function)
    sum += real_instructions(block);
  return sum;
}

double outlined_instructions(const MachineInstr &instruction, const MachineModuleInfo &machine) {
  if (!instruction.isCall()) // a last call is a jump, which is not counted
    return 0;
  for (const MachineOperand &operand : instruction.operands()) {
    const auto *callee = operand.isGlobal() ? dyn_cast<Function>(operand.getGlobal()) : nullptr;
    const MachineFunction *code = callee ? machine.getMachineFunction(*callee) : nullptr;
    if (code && code->isOutlined())
      return real_instructions(*code) + (instruction.isReturn() ? 0 : CALL_AND_RETURN);
  }
  return 0;
}

} // namespace burnish
