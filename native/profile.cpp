#include "profile.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ProfDataUtils.h"
#include "llvm/IR/ProfileSummary.h"
#include "llvm/ProfileData/ProfileCommon.h"

#include <algorithm>
#include <string>

using namespace llvm;

namespace burnish {
namespace {

// The branches and switches, whose weights matter. Splitting edges adds none, and leaves them in their order.
std::vector<Instruction *> choices(Function &function) {
  std::vector<Instruction *> found;
  for (BasicBlock &block : function)
    if (auto *end = block.getTerminator(); end->getNumSuccessors() > 1 && isa<CondBrInst, SwitchInst>(end))
      found.push_back(end);
  return found;
}

std::vector<Function *> defined(const Module &module) {
  std::vector<Function *> found;
  for (Function &function : module.ir())
    if (!function.isDeclaration())
      found.push_back(&function);
  return found;
}

[[noreturn]] void of_another(const std::string &what) { throw InputError("the profile is of another module: " + what); }

} // namespace

void set_profile(Module &module, const Module &split, const std::vector<uint64_t> &counts) {
  DenseMap<const BasicBlock *, uint64_t> count;
  InstrProfSummaryBuilder summary(ProfileSummaryBuilder::DefaultCutoffs);
  size_t blocks = 0;
  for (Function *function : defined(split))
    for (BasicBlock &block : *function) {
      if (blocks < counts.size()) {
        count[&block] = counts[blocks];
        block.isEntryBlock() ? summary.addEntryCount(counts[blocks]) : summary.addInternalCount(counts[blocks]);
      }
      ++blocks;
    }
  if (blocks != counts.size())
    of_another(std::to_string(counts.size()) + " counts, and " + std::to_string(blocks) + " blocks");

  auto functions = defined(module), counted = defined(split);
  if (functions.size() != counted.size())
    of_another("it has other functions");
  for (auto [function, from] : zip_equal(functions, counted)) {
    auto here = choices(*function), there = choices(*from);
    if (function->getName() != from->getName() || here.size() != there.size())
      of_another(function->getName().str() + " differs");
    function->setEntryCount(count[&from->getEntryBlock()]);
    for (auto [choice, taken] : zip_equal(here, there)) {
      SmallVector<uint64_t> weights;
      for (BasicBlock *successor : successors(taken))
        if (successor->getSinglePredecessor()) // else its edge could not be split
          weights.push_back(count[successor]);
      if (weights.size() == choice->getNumSuccessors() && any_of(weights, [](uint64_t weight) { return weight > 0; }))
        setFittedBranchWeights(*choice, weights, /*IsExpected=*/false);
    }
  }
  module.ir().setProfileSummary(summary.getSummary()->getMD(module.ir().getContext()), ProfileSummary::PSK_Instr);

  // as annotateAllFunctions of llvm/lib/Transforms/Instrumentation/PGOInstrumentation.cpp
  ProfileSummaryInfo info(module.ir());
  for (auto [function, from] : zip_equal(functions, counted)) {
    uint64_t most = 0;
    for (BasicBlock &block : *from)
      most = std::max(most, count[&block]);
    if (info.isHotCount(count[&from->getEntryBlock()]))
      function->addFnAttr(Attribute::InlineHint);
    else if (info.isColdCount(most) && !function->hasFnAttribute(Attribute::Hot))
      function->addFnAttr(Attribute::Cold);
  }
  module.changed();
}

} // namespace burnish
